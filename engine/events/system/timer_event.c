/* SPDX-License-Identifier: MIT */
/*
 * timer:* are the timers of the process (sources/timer.h), with the names, fields and print formats
 * of the kernel (6.12), in which the same calls make the same events of the kernel's own timers.
 *
 * `hrtimer` is the timer's id, its descriptor, or an address on the sleeping thread's stack.
 * `function` is libc's function that set it. `expires` is as in the call; it counts from that time
 * if the mode is REL. The kernel's timer wheel (timer_start and its kind) has no counterpart.
 *
 * Any context. fork: the child goes on. Tests: tests/engine/events/timer.
 */
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/events/builtin_event.h"
#include "engine/sources/timer.h"

struct init {
	struct builtin_record head;
	const void *hrtimer;
	int clockid;
	int mode;
};

struct start {
	struct builtin_record head;
	const void *hrtimer;
	const void *function;
	int64_t expires;
	int64_t softexpires;
	int mode;
	uint8_t was_armed;
	uint8_t unused[3];
};

struct cancel {
	struct builtin_record head;
	const void *hrtimer;
};

struct expire {
	struct builtin_record head;
	const void *hrtimer;
	int64_t now;
	const void *function;
};

struct itimer {
	struct builtin_record head;
	int which;
	int unused;
	unsigned long long expires;
	long value_sec;
	long value_nsec;
	long interval_sec;
	long interval_nsec;
};

static const struct vestige_event_field init_fields[] = {
	BUILTIN_FIELD(struct init, hrtimer, "void *", 0),
	BUILTIN_FIELD(struct init, clockid, "clockid_t", 1),
	BUILTIN_FIELD(struct init, mode, "enum hrtimer_mode", 0),
	BUILTIN_FIELDS_END,
};

static const struct vestige_event_field start_fields[] = {
	BUILTIN_FIELD(struct start, hrtimer, "void *", 0),
	BUILTIN_FIELD(struct start, function, "void *", 0),
	BUILTIN_FIELD(struct start, expires, "s64", 1),
	BUILTIN_FIELD(struct start, softexpires, "s64", 1),
	BUILTIN_FIELD(struct start, mode, "enum hrtimer_mode", 0),
	BUILTIN_FIELD(struct start, was_armed, "bool", 0),
	BUILTIN_FIELDS_END,
};

static const struct vestige_event_field cancel_fields[] = {
	BUILTIN_FIELD(struct cancel, hrtimer, "void *", 0),
	BUILTIN_FIELDS_END,
};

static const struct vestige_event_field expire_fields[] = {
	BUILTIN_FIELD(struct expire, hrtimer, "void *", 0),
	BUILTIN_FIELD(struct expire, now, "s64", 1),
	BUILTIN_FIELD(struct expire, function, "void *", 0),
	BUILTIN_FIELDS_END,
};

static const struct vestige_event_field itimer_fields[] = {
	BUILTIN_FIELD(struct itimer, which, "int", 1),
	BUILTIN_FIELD(struct itimer, expires, "unsigned long long", 0),
	BUILTIN_FIELD(struct itimer, value_sec, "long", 1),
	BUILTIN_FIELD(struct itimer, value_nsec, "long", 1),
	BUILTIN_FIELD(struct itimer, interval_sec, "long", 1),
	BUILTIN_FIELD(struct itimer, interval_nsec, "long", 1),
	BUILTIN_FIELDS_END,
};

static int timer_enable(struct builtin_event *e, int on);

#define CLOCK_NAMES                                                                                \
	"{ 0, \"CLOCK_REALTIME\" }, { 1, \"CLOCK_MONOTONIC\" }, { 7, \"CLOCK_BOOTTIME\" }, "       \
	"{ 11, \"CLOCK_TAI\" }"
#define MODE_NAMES "{ 0, \"ABS\" }, { 1, \"REL\" }"

