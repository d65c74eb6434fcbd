/* SPDX-License-Identifier: MIT */
/*
 * The spool: the file that `vestige record` writes while the program runs, and the native form of a
 * recording. Normative text: docs/formats/spool.md. A head, then chunks back to back.
 */
#ifndef VESTIGE_TOOLS_SPOOL_FORMAT_H
#define VESTIGE_TOOLS_SPOOL_FORMAT_H

#include <assert.h>
#include <stdint.h>

#include "abi/page.h"

#define SPOOL_MAGIC UINT64_C(0x004c4f4f50534556) /* "VESPOOL\0" */
#define SPOOL_MAJOR 2
#define SPOOL_MINOR 2

struct spool_head {
	uint64_t magic;
	uint16_t major;
	uint16_t minor;
	uint32_t head_bytes; /* where the first chunk begins */
	uint32_t slot_bytes; /* sizeof(struct spool_slot) */
	uint32_t nr_cpus_online;
	uint64_t start_mono_ns;
	uint64_t start_real_ns;
	char uname[256];
	char cmdline[256];
	uint64_t reserved[26];
};
static_assert(sizeof(struct spool_head) == 760, "spool_head is part of the format");

#define SPOOL_CHUNK_MAGIC 0x4b434853u /* "SHCK" */

enum spool_chunk_type {
	SPOOL_META = 1,	  /* header and tables of an area; the last one of a member counts */
	SPOOL_PAGES = 2,  /* struct spool_slot: recordings with a limit per CPU */
	SPOOL_CLOCK = 3,  /* struct area_clock, taken by the recorder */
	SPOOL_END = 4,	  /* struct spool_end; the recorder ended normally */
	SPOOL_PACKED = 5, /* struct spool_packed: recordings without a limit */
	SPOOL_NAMES = 6,  /* the symbols of all objects, in /proc/kallsyms' form */
	SPOOL_OPEN = 7,	  /* struct spool_packed: the records so far of a page that a thread owns */
};

struct spool_chunk {
	uint32_t magic;
	uint32_t type;	 /* others are skipped */
	uint32_t member; /* SPOOL_META: the process, counted from 0 */
	uint32_t reserved;
	uint64_t length; /* bytes from the end of this head to the next chunk; a multiple of 8 */
	uint64_t used;	 /* the number of slots, from the first, that are used */
};
static_assert(sizeof(struct spool_chunk) == 32, "spool_chunk is part of the format");

/*
 * In SPOOL_META, in place of the header's state: the process had ended when it was written (since
 * 2.2).
 */
#define SPOOL_STATE_ENDED 3u

struct spool_slot {
	uint32_t member;
	uint32_t reserved;
	uint64_t publish_seq; /* 0: the page was still owned */
	uint64_t page[PAGE_BYTES / 8];
};
static_assert(sizeof(struct spool_slot) == 16 + PAGE_BYTES, "spool_slot is part of the format");

/* A page without its unused end. Its data follows, padded to a multiple of 8. */
struct spool_packed {
	uint32_t member;
	uint16_t bytes;	      /* of its data */
	uint16_t packed;      /* 1: each word became 4 or 12 bytes; 0: the words as they were */
	uint64_t publish_seq; /* 0: the page was still owned */
	struct page_head head;
};
static_assert(sizeof(struct spool_packed) == 80, "spool_packed is part of the format");

#define SPOOL_END_INCOMPLETE 1 /* pages were left out: the disk was full */

struct spool_end {
	uint64_t end_mono_ns;
	uint64_t nr_pages; /* all written pages, also those that -m has dropped */
	uint32_t flags;
	uint32_t reserved;
};
static_assert(sizeof(struct spool_end) == 24, "spool_end is part of the format");

#endif
