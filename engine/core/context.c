/* SPDX-License-Identifier: MIT */
/* See context.h. fork: the child goes on. Tests: tests/engine/events/context. */
#include "engine/core/context.h"

#include <errno.h>

static int (*listen_to)(int on);
uint32_t context_wants;

void context_register(uint32_t (*now)(void), int (*listen)(int on))
{
	ring_context = now;
	listen_to = listen;
}

int context_want(struct trace_array *tr, int on)
{
	int err = 0;

	if (!listen_to)
		return -ENODEV;
	if (on && !context_wants)
		err = listen_to(1);
	if (err)
		return err;
	context_wants += on ? 1u : (uint32_t)-1;
	tr->nr_contexts += on ? 1u : (uint32_t)-1;
	if (tr->ring)
		ring_set_contexts(tr->ring, tr->nr_contexts != 0);
	if (!on && !context_wants)
		listen_to(0);
	return 0;
}
