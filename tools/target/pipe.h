/* SPDX-License-Identifier: MIT */
/* trace_pipe: records as text, consuming, waiting for more. */
#ifndef VESTIGE_TOOLS_PIPE_H
#define VESTIGE_TOOLS_PIPE_H

#include <stdbool.h>
#include <sys/types.h>

#include "tools/target/image.h"

struct pipe;

/*
 * pipe_open() - the pipe of @cpu of @t, UINT32_MAX all of them; @t is borrowed.
 * Two readers of the same CPU take each other's records, so there should be one.
 * Return: 0 and *@out, to be closed with pipe_close(); -ENOENT: there is no such CPU; -errno. With
 * fail() set.
 */
int pipe_open(const struct image *t, unsigned int cpu, struct pipe **out);
void pipe_close(struct pipe *x);

/*
 * pipe_add() - add @t, borrowed too: the pipe then has the records of all, in order of time.
 * Return: 0 or -errno with fail() set, when nothing will come of it.
 */
int pipe_add(struct pipe *x, const struct image *t);

/* follow_known() (tools/area/follow.h) of the pipe. */
void pipe_known(struct pipe *x, uint64_t known_ns);

/*
 * pipe_look() - read the records that are there now, without waiting. @hold: with several
 * processes, leave the latest records, since earlier ones of another process may still come.
 * Return: as pipe_read().
 */
ssize_t pipe_look(struct pipe *x, char *buf, size_t bytes, bool hold);

/*
 * pipe_read() - read up to @bytes of text, whole lines where they fit. @nonblock: do not wait for
 * records. @interrupted: called while waiting; true: give up; NULL: never. Return: bytes; 0: the
 * end: the process is dead, or tracing is off and something was read before; -EAGAIN, -EINTR,
 * -errno.
 */
ssize_t pipe_read(struct pipe *x, char *buf, size_t bytes, bool nonblock, int (*interrupted)(void));

/* Would a read return at once? */
bool pipe_ready(struct pipe *x);

#endif
