/* SPDX-License-Identifier: MIT */
/*
 * The native block of a trace.dat of ours: pages of the ring, with the same records as the kernel's
 * format in the same file. Our own reader reads them in a fifth of the time.
 * docs/formats/trace-dat.md is normative. Other readers do not see the block: it is found by a tail
 * at the end of the file, and no offset of the kernel's format points to it.
 *
 *	... kernel's format | chunks of pages | tables | tail
 *
 * Names, tasks and statistics are taken from the kernel's format. The tables have the other facts
 * that are needed to make records of a page: the lines of the clock, the addresses of functions and
 * objects.
 */
#ifndef VESTIGE_TOOLS_NATIVE_H
#define VESTIGE_TOOLS_NATIVE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/area/pages.h"
#include "tools/reader/formats.h"

#define NATIVE_MAGIC UINT64_C(0x564954414e534556) /* "VESNATIV" */
#define NATIVE_MAJOR 2
#define NATIVE_MINOR 2

/* The id of the section of version 7 that holds the block. */
#define NATIVE_SECTION_ID 0x7665u

/* The last bytes of the file. */
struct native_tail {
	uint64_t magic;
	uint16_t major, minor;
	uint32_t tail_bytes;
	/* of the whole file with this tail: detects appended or missing bytes */
	uint64_t file_bytes;
	uint64_t chunks_offset; /* the first chunk */
	uint64_t tables_offset; /* a frame of zstd; the last chunk ends there */
	uint64_t tables_packed; /* its size */
	uint64_t tables_bytes;	/* the size of the unpacked tables */
};
static_assert(sizeof(struct native_tail) == 56, "native_tail is part of the format");

/*
 * The largest allowed size of the tables of a file of @file_bytes, in bytes: readers hold them in
 * memory. A page of the ring has a row of 32 bytes and takes some hundred in the file.
 */
static inline uint64_t native_tables_max(uint64_t file_bytes)
{
	const uint64_t most = UINT64_C(1) << 30, some = UINT64_C(1) << 20;

	return file_bytes < (most - some) / 16 ? some + 16 * file_bytes : most;
}

enum native_flag {
	/*
	 * Which calls are leaves (their exit is the next event of their CPU) may differ from the
	 * kernel's format. A command that prints leaves must read the kernel's format.
	 */
	NATIVE_LEAVES_UNKNOWN = 1,
};

/* The tables, back to back, in this order. */
struct native_head {
	uint32_t nr_cpus;
	uint32_t nr_lines;
	uint32_t nr_members;
	uint32_t nr_bases;
	uint32_t flags; /* enum native_flag */
	uint32_t nr_events;
	uint64_t nr_functions; /* of all members together */
	uint64_t nr_maps;
	uint64_t nr_chunks;
	uint64_t nr_pages;
};
static_assert(sizeof(struct native_head) == 56, "native_head is part of the format");

/* Converts clock units to the time of the trace; no lines: they are equal. Ascending. */
struct native_line {
	uint64_t stamp, ns, end, mult;
	uint64_t shift;
};

struct native_member {
	uint32_t nr_functions, nr_maps;
	uint32_t counter; /* 1: its stamps are the stamp counter's, else nanoseconds */
	/* the number + 1 of the first image of its process, 0: not known; NATIVE_ENDED */
	uint32_t process;
};

#define NATIVE_ENDED 0x80000000u /* since 2.2: its process had ended when the recording did */

/* Then nr_functions u64: the address in the trace.dat of each function, 0 none. */

/* Loaded objects, of each member by lo: struct map of pages_impl.h. */
struct native_map {
	uint64_t lo, hi, bias, base, unload;
};

/* An event's id in a member, and its id in the trace.dat. */
struct native_event {
	uint32_t member;
	uint16_t from, to;
};

/* Then nr_bases of struct record_base (reader.h). */

struct native_chunk {
	uint32_t packed;   /* bytes in the file: its two sizes (u32 each), then a frame of zstd */
	uint32_t nr_pages; /* of one CPU, one behind the other; PACK_PAGES at most */
};

/* By CPU, then time, as the chunks hold them. */
struct native_page {
	uint64_t base; /* of its first stamp, in the time of the trace */
	uint64_t seq;  /* its head's */
	uint64_t lost; /* records, before its first one */
	uint32_t member;
	uint16_t cpu;
	uint16_t nr_records;
};
static_assert(sizeof(struct native_page) == 32, "native_page is part of the format");

struct native_known {
	struct record_base *bases; /* calls_bases() */
	size_t nr_bases;
	struct record_end *ends; /* graph_events_ends(): for an option of the kernel's format */
	size_t nr_ends;
	bool leaves_unknown; /* NATIVE_LEAVES_UNKNOWN */
};

/*
 * native_tables_pack() - the tables of @p.
 * @chunks: in the order of p's pages. @known: facts about their records, from reading them once.
 * @out: freed by the caller. Return: 0 or -ENOMEM with fail() set.
 */
int native_tables_pack(const struct pages *p, const struct native_chunk *chunks, size_t nr_chunks,
		       const struct native_known *known, void **out, size_t *bytes);

/*
 * native_open() - the pages of a trace.dat.
 * @fd: of the file, stays open and the caller's. @path: for fail(). @nr_cpus: the number of CPUs
 * that it must have. @fs: the formats of its events. @out: a reader of the pages (in its head only
 * nr_cpus and bases are set); NULL: there is no native block, or its tables are damaged. Chunks are
 * checked when they are read; a damaged one is an error then. Return: 0 or -ENOMEM with fail() set.
 */
int native_open(int fd, const char *path, unsigned int nr_cpus, const struct formats *fs,
		struct pages **out);

#endif
