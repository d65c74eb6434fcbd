/* SPDX-License-Identifier: MIT */
/*
 * A source sees one thing that a program does (it allocates, takes a lock, sends a signal) and
 * calls its listeners: events, tracers. The wrappers of libc behind it are in place only while
 * there is a listener. A header of this room declares its sources and, for each, the struct of a
 * listener with its callback:
 *
 *	static struct kmem_alloc_listener mine = {.call = note_alloc};
 *	err = source_listen(&kmem_allocs, &mine.link); ... source_ignore(&kmem_allocs, &mine.link);
 *
 * A callback runs in any context (no libc, no lock, no errno) in the acting thread. A thread that
 * was in the source when the listener left may call it once more, so its data must stay for ever.
 * fork: the child has the same listeners. Costs: a load and an indirect call for each listener.
 */
#ifndef VESTIGE_SOURCES_SOURCE_H
#define VESTIGE_SOURCES_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/core/interpose.h"

/* The first member of each listener, which must stay for ever. */
struct source_link {
	struct source_link *next;
};

struct source {
	struct source_link *first;
	/*
	 * The first listener comes (@on), or the last one leaves. Under the tree lock. Return: 0;
	 * -errno.
	 */
	int (*want)(struct source *s, int on);
};

/*
 * source_listen() - add a listener: @link is its first member. Under the tree lock. Return: 0;
 * -errno of the source: the listener was not added.
 */
int source_listen(struct source *s, struct source_link *link);
void source_ignore(struct source *s, struct source_link *link);

/* source_listen() if @on, else source_ignore(). Return: 0 or -errno. */
static inline int source_switch(struct source *s, struct source_link *link, int on)
{
	if (on)
		return source_listen(s, link);
	source_ignore(s, link);
	return 0;
}

/*
 * The first listener, for SOURCE_NOTIFY; NULL: there is none, or the engine itself makes this call.
 * Any context.
 */
static inline const struct source_link *source_heard(const struct source *s)
{
	const struct source_link *first = load_acquire(&s->first);

	return first && !interpose_muted() ? first : NULL;
}

/* Call the listeners from @first on, structs of @type, with the arguments. Any context. */
#define SOURCE_NOTIFY(type, first, ...)                                                            \
	do {                                                                                       \
		const struct source_link *link_;                                                   \
                                                                                                   \
		for (link_ = (first); link_; link_ = load_acquire(&link_->next))                   \
			((const type *)link_)->call(__VA_ARGS__);                                  \
	} while (0)

#endif
