/* SPDX-License-Identifier: MIT */
/*
 * The program's own writing of its calls: what was entered and left on each of its stacks, as the
 * oracle for a recorded graph. Nothing here is a function to be traced.
 *
 *	struct written *w = written_new();	a stack's log; written_here(w) makes it the thread's
 *	written_enter("f") ... written_leave()	at the begin and the end of a body, or ENTERED(f)
 *	written_tail()				the call that follows is a tail call of this
 *						function
 *	written_depth(), written_cut(depth)	before setjmp, and behind it when it came back
 *	written_print()				all logs, for the test
 *
 * A call is written a moment after its entry and before its exit, so a signal that comes there
 * sees the two differ: handlers are exact only where the program raises them itself.
 */
#ifndef WRITTEN_H
#define WRITTEN_H

#include <stdio.h>
#include <stdlib.h>

#define NOTRACE	 __attribute__((noinline, patchable_function_entry(0)))
#define NOINLINE __attribute__((noinline))
#define KEEP()	 __asm__ volatile("" ::: "memory")

#ifndef WRITTEN_EVENTS
#define WRITTEN_EVENTS (1u << 18)
#endif
#define WRITTEN_DEPTH 4096

struct written {
	const char **event; /* a name: entered; NULL: the innermost was left */
	unsigned nr;
	unsigned depth;
	unsigned char tail[WRITTEN_DEPTH]; /* the call at that depth went on into the next */
	struct written *next;
};

static struct written *all_written;
static __thread struct written *written_current;
static pthread_mutex_t written_lock = PTHREAD_MUTEX_INITIALIZER;

static NOTRACE struct written *written_new(void)
{
	struct written *w = (struct written *)calloc(1, sizeof(*w));

	w->event = (const char **)calloc(WRITTEN_EVENTS, sizeof(*w->event));
	pthread_mutex_lock(&written_lock);
	w->next = all_written;
	all_written = w;
	pthread_mutex_unlock(&written_lock);
	return w;
}

/* Return: the thread's log until now. A function: a coroutine may have changed its thread. */
static NOTRACE struct written *written_here(struct written *w)
{
	struct written *before = written_current;

	KEEP();
	written_current = w;
	return before;
}

static NOTRACE struct written *written_now(void)
{
	KEEP();
	return written_current;
}

static NOTRACE void written_push(struct written *w, const char *name)
{
	if (w->nr >= WRITTEN_EVENTS || w->depth >= WRITTEN_DEPTH) {
		fprintf(stderr, "written: too much of %s\n", name ? name : "leaving");
		abort();
	}
	w->event[w->nr++] = name;
}

static NOTRACE void written_enter(const char *name)
{
	struct written *w = written_now();

	written_push(w, name);
	w->tail[w->depth++] = 0;
}

static NOTRACE void written_leave(void)
{
	struct written *w = written_now();

	do {
		if (!w->depth)
			abort();
		written_push(w, NULL);
		w->depth--;
	} while (w->depth && w->tail[w->depth - 1]);
}

static NOTRACE __attribute__((unused)) void written_tail(void)
{
	struct written *w = written_now();

	w->tail[w->depth - 1] = 1;
}

static NOTRACE __attribute__((unused)) unsigned written_depth(void)
{
	return written_now()->depth;
}

static NOTRACE __attribute__((unused)) void written_cut(unsigned depth)
{
	struct written *w = written_now();

	while (w->depth > depth) {
		written_push(w, NULL);
		w->depth--;
	}
}

static NOTRACE void written_print(void)
{
	const struct written *w;
	unsigned i;

	for (w = all_written; w; w = w->next) {
		printf("stack");
		for (i = 0; i < w->nr; i++)
			printf(" %s", w->event[i] ? w->event[i] : "-");
		putchar('\n');
	}
	fflush(stdout);
}

#ifdef __cplusplus
/* Writes the leaving in its destructor: an exception's way out, too. */
struct Entered {
	__attribute__((always_inline)) explicit Entered(const char *name)
	{
		written_enter(name);
	}
	__attribute__((always_inline)) ~Entered()
	{
		written_leave();
	}
};
#define ENTERED(name) Entered entered_here(#name)
#endif

#endif
