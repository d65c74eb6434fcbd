/* SPDX-License-Identifier: MIT */
/*
 * Records of events that have a filter or triggers, or belong to an instance that may be removed.
 * Such a record is built on the probe function's stack, examined, and copied into the ring when it
 * is wanted. All of that happens between ring_enter() and ring_leave(), so that filters and
 * triggers can be changed and freed. Any context, as event_record.c. Costs: bench "events". Tests:
 * tests/engine/events/.
 */
#include "engine/events/event_act.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/heap.h"
#include "engine/core/options.h"
#include "engine/core/stack.h"
#include "engine/events/event_source.h"
#include "engine/events/filter/filter_impl.h"
#include "engine/events/trigger/trigger.h"
#include "engine/ring/proxy.h"

/* This file's use of a struct vestige_event_slot. */
struct act_slot {
	void *scratch;
	uint64_t bytes;
};
_Static_assert(sizeof(struct act_slot) <= sizeof(struct vestige_event_slot),
	       "programs have made room for vestige_event_slot");

/* Clear the scratch record: bytes of the program's stack must not get into a trace. */
static void clear(uint64_t *words, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes / 8; i++)
		words[i] = 0;
	for (i *= 8; i < bytes; i++)
		((uint8_t *)words)[i] = 0;
}

static void *act_reserve(void *file, struct vestige_event_slot *slot, uint32_t bytes)
{
	struct act_slot *s = (struct act_slot *)slot;
	const struct event_file *f = file;

	/* too large for a page: counted as lost */
	if (unlikely(!s->scratch))
		return event_reserve(file, slot, bytes);
	if (f->event->padded)
		clear(s->scratch, bytes);
	s->bytes = bytes;
	return s->scratch;
}

static void put_record(struct event_file *f, const void *record, uint32_t bytes)
{
	struct vestige_event_slot slot;
	uint8_t *to = event_reserve(f, &slot, bytes);

	if (!to)
		return;
	memcpy(to + 8, (const uint8_t *)record + 8, bytes - 8);
	event_commit(f, &slot);
}

/*
 * As in the kernel: a switch has two threads, and either may match.
 */
static int wants_thread(const struct trace_array *tr)
{
	return trace_array_wants_events_of(tr, ring_thread_id()) ||
	       (ring_as && trace_array_wants_events_of(tr, ring_as->other));
}

static int is_wanted(const struct event_file *f)
{
	uint32_t flags = load_relaxed(&f->flags);

	return flags & (EVENT_FILE_ENABLED | EVENT_FILE_SOFT_MODE) &&
	       !(flags & EVENT_FILE_SOFT_DISABLED);
}

/* @injected: record it even if the event is off. */
static void act(struct event_file *f, const void *record, uint32_t bytes, int injected)
{
	const struct event_filter *filter;

	if (load_acquire(&f->tr->going) || !f->tr->ring)
		return;
	if (load_relaxed(&f->tr->event_pids_set) && !wants_thread(f->tr))
		return;
	if (load_relaxed(&f->triggers))
		triggers_fire(f, record, 0);
	filter = load_acquire(&f->filter);
	if ((injected || is_wanted(f)) && (!filter || filter_match(filter, record))) {
		put_record(f, record, bytes);
		stack_record_wanted(f->tr->ring);
	}
	if (load_relaxed(&f->triggers))
		triggers_fire(f, record, 1);
}

void event_act(struct event_file *f, const void *record, uint32_t bytes)
{
	act(f, record, bytes, 0);
}

void event_act_injected(struct event_file *f, const void *record, uint32_t bytes)
{
	struct srcu_thread *in = ring_enter();

	if (!in)
		return;
	act(f, record, bytes, 1);
	ring_leave(in);
}

static void act_commit(void *file, struct vestige_event_slot *slot)
{
	struct act_slot *s = (struct act_slot *)slot;
	struct srcu_thread *in = ring_enter();

	if (!in)
		return;
	event_act(file, s->scratch, (uint32_t)s->bytes);
	ring_leave(in);
}

