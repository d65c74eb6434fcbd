/* SPDX-License-Identifier: MIT */
/*
 * lockdep:lock_order: a cycle in the order of locks (sources/lock_order.h). Each of its
 * dependencies is a record with a stack behind it; the one that closed the cycle comes first.
 *
 * Any context. fork: the child goes on. Tests: tests/engine/events/lock_order.
 */
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/core/stack.h"
#include "engine/events/builtin_event.h"
#include "engine/ring/ring_write.h"
#include "engine/sources/lock_order.h"

struct dependency {
	struct builtin_record head;
	unsigned int cycle, index, locks;
	int tid;
	const void *taken, *held;
	uint64_t taken_ip, held_ip;
	char comm[16];
};

static const struct vestige_event_field fields[] = {
	BUILTIN_FIELD(struct dependency, cycle, "unsigned int", 0),
	BUILTIN_FIELD(struct dependency, index, "unsigned int", 0),
	BUILTIN_FIELD(struct dependency, locks, "unsigned int", 0),
	BUILTIN_FIELD(struct dependency, tid, "pid_t", 1),
	BUILTIN_FIELD(struct dependency, taken, "void *", 0),
	BUILTIN_FIELD(struct dependency, held, "void *", 0),
	BUILTIN_FIELD(struct dependency, taken_ip, "unsigned long", 0),
	BUILTIN_FIELD(struct dependency, held_ip, "unsigned long", 0),
	BUILTIN_FIELD(struct dependency, comm, "char[16]", 0),
	BUILTIN_FIELDS_END,
};

static int enable(struct builtin_event *e, int on);

static struct builtin_event order_event[] = {
	{.system = "lockdep",
	 .name = "lock_order",
	 .fields = fields,
	 .print_fmt = "\"cycle %u, %u/%u: %s-%d takes %p at %pS, and holds %p since %pS\", "
		      "REC->cycle, REC->index, REC->locks, REC->comm, REC->tid, REC->taken, "
		      "(void *)REC->taken_ip, REC->held, (void *)REC->held_ip",
	 .enable = enable},
};

static void put_stacks(const struct event *event, const struct lock_dependency *d)
{
	struct srcu_thread *in = stack_started() && event ? ring_enter() : NULL;
	struct event_file *f;

	if (!in)
		return;
	for (f = load_acquire(&event->files); f; f = load_acquire(&f->next))
		if (load_acquire(&f->pub.ops) != &event_ops_none && f->tr->ring &&
		    ring_is_on(f->tr->ring))
			stack_put(f->tr->ring, d->frames, d->nr_frames);
	ring_leave(in);
}

static void note(const struct lock_cycle *c)
{
	uint32_t i;

	for (i = 0; i < c->nr && i < LOCK_ORDER_LOCKS; i++) {
		const struct lock_dependency *d = &c->at[i];
		struct dependency r = {
			.cycle = c->number,
			.index = i + 1,
			.locks = c->nr,
			.tid = d->tid,
			.taken = d->taken,
			.held = d->held,
			.taken_ip = d->frames[0],
			.held_ip = d->held_site,
		};

		memcpy(r.comm, d->comm, sizeof(r.comm));
		builtin_event_write(order_event, &r, sizeof(r));
		put_stacks(order_event[0].event, d);
	}
}

static struct lock_cycle_listener listener = {.call = note};

static int enable(struct builtin_event *e, int on)
{
	(void)e;
	if (on)
		stack_start(); /* a program without an unwinder has no stacks */
	return source_switch(&lock_cycles, &listener.link, on);
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	if (interpose_possible())
		builtin_events_add(order_event, ARRAY_SIZE(order_event));
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
