/* SPDX-License-Identifier: MIT */
/* Who reads the pipes of a process or of a session: of each CPU one at a time. Under its owner's lock. */
#ifndef VESTIGE_TOOLS_CLAIMS_H
#define VESTIGE_TOOLS_CLAIMS_H

struct claims {
	unsigned char *cpus; /* nr_cpus of them: somebody reads of it */
	unsigned int nr_cpus;
	unsigned int nr_open; /* pipes of all kinds */
};

/* Return: 0 or -ENOMEM. */
int claims_init(struct claims *c, unsigned int nr_cpus);
void claims_free(struct claims *c);

/* Become the one who reads @cpu's trace_pipe, UINT32_MAX: all of them. Return: 0 or -EBUSY. */
int claims_take(struct claims *c, unsigned int cpu);
void claims_give(struct claims *c, unsigned int cpu);

#endif