static __attribute__((noinline)) void filter_commit_slow(struct event_file *f,
							 const struct act_slot *s)
{
	struct srcu_thread *in = ring_enter();
	const struct event_filter *filter;

	if (!in)
		return;
	filter = load_acquire(&f->filter);
	if (!filter || filter_match(filter, s->scratch))
		put_record(f, s->scratch, (uint32_t)s->bytes);
	ring_leave(in);
}

/* With a filter alone, most records are discarded early. */
static void filter_commit(void *file, struct vestige_event_slot *slot)
{
	const struct act_slot *s = (const struct act_slot *)slot;
	struct event_file *f = file;

	if (unlikely(!filter_chain_refuses(&f->chain, s->scratch)))
		filter_commit_slow(f, s);
}

const struct vestige_event_ops event_ops_filter = {
	.bytes = sizeof(struct vestige_event_ops),
	.reserve = act_reserve,
	.commit = filter_commit,
};

const struct vestige_event_ops event_ops_act = {
	.bytes = sizeof(struct vestige_event_ops),
	.reserve = act_reserve,
	.commit = act_commit,
};

/*
 * Replace the filter. The old one is freed when no reader is left; if that cannot be known, it
 * stays.
 */
static void replace_filter(struct event_file *f, struct event_filter *filter)
{
	struct event_filter *old = f->filter;

	store_release(&f->filter, filter);
	filter_chain_set(&f->chain, filter ? &filter->chain : NULL);
	event_file_update(f);
	if (old && !ring_synchronize())
		filter_free(old);
}

/*
 * Put what the filter file shows after an error: the text, a caret under the position, and the
 * error.
 */
static char *describe(const char *text, size_t n, const struct parse_error *error)
{
	char buf[5000];
	struct seq_buf s;
	uint32_t i;

	seq_init(&s, buf, sizeof(buf));
	for (i = 0; i < n; i++)
		seq_putc(&s, text[i]);
	if (error->text) {
		seq_putc(&s, '\n');
		for (i = 0; i < error->position && i < n; i++)
			seq_putc(&s, ' ');
		seq_puts(&s, "^\nparse_error: ");
		seq_puts(&s, error->text);
		seq_putc(&s, '\n');
	} else {
		seq_puts(&s, "\nError: (0)\n");
	}
	return heap_copy(buf, s.len);
}

int event_filter_set(struct event_file *f, const char *text, size_t n, struct parse_error *error)
{
	struct event_filter *filter = NULL;
	int err = 0;

	*error = (struct parse_error){0};
	if (n != 1 || *text != '0')
		err = filter_compile(f->event, text, n, &filter, error);
	heap_free(f->filter_error);
	f->filter_error = err && err != -ENOMEM ? describe(text, n, error) : NULL;
	/* after a filter that could not be parsed there is no filter */
	replace_filter(f, filter);
	return err;
}

int event_filter_set_system(struct trace_array *tr, const char *system, const char *text, size_t n,
			    struct parse_error *error)
{
	static const struct parse_error no_field = {
		"Couldn't find or set field in one of a subsystem's events", 0};
	struct event_file *f;
	struct event *e;
	int err = 0;

	*error = (struct parse_error){0};
	event_sources_make(system, strlen(system), "", 0, 0);
	for (e = events; e; e = e->next) {
		struct parse_error one;

		if (e->gone || !e->class || !str_equal(e->system, system))
			continue;
		f = event_file_get(e, tr);
		if (!f)
			return -ENOMEM;
		err = event_filter_set(f, text, n, &one);
		if (err) {
			heap_free(f->filter_error);
			f->filter_error = describe(text, n, &no_field);
			*error = no_field;
		}
	}
	return err == -ENOMEM ? err : 0;
}

void event_filter_show(const struct event_file *f, struct seq_buf *s)
{
	if (f && f->filter_error)
		seq_puts(s, f->filter_error);
	else if (f && f->filter)
		seq_puts(s, filter_text(f->filter));
	else
		seq_puts(s, "none");
	seq_putc(s, '\n');
}

/* Free an event's state in an instance, when either is removed. */
void event_file_clear(struct event_file *f)
{
	triggers_clear(f);
	if (f->flags & EVENT_FILE_REGISTERED && f->event->class)
		f->event->class->enable(f->event, f, 0);
	f->flags = 0;
	heap_free(f->filter_error);
	f->filter_error = NULL;
	replace_filter(f, NULL);
}
