/* SPDX-License-Identifier: MIT */
/*
 * trace_pipe_raw: the kernel's sub-buffers of a live process, consuming. One object serves all CPUs,
 * since a call may enter on one and return on another; those who read a CPU join it.
 */
#ifndef VESTIGE_TOOLS_RAW_H
#define VESTIGE_TOOLS_RAW_H

#include <stdbool.h>

#include "tools/target/target.h"

#define RAW_PAGE_BYTES 4096u

struct raw;

/* @t is borrowed. Return: 0 or -errno with fail() set. */
int raw_open(const struct target *t, struct raw **out);
void raw_close(struct raw *x);

/* From now on records of @cpu are taken; those of CPUs that nobody joined stay. Counts. */
void raw_join(struct raw *x, unsigned int cpu);
void raw_leave(struct raw *x, unsigned int cpu);

/*
 * raw_page() - the next sub-buffer of a CPU that was joined.
 * @page: RAW_PAGE_BYTES. @partial: one that is not full will do.
 * Return: 1; 0 there is none; -errno with fail() set. Any thread.
 */
int raw_page(struct raw *x, unsigned int cpu, void *page, bool partial);

/* Would raw_page() return 1? */
bool raw_ready(struct raw *x, unsigned int cpu, bool partial);

#endif
