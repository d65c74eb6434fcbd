/* SPDX-License-Identifier: MIT */
/*
 * The switches of an event (engine/events/event.c) while triggers of other threads switch it too: a
 * trigger that fires between any two instructions fires before the change or behind it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/core/stack.h"
#include "engine/core/tracer.h"
#include "engine/events/event_act.h"
#include "engine/events/event_source.h"
#include "engine/events/ftrace_event.h"
#include "engine/events/trigger/hist.h"
#include "engine/events/trigger/trigger.h"
#include "engine/process/heap.h"
#include "step.h"

/* What event.c and trigger_ops.c need of others. */
const struct vestige_event_ops event_ops_none;
struct event ftrace_events[FTRACE_NR_EVENTS];
struct trace_array global_trace;
struct ring rings[RING_MAX];

void *heap_alloc(size_t bytes)
{
	return calloc(1, bytes);
}

char *heap_copy(const char *s, size_t n)
{
	char *copy = heap_alloc(n + 1);

	memcpy(copy, s, n);
	return copy;
}

void trace_array_on_destroy(void (*callback)(const struct trace_array *tr))
{
	(void)callback;
}

int event_describe(struct event *e)
{
	(void)e;
	return 0;
}

void event_file_update(struct event_file *f)
{
	(void)f;
}

void event_file_clear(struct event_file *f)
{
	f->flags = 0;
}

struct event *event_source_find(const char *system, size_t system_bytes, const char *name,
				size_t name_bytes)
{
	(void)system, (void)system_bytes, (void)name, (void)name_bytes;
	return NULL;
}

void event_sources_make(const char *system, size_t system_bytes, const char *name,
			size_t name_bytes, int either)
{
	(void)system, (void)system_bytes, (void)name, (void)name_bytes, (void)either;
}

int hist_paused(const struct hist *h)
{
	(void)h;
	return 0;
}

void hist_pause(struct hist *h, int paused)
{
	(void)h, (void)paused;
}

void hist_fire(struct hist *h, const void *record)
{
	(void)h, (void)record;
}

void tracing_set(struct trace_array *tr, int on)
{
	(void)tr, (void)on;
}

int tracer_snapshot(struct trace_array *tr, uint32_t cpu)
{
	(void)tr, (void)cpu;
	return 0;
}

void stack_record(struct ring *r)
{
	(void)r;
}

int stack_start(void)
{
	return 0;
}

int trace_array_alloc_snapshot(struct trace_array *tr)
{
	(void)tr;
	return 0;
}

static struct event_file *file;
static struct event an_event;

/* A trigger of another thread, which switches the event once, before the instruction of that
 * number. */
struct switching {
	struct event_trigger trigger;
	uint64_t at;
	int off, fired;
};

static int did(const struct switching *s)
{
	return s->fired && !s->trigger.count;
}

static void fire(void *arg, uint64_t n)
{
	struct switching *s = arg;
	const struct trigger_ops *const *ops;

	if (n != s->at)
		return;
	s->fired = 1;
	REGISTRY_EACH (vestige_triggers, ops)
		if (!strcmp((*ops)->name, s->off ? "disable_event" : "enable_event"))
			(*ops)->fire(&s->trigger, NULL);
}

static void enable(void *arg)
{
	event_enable(&an_event, &global_trace, *(int *)arg);
}

static void soft(void *arg)
{
	event_enable_soft(file, *(int *)arg);
}

/* What @what(@on) leaves of @flags when the trigger comes before its instruction @s->at. */
static uint32_t run(void (*what)(void *), int on, uint32_t flags, uint32_t soft_count,
		    struct switching *s)
{
	file->flags = flags;
	file->soft_count = soft_count;
	s->trigger = (struct event_trigger){.target = file, .count = 1};
	s->fired = 0;
	step_through(what, &on, fire, s);
	/* they belong together */
	if (!(file->flags & EVENT_FILE_SOFT_MODE))
		assert_int_equal(file->flags & EVENT_FILE_SOFT_DISABLED, 0);
	return file->flags;
}

#define REGISTERED EVENT_FILE_REGISTERED
#define ENABLED	   EVENT_FILE_ENABLED
#define SOFT_MODE  EVENT_FILE_SOFT_MODE
#define OFF	   EVENT_FILE_SOFT_DISABLED

/*
 * The trigger comes before @what or behind it, never half: one of the two results, and behind it
 * once it was behind it.
 */
static void check(void (*what)(void *), int on, uint32_t flags, uint32_t soft_count, int off)
{
	struct switching s = {.at = 0, .off = off};
	uint32_t before = run(what, on, flags, soft_count, &s), behind = before, got;
	int did_before = did(&s), did_behind = did_before;

	/* the last one that comes at all */
	for (s.at = 1; run(what, on, flags, soft_count, &s), s.fired; s.at++)
		;
	assert_true(s.at > 10);
	s.at--;
	behind = run(what, on, flags, soft_count, &s);
	did_behind = did(&s);
	for (s.at = 0;; s.at++) {
		got = run(what, on, flags, soft_count, &s);
		if (!s.fired)
			break;
		if ((got != before || did(&s) != did_before) &&
		    (got != behind || did(&s) != did_behind))
			fail_msg("before instruction %u: flags %x%s; before all %x%s, behind all "
				 "%x%s",
				 (unsigned int)s.at, got, did(&s) ? " done" : "", before,
				 did_before ? " done" : "", behind, did_behind ? " done" : "");
	}
}

static void a_trigger_comes_before_or_behind(void **state)
{
	(void)state;
	file = event_file_get(&an_event, &global_trace);
	assert_non_null(file);
	/* echo 1 > enable, beside disable_event and enable_event */
	check(enable, 1, REGISTERED | SOFT_MODE, 1, 1);
	check(enable, 1, REGISTERED | SOFT_MODE | OFF, 1, 0);
	check(enable, 1, REGISTERED | SOFT_MODE | OFF | ENABLED, 1, 0);
	/* echo 0 > enable */
	check(enable, 0, REGISTERED | SOFT_MODE | ENABLED, 1, 1);
	check(enable, 0, REGISTERED | SOFT_MODE | ENABLED | OFF, 1, 0);
	/* the last trigger that may switch it goes: it stays as it was switched */
	check(soft, 0, REGISTERED | SOFT_MODE | ENABLED, 1, 1);
	check(soft, 0, REGISTERED | SOFT_MODE | OFF, 1, 0);
	/* the first one comes */
	check(soft, 1, REGISTERED | ENABLED, 0, 1);
	check(soft, 1, 0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trigger_comes_before_or_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
