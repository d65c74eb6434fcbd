/* SPDX-License-Identifier: MIT */
/* A reader whose records are made up by a rule, for tests of everything that takes a reader. */
#ifndef VESTIGE_TESTS_SYNTH_H
#define VESTIGE_TESTS_SYNTH_H

#include "tools/reader/reader.h"

#define SYNTH_FUNCTIONS 500
#define SYNTH_TASKS	3
#define SYNTH_PID	4000

/*
 * synth_new() - @nr_cpus streams of @nr_records each.
 * @make: fills the i-th record of a CPU; all of it is zero before. NULL: synth_function().
 * The reader has symbols (main program and libfoo.so), tasks and statistics. Ends the test when
 * memory is short.
 */
struct reader *synth_new(unsigned int nr_cpus, uint64_t nr_records,
			 void (*make)(struct record *rec, unsigned int cpu, uint64_t i));

/* The records of @list, @nr[cpu] for each CPU; both are borrowed. Tracer function_graph. */
struct reader *synth_new_list(unsigned int nr_cpus, const struct record *const *list,
			      const uint64_t *nr);

/* Plain graph records of a list are read by columns from now on, too, as a ring's pages are. */
void synth_columns(struct reader *r);

/* Function records: steps of 50 to 305 ns, now and then of 200 ms; nothing lost. */
void synth_function(struct record *rec, unsigned int cpu, uint64_t i);
/* The same, with losses before the first and before every 1000th record. */
void synth_function_lost(struct record *rec, unsigned int cpu, uint64_t i);

/* The entry of the n-th function; its name is synth_name(n), in libfoo.so for odd n. */
uint64_t synth_addr(unsigned int n);
const char *synth_name(unsigned int n);

/* Read it from the start again. */
void synth_rewind(struct reader *r);
/* Reading a CPU fails with EIO after this number of records. */
void synth_fail_after(struct reader *r, uint64_t nr_records);

#endif
