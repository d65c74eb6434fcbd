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

/* Bytes of a sub-buffer: buffer_subbuf_size_kb of the first process at raw_open(). */
uint32_t raw_page_bytes(const struct raw *x);

/*
 * raw_add() - add @t, borrowed too: the object then has the records of all, in order of time.
 * Return: 0 or -errno with fail() set, when nothing will come of it.
 */
int raw_add(struct raw *x, const struct image *t);

/* follow_known() (tools/area/follow.h) of the object. */
void raw_known(struct raw *x, uint64_t known_ns);

/*
 * raw_join() - consume records of @cpu from now on; raw_leave() ends that. Calls count and pair.
 * Records of CPUs that no reader has joined stay in the ring.
 */
void raw_join(struct raw *x, unsigned int cpu);
void raw_leave(struct raw *x, unsigned int cpu);

/*
 * raw_page() - the next sub-buffer of a CPU that was joined.
 * @page: room for raw_page_bytes().
 * Return: 1; 0: there is none; -errno with fail() set. Any thread.
 */
int raw_page(struct raw *x, unsigned int cpu, void *page, enum raw_how how);

/*
 * raw_ready() - does poll() report @cpu? Yes if its buffer is filled to buffer_percent, or if it
 * has any record and no process records any more. raw_page() then gives a page, full or not.
 */
bool raw_ready(struct raw *x, unsigned int cpu);

/*
 * raw_print() - print all sub-buffers of a CPU of a reader: snapshot_raw.
 * Return: 0 or -errno with fail() set.
 */
int raw_print(struct reader *r, unsigned int cpu, struct out *o);

/* Does any of the processes live? */
bool raw_lives(struct raw *x);

#endif
