/* SPDX-License-Identifier: MIT */
/*
 * The log of KFT (Kernel Function Trace; before 2005 KFI): a head with the run's number, its begin
 * and end, filters and counters, then a line for each call, in the order in which they began:
 *
 *	 Entry      Delta      PID            Function                    Called At
 *	--------   --------   -----   -------------------------   -------------------------
 *	      14       8687       0                  setup_all    main+0x35
 *
 * Times are microseconds. Later logs name the last column Caller. A log that was captured on a
 * console may have other lines, too: they are skipped and counted. Tests: tests/cli/test_kd.py,
 * tests/fuzz/kft.c.
 */
#ifndef VESTIGE_TOOLS_KFT_LOG_H
#define VESTIGE_TOOLS_KFT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/import/import_text.h"

/* Values of a delta that are not a length. */
#define KFT_NO_EXIT   0	 /* the exit was not seen */
#define KFT_OPEN      -1 /* still open at the end */
#define KFT_WATCH     -2 /* a frame of the stack that a stack watch wrote */
#define KFT_INTERRUPT -1 /* the PID of what an interrupt called */

struct kft_log {
	uint64_t start_us, stop_us; /* 0: not in the log */
	uint64_t left_out;	    /* calls that its filters have left out, by its counters */
	uint64_t skipped;	    /* lines behind the first call that are no calls */
	unsigned int nr_filters;    /* lines below `Filters:` */
	unsigned int nr_runs;
	bool in_filters, has_counters;
	bool began; /* a call was seen in this run */
};

/* A call. Its strings are borrowed until the next call of kft_log_next(). */
struct kft_entry {
	uint64_t at_us;
	int64_t delta_us; /* or one of the three above */
	int64_t pid;
	char *function, *caller; /* names or addresses; caller: "" none */
};

/* Is it such a log, by its first bytes? They are followed by a NUL. */
bool kft_log_is(const char *head, size_t bytes);

/*
 * kft_log_next() - the next call; lines of the head go into @log, which is zeroed at first.
 * Return: 1; 0 at the end; -EINVAL with fail() set: a number in the line is too large.
 */
int kft_log_next(struct import_text *in, struct kft_log *log, struct kft_entry *e);

/* May its filters have left out calls? */
bool kft_log_filtered(const struct kft_log *log);

/* Is the name of an entry an address, as in a raw log? @addr: gets it. */
bool kft_log_address(const char *name, uint64_t *addr);

#endif
