/* SPDX-License-Identifier: MIT */
/* See pipe_readers.h. Owns an array. Any thread, under the lock of what it is part of. Tests:
 * tests/tracefs/. */
#include "tools/target/pipe_readers.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int pipe_readers_init(struct pipe_readers *c, unsigned int nr_cpus)
{
	*c = (struct pipe_readers){.cpus = calloc(nr_cpus, 1), .nr_cpus = nr_cpus};
	return c->cpus ? 0 : -ENOMEM;
}

void pipe_readers_free(struct pipe_readers *c)
{
	free(c->cpus);
}

int pipe_readers_take(struct pipe_readers *c, unsigned int cpu)
{
	unsigned int first = cpu == UINT32_MAX ? 0 : cpu;
	unsigned int end = cpu == UINT32_MAX ? c->nr_cpus : cpu + 1;

	if (end > c->nr_cpus)
		return -ENOENT;
	if (memchr(c->cpus + first, 1, end - first))
		return -EBUSY;
	memset(c->cpus + first, 1, end - first);
	c->nr_open++;
	return 0;
}

void pipe_readers_give(struct pipe_readers *c, unsigned int cpu)
{
	if (cpu == UINT32_MAX)
		memset(c->cpus, 0, c->nr_cpus);
	else
		c->cpus[cpu] = 0;
	c->nr_open--;
}
