/* SPDX-License-Identifier: MIT */
/*
 * trace_pipe_raw: the kernel's sub-buffers of live processes, consuming. One object serves all
 * CPUs, since a call may enter on one and return on another; a reader of a CPU joins it.
 */
#ifndef VESTIGE_TOOLS_RAW_H
#define VESTIGE_TOOLS_RAW_H

#include <stdbool.h>

#include "tools/reader/reader.h"
#include "tools/target/image.h"
#include "tools/target/target.h"
#include "tools/text/out.h"

#define RAW_MIN_BYTES 4096u
#define RAW_MAX_BYTES (512u << 10)

struct raw;

/* @t is borrowed. Return: 0 or -errno with fail() set. */
int raw_open(const struct image *t, struct raw **out);
void raw_close(struct raw *x);

/* Of a sub-buffer: buffer_subbuf_size_kb of the first process when it was opened. */
uint32_t raw_page_bytes(const struct raw *x);

/*
 * raw_add() - add @t, borrowed too: the object then has the records of all, in order of time.
 * Return: 0 or -errno with fail() set, when nothing will come of it.
 */
int raw_add(struct raw *x, const struct image *t);

/* follow_known() of it. */
void raw_known(struct raw *x, uint64_t known_ns);

/* From now on, until as many calls of raw_leave(), records of @cpu are taken. Records of CPUs that
 * no reader has joined stay. */
void raw_join(struct raw *x, unsigned int cpu);
void raw_leave(struct raw *x, unsigned int cpu);

/*
 * raw_page() - the next sub-buffer of a CPU that was joined.
 * @page: raw_page_bytes().
 * Return: 1; 0 there is none; -errno with fail() set. Any thread.
 */
int raw_page(struct raw *x, unsigned int cpu, void *page, enum raw_how how);

/*
 * Is the buffer of @cpu as full as buffer_percent says, so that poll() reports it? Also when there
 * is anything and no process records any more. raw_page() then gives a page, full or not.
 */
bool raw_ready(struct raw *x, unsigned int cpu);

/*
 * raw_print() - all sub-buffers of a CPU that a reader has, at once: snapshot_raw.
 * Return: 0 or -errno with fail() set.
 */
int raw_print(struct reader *r, unsigned int cpu, struct out *o);

/* Does any of the processes live? */
bool raw_lives(struct raw *x);

#endif
