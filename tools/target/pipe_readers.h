/* SPDX-License-Identifier: MIT */
/*
 * Which pipes of a process or session have a reader: one per CPU at a time. The owner's lock
 * protects it.
 */
#ifndef VESTIGE_TOOLS_PIPE_READERS_H
#define VESTIGE_TOOLS_PIPE_READERS_H

struct pipe_readers {
	unsigned char *cpus; /* nr_cpus of them: it has a reader */
	unsigned int nr_cpus;
	unsigned int nr_open; /* pipes of all kinds */
};

/* Return: 0 or -ENOMEM. */
int pipe_readers_init(struct pipe_readers *c, unsigned int nr_cpus);
void pipe_readers_free(struct pipe_readers *c);

/* Become the reader of @cpu's trace_pipe, UINT32_MAX: all of them. Return: 0 or -EBUSY. */
int pipe_readers_take(struct pipe_readers *c, unsigned int cpu);
void pipe_readers_give(struct pipe_readers *c, unsigned int cpu);

#endif
