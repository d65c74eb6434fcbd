/* SPDX-License-Identifier: MIT */
/*
 * Targets of the fuzzers: one for each reader or parser of hostile input. Each has a run() that
 * takes any bytes, and a mutate() that knows their structure. Two drivers drive them: libfuzzer.c
 * (clang, guided by coverage) and replay.c (any compiler; the corpus, and mutations of it by a
 * fixed sequence).
 *
 * A target calls abort() when its reader breaks a promise of its header; the sanitizers find other
 * errors.
 */
#ifndef VESTIGE_TESTS_FUZZ_H
#define VESTIGE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct mangle {
	uint8_t *p;
	size_t n, max; /* bytes used, and room, at p */
	uint64_t seed;
};

struct fuzz_target {
	const char *name;
	void (*run)(const uint8_t *data, size_t n);
	void (*mutate)(struct mangle *m); /* one change; never n > max */
};

extern const struct fuzz_target fuzz_area, fuzz_spool, fuzz_dat, fuzz_control, fuzz_calls,
	fuzz_follow, fuzz_probes, fuzz_events, fuzz_synth, fuzz_insn, fuzz_import, fuzz_inject,
	fuzz_blk, fuzz_ctf, fuzz_entries, fuzz_ways, fuzz_index, fuzz_net, fuzz_kft, fuzz_uftrace;

/* synth.c: the synthetic event that the target `events` has. */
extern struct synth_event *fuzz_known_synth;

/* Return: NULL if there is none of that name. */
const struct fuzz_target *fuzz_target_find(const char *name);

/* notes.c: does stderr show the notes of the tools? The cause of an abort() is always shown. */
void fuzz_notes(int shown);

/* A promise that is broken whatever the input. */
#define PROMISE(x)                                                                                 \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fuzz_notes(1);                                                             \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #x);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* mangle.c: the next number of the sequence, below @below (0: any). */
uint64_t mangle_random(struct mangle *m, uint64_t below);
/* A value at which checks tend to be wrong. */
uint64_t mangle_value(struct mangle *m);
/*
 * Put such a value, or a neighbour of the present value, into @width bytes at @at, if they are
 * there.
 */
void mangle_field(struct mangle *m, size_t at, unsigned int width);
/* Enlarge a number: by a little, to a multiple, by a power of two, or to its maximum. */
void mangle_grow(struct mangle *m, size_t at, unsigned int width);
/* The @len bytes at @at come up to some thousand times, as far as there is room. */
void mangle_repeat(struct mangle *m, size_t at, size_t len);
void mangle_set(struct mangle *m, size_t at, unsigned int width, uint64_t value);
uint64_t mangle_get(const struct mangle *m, size_t at, unsigned int width);
/* Take @len bytes at @at out; put @len bytes in; both do nothing when that cannot be. */
void mangle_cut(struct mangle *m, size_t at, size_t len);
void mangle_insert(struct mangle *m, size_t at, const void *from, size_t len);
/* Change anything: a bit, a byte, a field, a run. */
void mangle_any(struct mangle *m);
/* An area, or tables of one, of @n bytes at @at; a page of the ring at @at. */
void mangle_area(struct mangle *m, size_t at, size_t n);
void mangle_page(struct mangle *m, size_t at);

/*
 * file.c: a file that changes while it is read. An input for a reader of files begins with this;
 * the file's bytes follow.
 */
struct fuzz_file {
	/*
	 * modulo 4: 1 truncate to `where`, 2 store `value` at `where`, 3 `value` bytes of a hole
	 * behind it (from the beginning on), else none
	 */
	uint8_t change;
	uint8_t reserved;
	uint16_t reads; /* the change comes before the reads-th pread(), counted from 1 */
	uint32_t where; /* modulo the file's size */
	uint64_t value;
};

/* Zeroed memory for object/'s analysis, 64 MiB at most, and its end. Both are given a size. */
void *fuzz_get(size_t bytes);
void fuzz_put(void *p, size_t bytes);

struct reader;
/*
 * Make the file, open it, read each CPU's stream to its end and close it.
 * @ordered: the reader promises that no stream goes back in time.
 */
void fuzz_file_read(const uint8_t *data, size_t n, int (*open)(const char *, struct reader **),
		    int ordered);
/* The same of a path that does not change. */
void fuzz_path_read(const char *name, int (*open)(const char *, struct reader **), int ordered);
/* Make the file and call @use. */
void fuzz_file_use(const uint8_t *data, size_t n, void (*use)(const char *path));
/* How often a change was made, and how many records were read: replay's test of itself. */
extern unsigned long fuzz_file_changes, fuzz_file_records;
/* Let a mutation choose another change. */
void mangle_change(struct mangle *m);

#endif
