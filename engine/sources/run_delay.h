/* SPDX-License-Identifier: MIT */
/*
 * The time that a thread waited for a CPU, without privilege. /proc/self/task/TID/schedstat has the
 * sum of a thread's waits and the number of times that it got a CPU. A wait is known exactly if the
 * thread got a CPU once between two reads and had slept before; else only an upper limit is known.
 */
#ifndef VESTIGE_SOURCES_RUN_DELAY_H
#define VESTIGE_SOURCES_RUN_DELAY_H

#include <stdint.h>

/* The state of one thread; zero at first. */
struct run_delay {
	uint64_t waited_ns, nr_runs; /* at the last read */
	uint64_t read_ns;	     /* CLOCK_MONOTONIC of the last read; 0: there was none */
	uint8_t slept;		     /* it left its CPU last to wait for something */
};

enum run_delay_sort {
	RUN_DELAY_UNKNOWN,
	RUN_DELAY_EXACT,   /* *@waited_ns is the wait */
	RUN_DELAY_AT_MOST, /* *@waited_ns is an upper limit: the sum of several waits */
};

/*
 * run_delay_begin() - read a thread for the first time. run_delay_left() - the thread left its CPU;
 * @state: prev_state of sched_switch. run_delay_came() - the thread got a CPU at @ns
 * (CLOCK_MONOTONIC). *@waited_ns: how long it waited before, see the result. In the thread that
 * reads perf's records, under the tree lock; run_delay_begin() and run_delay_came() make system
 * calls.
 */
void run_delay_begin(struct run_delay *d, int tid);
void run_delay_left(struct run_delay *d, int64_t state);
enum run_delay_sort run_delay_came(struct run_delay *d, int tid, uint64_t ns, uint64_t *waited_ns);

/* Why this process cannot read waits; NULL: it can. Makes some system calls; any time. */
const char *run_delay_refused(void);

#endif
