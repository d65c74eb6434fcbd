/* SPDX-License-Identifier: MIT */
/* trace_pipe of a session: the records of all members, in order of time. */
#ifndef VESTIGE_TOOLS_MEMBERS_PIPE_H
#define VESTIGE_TOOLS_MEMBERS_PIPE_H

#include "tools/target/session.h"

struct members_pipe;

/* As the functions of pipe.h; @s is borrowed. */
int members_pipe_open(struct session *s, unsigned int cpu, struct members_pipe **out);
void members_pipe_close(struct members_pipe *x);
ssize_t members_pipe_read(struct members_pipe *x, char *buf, size_t bytes, bool nonblock,
			  int (*interrupted)(void));
bool members_pipe_ready(struct members_pipe *x);

#endif