static struct builtin_event timer_events[] = {
	[TIMER_INIT] = {.system = "timer",
			.name = "hrtimer_init",
			.fields = init_fields,
			.print_fmt = "\"hrtimer=%p clockid=%s mode=%s\", REC->hrtimer, "
				     "__print_symbolic(REC->clockid, " CLOCK_NAMES
				     "), __print_symbolic(REC->mode, " MODE_NAMES ")",
			.enable = timer_enable},
	[TIMER_START] = {.system = "timer",
			 .name = "hrtimer_start",
			 .fields = start_fields,
			 .print_fmt =
				 "\"hrtimer=%p function=%ps expires=%llu softexpires=%llu mode=%s "
				 "was_armed=%d\", REC->hrtimer, REC->function, (unsigned long "
				 "long) REC->expires, (unsigned long long) REC->softexpires, "
				 "__print_symbolic(REC->mode, " MODE_NAMES "), REC->was_armed",
			 .enable = timer_enable},
	[TIMER_CANCEL] = {.system = "timer",
			  .name = "hrtimer_cancel",
			  .fields = cancel_fields,
			  .print_fmt = "\"hrtimer=%p\", REC->hrtimer",
			  .enable = timer_enable},
	[TIMER_EXPIRE] = {.system = "timer",
			  .name = "hrtimer_expire_entry",
			  .fields = expire_fields,
			  .print_fmt = "\"hrtimer=%p function=%ps now=%llu\", REC->hrtimer, "
				       "REC->function, (unsigned long long) REC->now",
			  .enable = timer_enable},
	[TIMER_ITIMER] = {.system = "timer",
			  .name = "itimer_state",
			  .fields = itimer_fields,
			  .print_fmt =
				  "\"which=%d expires=%llu it_value=%ld.%06ld "
				  "it_interval=%ld.%06ld\", REC->which, REC->expires, "
				  "REC->value_sec, REC->value_nsec / 1000L, REC->interval_sec, "
				  "REC->interval_nsec / 1000L",
			  .enable = timer_enable},
};

static void note_init(const struct timer_call *c)
{
	struct init r = {.hrtimer = c->timer, .clockid = c->clock, .mode = c->mode};

	builtin_event_write(&timer_events[TIMER_INIT], &r, sizeof(r));
}

static void note_start(const struct timer_call *c)
{
	struct start r = {.hrtimer = c->timer,
			  .function = c->function,
			  .expires = c->ns,
			  .softexpires = c->ns,
			  .mode = c->mode};

	builtin_event_write(&timer_events[TIMER_START], &r, sizeof(r));
}

static void note_cancel(const struct timer_call *c)
{
	struct cancel r = {.hrtimer = c->timer};

	builtin_event_write(&timer_events[TIMER_CANCEL], &r, sizeof(r));
}

static void note_expire(const struct timer_call *c)
{
	struct expire r = {.hrtimer = c->timer, .function = c->function, .now = c->ns};

	builtin_event_write(&timer_events[TIMER_EXPIRE], &r, sizeof(r));
}

/* expires is 0 for ITIMER_REAL, as in the kernel. */
static void note_itimer(const struct timer_call *c)
{
	const struct itimerval *value = c->value;
	struct itimer r = {.which = c->which,
			   .value_sec = value->it_value.tv_sec,
			   .value_nsec = value->it_value.tv_usec * 1000,
			   .interval_sec = value->it_interval.tv_sec,
			   .interval_nsec = value->it_interval.tv_usec * 1000};

	if (c->which != ITIMER_REAL)
		r.expires = (unsigned long long)r.value_sec * 1000000000 +
			    (unsigned long long)r.value_nsec;
	builtin_event_write(&timer_events[TIMER_ITIMER], &r, sizeof(r));
}

static struct timer_listener listeners[TIMER_NR] = {
	[TIMER_INIT] = {.call = note_init},	[TIMER_START] = {.call = note_start},
	[TIMER_CANCEL] = {.call = note_cancel}, [TIMER_EXPIRE] = {.call = note_expire},
	[TIMER_ITIMER] = {.call = note_itimer},
};

static int timer_enable(struct builtin_event *e, int on)
{
	uint32_t id = (uint32_t)(e - timer_events);

	return source_switch(&timer_sources[id], &listeners[id].link, on);
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	if (interpose_possible())
		builtin_events_add(timer_events, ARRAY_SIZE(timer_events));
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
