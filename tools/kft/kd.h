/* SPDX-License-Identifier: MIT */
/*
 * The times of a run by function, or call by call, as KFT's kd prints them. From a log of KFT or
 * KFI, or from any recording that has calls.
 *
 * A function's own (local) time is its time less the times of the recorded calls beneath it. It is
 * wrong, and marked, if calls beneath it are missing or if the thread did not run.
 * Tests: tests/cli/test_kd.py, tests/fuzz/kft.c.
 */
#ifndef VESTIGE_TOOLS_KD_H
#define VESTIGE_TOOLS_KD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/base/hash_index.h"
#include "tools/text/out.h"
#include "tools/text/view.h"

#define KD_MAX_CALLS   (1u << 24) /* kept for a call trace */
#define KD_MAX_COLUMNS 16u

enum kd_mark {
	KD_FILTERED = 1, /* calls beneath it are missing */
	KD_SWITCHED = 2, /* the thread did not run in some of its time */
};

struct kd_call {
	uint64_t at, ns, local;
	int64_t delta_us; /* of a log, as written there; else 0 */
	uint64_t seq;
	uint32_t function, depth;
	int32_t pid;
	uint8_t marks;
	bool interrupt;
	bool no_time; /* its duration is not known */
};

struct kd_function {
	const char *name;
	uint64_t count, ns, local;
	uint8_t marks;
	uint32_t child; /* the function called by it that took most time; from `pairs` */
	uint64_t child_ns, child_count;
};

struct kd_pair {
	uint32_t from, to;
	uint64_t ns, count;
};

/* Of one input; all zero at first, freed with kd_free(). */
struct kd {
	struct kd_function *functions;
	size_t nr, room;
	struct hash_index by_name;
	struct kd_pair *pairs;
	size_t nr_pairs, room_pairs;
	struct hash_index by_pair;
	struct kd_call *calls; /* in a call trace, and of a log */
	size_t nr_calls, room_calls;
	uint64_t nr_watches; /* calls of stack watches, which only the call trace has */
	uint64_t nr_counted;
	bool is_log;
};

struct kd_options {
	unsigned int first;  /* print this number of rows; 0: all */
	uint64_t min_ns;     /* print functions with at least this time */
	const char *columns; /* letters; NULL: the usual ones */
	char sort;	     /* a letter; 0: time */
	bool trace, locals, interlace, json;
};

/* The letters of all columns, and of the default ones. */
#define KD_COLUMNS	 "Fcatlmn"
#define KD_USUAL_COLUMNS "Fctal"

/*
 * kd_load() - read the file of @v: a log, or a recording that has calls.
 * @names: a file that has names of addresses: a program, a System.map or a trace.dat; NULL: none.
 * @keep: keep the calls, for a call trace. Return: 0 or -errno with fail() set.
 */
int kd_load(struct kd *kd, struct view *v, const char *names, bool keep);
void kd_free(struct kd *kd);

/*
 * The index of a function by its name, added if it is new; the name is copied. Return: 0 or -ENOMEM
 * with fail() set.
 */
int kd_function(struct kd *kd, const char *name, uint32_t *number);

/*
 * kd_count() - add an ended call to the sums.
 * @caller: the function around it; -1 none. Return: 0 or -ENOMEM with fail() set.
 */
int kd_count(struct kd *kd, const struct kd_call *call, int64_t caller);

/*
 * Keep a call for the call trace. Return: 0; -ENOMEM, or -EFBIG: there are too many, with fail()
 * set.
 */
int kd_keep(struct kd *kd, const struct kd_call *call);

/*
 * kd_print() - print the table, or the call trace.
 * @marks: gets all marks that were printed. Return: 0 or -errno with fail() set.
 */
int kd_print(struct kd *kd, const struct kd_options *opt, struct out *o, uint8_t *marks);
/* Parts of kd_print(): the call trace; a time; the text of marks. */
int kd_trace(struct kd *kd, const struct kd_options *opt, struct out *o, uint8_t *marks);
void kd_put_time(const struct kd *kd, struct out *o, int width, uint64_t ns);
const char *kd_mark_text(uint8_t marks);

/* kd_names.c: names of addresses. */
struct symbols;
/*
 * kd_names_open() - the table of names in a file, for kd_load().
 * @seen: addresses of functions in the log, by which it finds where the program was loaded; sorted
 * here. @bias: gets the number to subtract from an address of the log. @out: freed with
 * symbols_free().
 * Return: 0 or -errno with fail() set.
 */
int kd_names_open(const char *path, uint64_t *seen, size_t nr, uint64_t *bias,
		  struct symbols **out);

#endif
