/* SPDX-License-Identifier: MIT */
/* A set of thread ids, as the kernel's trace_pid_list. It can be read while it changes. */
#ifndef VESTIGE_RING_PID_LIST_H
#define VESTIGE_RING_PID_LIST_H

#include <stdint.h>

#define PID_LIST_MAX (1u << 30) /* all ids are below it */

struct pid_list {
	uint64_t **chunks; /* NULL before the first id */
};

/* Any context. */
int pid_list_has(const struct pid_list *l, uint32_t pid);

/*
 * Add @pid. Return: 0; -EINVAL: not a valid id; -ENOMEM. Normal context; several threads at once.
 */
int pid_list_set(struct pid_list *l, uint32_t pid);
void pid_list_unset(struct pid_list *l, uint32_t pid);

/* pid_list_next() - the first id in the set from @from on; PID_LIST_MAX: there is none. */
uint32_t pid_list_next(const struct pid_list *l, uint32_t from);

void pid_list_clear(struct pid_list *l);

/* Free it. The caller makes sure that no thread reads it any more. */
void pid_list_free(struct pid_list *l);

#endif
