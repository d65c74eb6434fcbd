/* SPDX-License-Identifier: MIT */
/*
 * timer:* are the timers of the process, with names, fields and print formats of the kernel (6.12), where the same
 * calls make the same events of its own timers:
 *
 *	hrtimer_init		timer_create(), timerfd_create(), and each sleep
 *	hrtimer_start		timer_settime(), timerfd_settime(), and each sleep
 *	hrtimer_cancel		one that was running is set anew, stopped or deleted; a sleep ends early
 *	hrtimer_expire_entry	a sleep is over
 *	itimer_state		setitimer(), alarm(), ualarm()
 *
 * `hrtimer` is the timer's id, the descriptor, or an address of the sleeping thread's stack; `function` the function of
 * libc that set it; `expires` is as the call has it, from then on where the mode is REL. When a timer expires the kernel alone knows: it is seen by its signal or its descriptor.
 * The kernel's wheel (timer_start and its kind) has no counterpart.
 *
 * A call is told behind what it did, a sleep before. Any context. fork: the child goes on.
 * Tests: tests/engine/events/timer.
 */
#include "engine/events/timer_event.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

#include "engine/base/compiler.h"
#include "engine/core/interpose.h"
#include "engine/events/own_event.h"

enum { MODE_ABS, MODE_REL };

struct init {
	struct own_record head;
	const void *hrtimer;
	int clockid;
	int mode;
};

struct start {
	struct own_record head;
	const void *hrtimer;
	const void *function;
	int64_t expires;
	int64_t softexpires;
	int mode;
	uint8_t was_armed;
	uint8_t unused[3];
};

struct cancel {
	struct own_record head;
	const void *hrtimer;
};

struct expire {
	struct own_record head;
	const void *hrtimer;
	int64_t now;
	const void *function;
};

struct itimer {
	struct own_record head;
	int which;
	int unused;
	unsigned long long expires;
	long value_sec;
	long value_nsec;
	long interval_sec;
	long interval_nsec;
};

static const struct vestige_event_field init_fields[] = {
	OWN_FIELD(struct init, hrtimer, "void *", 0),
	OWN_FIELD(struct init, clockid, "clockid_t", 1),
	OWN_FIELD(struct init, mode, "enum hrtimer_mode", 0),
	OWN_FIELDS_END,
};

static const struct vestige_event_field start_fields[] = {
	OWN_FIELD(struct start, hrtimer, "void *", 0),
	OWN_FIELD(struct start, function, "void *", 0),
	OWN_FIELD(struct start, expires, "s64", 1),
	OWN_FIELD(struct start, softexpires, "s64", 1),
	OWN_FIELD(struct start, mode, "enum hrtimer_mode", 0),
	OWN_FIELD(struct start, was_armed, "bool", 0),
	OWN_FIELDS_END,
};

static const struct vestige_event_field cancel_fields[] = {
	OWN_FIELD(struct cancel, hrtimer, "void *", 0),
	OWN_FIELDS_END,
};

static const struct vestige_event_field expire_fields[] = {
	OWN_FIELD(struct expire, hrtimer, "void *", 0),
	OWN_FIELD(struct expire, now, "s64", 1),
	OWN_FIELD(struct expire, function, "void *", 0),
	OWN_FIELDS_END,
};

static const struct vestige_event_field itimer_fields[] = {
	OWN_FIELD(struct itimer, which, "int", 1),
	OWN_FIELD(struct itimer, expires, "unsigned long long", 0),
	OWN_FIELD(struct itimer, value_sec, "long", 1),
	OWN_FIELD(struct itimer, value_nsec, "long", 1),
	OWN_FIELD(struct itimer, interval_sec, "long", 1),
	OWN_FIELD(struct itimer, interval_nsec, "long", 1),
	OWN_FIELDS_END,
};

/* The functions, in such an order that each event wants a range of them. */
enum {
	SETITIMER,
	ALARM,
	UALARM,
	TIMER_CREATE,
	TIMERFD_CREATE,
	NANOSLEEP,
	CLOCK_NANOSLEEP,
	THRD_SLEEP,
	USLEEP,
	SLEEP,
	TIMER_SETTIME,
	TIMERFD_SETTIME,
	TIMER_DELETE,
	NR_CALLS
};
static struct interposed calls[];

#define REAL(call, function) ((__typeof__(function) *)calls[call].real)

enum { INIT, START, CANCEL, EXPIRE, ITIMER };

static int timer_enable(struct own_event *e, int on);

#define CLOCK_NAMES                                                                                \
	"{ 0, \"CLOCK_REALTIME\" }, { 1, \"CLOCK_MONOTONIC\" }, { 7, \"CLOCK_BOOTTIME\" }, "       \
	"{ 11, \"CLOCK_TAI\" }"
#define MODE_NAMES "{ 0, \"ABS\" }, { 1, \"REL\" }"

static struct own_event timer_events[] = {
	[INIT] = {.system = "timer",
		  .name = "hrtimer_init",
		  .fields = init_fields,
		  .print_fmt = "\"hrtimer=%p clockid=%s mode=%s\", REC->hrtimer, "
			       "__print_symbolic(REC->clockid, " CLOCK_NAMES
			       "), __print_symbolic(REC->mode, " MODE_NAMES ")",
		  .enable = timer_enable},
	[START] = {.system = "timer",
		   .name = "hrtimer_start",
		   .fields = start_fields,
		   .print_fmt = "\"hrtimer=%p function=%ps expires=%llu softexpires=%llu mode=%s "
				"was_armed=%d\", REC->hrtimer, REC->function, (unsigned long "
				"long) REC->expires, (unsigned long long) REC->softexpires, "
				"__print_symbolic(REC->mode, " MODE_NAMES "), REC->was_armed",
		   .enable = timer_enable},
	[CANCEL] = {.system = "timer",
		    .name = "hrtimer_cancel",
		    .fields = cancel_fields,
		    .print_fmt = "\"hrtimer=%p\", REC->hrtimer",
		    .enable = timer_enable},
	[EXPIRE] = {.system = "timer",
		    .name = "hrtimer_expire_entry",
		    .fields = expire_fields,
		    .print_fmt = "\"hrtimer=%p function=%ps now=%llu\", REC->hrtimer, "
				 "REC->function, (unsigned long long) REC->now",
		    .enable = timer_enable},
	[ITIMER] = {.system = "timer",
		    .name = "itimer_state",
		    .fields = itimer_fields,
		    .print_fmt = "\"which=%d expires=%llu it_value=%ld.%06ld "
				 "it_interval=%ld.%06ld\", REC->which, REC->expires, "
				 "REC->value_sec, REC->value_nsec / 1000L, REC->interval_sec, "
				 "REC->interval_nsec / 1000L",
		    .enable = timer_enable},
};

static const struct {
	uint32_t first, end;
} wants[] = {
	[INIT] = {TIMER_CREATE, TIMER_SETTIME}, [START] = {NANOSLEEP, TIMER_DELETE},
	[CANCEL] = {NANOSLEEP, NR_CALLS},	[EXPIRE] = {NANOSLEEP, TIMER_SETTIME},
	[ITIMER] = {SETITIMER, TIMER_CREATE},
};

static int (*timer_gettime_now)(timer_t id, struct itimerspec *value);

static int is_on(uint32_t event)
{
	return own_event_is_on(&timer_events[event]) && !interpose_muted();
}

static int64_t ns_of(const struct timespec *t)
{
	return t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
}

/* By the vdso; a clock of CPU time would be a system call, and begins at 0. */
static int64_t now_of(clockid_t clock)
{
	struct timespec t;

	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME &&
	    clock != CLOCK_TAI)
		return 0;
	return clock_gettime(clock, &t) ? 0 : ns_of(&t);
}

static void note_init(const void *timer, clockid_t clock, int mode)
{
	struct init r = {.hrtimer = timer, .clockid = clock, .mode = mode};

	if (is_on(INIT))
		own_event_write(&timer_events[INIT], &r, sizeof(r));
}

static void note_start(uint32_t call, const void *timer, int64_t expires, int mode)
{
	struct start r = {.hrtimer = timer,
			  .function = calls[call].function->real,
			  .expires = expires,
			  .softexpires = expires,
			  .mode = mode};

	if (is_on(START))
		own_event_write(&timer_events[START], &r, sizeof(r));
}

static void note_cancel(const void *timer)
{
	struct cancel r = {.hrtimer = timer};

	if (is_on(CANCEL))
		own_event_write(&timer_events[CANCEL], &r, sizeof(r));
}

static int runs(const struct itimerspec *t)
{
	return t->it_value.tv_sec || t->it_value.tv_nsec;
}

/* Behind a call that set a timer, which was @had before. */
static void note_settime(uint32_t call, const void *timer, int mode, const struct itimerspec *value,
			 const struct itimerspec *had)
{
	if (runs(had))
		note_cancel(timer);
	if (runs(value))
		note_start(call, timer, ns_of(&value->it_value), mode);
}

static int wrap_timer_create(clockid_t clock, struct sigevent *event, timer_t *id)
{
	int ret = REAL(TIMER_CREATE, timer_create)(clock, event, id);

	if (!ret)
		note_init(*id, clock, MODE_ABS);
	return ret;
}

static int wrap_timerfd_create(int clock, int flags)
{
	int fd = REAL(TIMERFD_CREATE, timerfd_create)(clock, flags);

	if (fd >= 0)
		note_init((const void *)(intptr_t)fd, clock, MODE_ABS);
	return fd;
}

static int wrap_timer_settime(timer_t id, int flags, const struct itimerspec *value,
			      struct itimerspec *old)
{
	struct itimerspec had = {{0, 0}, {0, 0}};
	int ret = REAL(TIMER_SETTIME, timer_settime)(id, flags, value, old ? old : &had);

	if (!ret)
		note_settime(TIMER_SETTIME, id, flags & TIMER_ABSTIME ? MODE_ABS : MODE_REL, value,
			     old ? old : &had);
	return ret;
}

static int wrap_timerfd_settime(int fd, int flags, const struct itimerspec *value,
				struct itimerspec *old)
{
	struct itimerspec had = {{0, 0}, {0, 0}};
	int ret = REAL(TIMERFD_SETTIME, timerfd_settime)(fd, flags, value, old ? old : &had);

	if (!ret)
		note_settime(TIMERFD_SETTIME, (const void *)(intptr_t)fd,
			     flags & TFD_TIMER_ABSTIME ? MODE_ABS : MODE_REL, value,
			     old ? old : &had);
	return ret;
}

static int wrap_timer_delete(timer_t id)
{
	struct itimerspec had = {{0, 0}, {0, 0}};
	int was = errno, ret;

	if (is_on(CANCEL) && timer_gettime_now && timer_gettime_now(id, &had))
		errno = was;
	ret = REAL(TIMER_DELETE, timer_delete)(id);
	if (!ret && runs(&had))
		note_cancel(id);
	return ret;
}

/* A sleep: the timer that the kernel has for it lasts as long as the call. */
static void sleep_begins(uint32_t call, const void *timer, clockid_t clock, int mode,
			 int64_t expires)
{
	note_init(timer, clock, mode);
	note_start(call, timer, expires, mode);
}

static void sleep_ends(uint32_t call, const void *timer, clockid_t clock, int early)
{
	struct expire r = {.hrtimer = timer, .function = calls[call].function->real};

	if (early) {
		note_cancel(timer);
	} else if (is_on(EXPIRE)) {
		r.now = now_of(clock);
		own_event_write(&timer_events[EXPIRE], &r, sizeof(r));
	}
}

static int wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	int ret;

	sleep_begins(NANOSLEEP, &ret, CLOCK_MONOTONIC, MODE_REL, ns_of(t));
	ret = REAL(NANOSLEEP, nanosleep)(t, left);
	sleep_ends(NANOSLEEP, &ret, CLOCK_MONOTONIC, ret != 0);
	return ret;
}

static int wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
				struct timespec *left)
{
	int ret;

	sleep_begins(CLOCK_NANOSLEEP, &ret, clock, flags & TIMER_ABSTIME ? MODE_ABS : MODE_REL,
		     ns_of(t));
	ret = REAL(CLOCK_NANOSLEEP, clock_nanosleep)(clock, flags, t, left);
	sleep_ends(CLOCK_NANOSLEEP, &ret, clock, ret != 0);
	return ret;
}

static int wrap_thrd_sleep(const struct timespec *t, struct timespec *left)
{
	int ret;

	sleep_begins(THRD_SLEEP, &ret, CLOCK_MONOTONIC, MODE_REL, ns_of(t));
	ret = ((int (*)(const struct timespec *, struct timespec *))calls[THRD_SLEEP].real)(t,
											    left);
	sleep_ends(THRD_SLEEP, &ret, CLOCK_MONOTONIC, ret != 0);
	return ret;
}

static int wrap_usleep(useconds_t us)
{
	int ret;

	sleep_begins(USLEEP, &ret, CLOCK_MONOTONIC, MODE_REL, us * INT64_C(1000));
	ret = REAL(USLEEP, usleep)(us);
	sleep_ends(USLEEP, &ret, CLOCK_MONOTONIC, ret != 0);
	return ret;
}

static unsigned int wrap_sleep(unsigned int s)
{
	unsigned int left;

	sleep_begins(SLEEP, &left, CLOCK_MONOTONIC, MODE_REL, s * INT64_C(1000000000));
	left = REAL(SLEEP, sleep)(s);
	sleep_ends(SLEEP, &left, CLOCK_MONOTONIC, left != 0);
	return left;
}

/* @expires: 0 of ITIMER_REAL, as in the kernel. */
static void note_itimer(int which, const struct itimerval *value)
{
	struct itimer r = {.which = which,
			   .value_sec = value->it_value.tv_sec,
			   .value_nsec = value->it_value.tv_usec * 1000,
			   .interval_sec = value->it_interval.tv_sec,
			   .interval_nsec = value->it_interval.tv_usec * 1000};

	if (!is_on(ITIMER))
		return;
	if (which != ITIMER_REAL)
		r.expires = (unsigned long long)r.value_sec * 1000000000 +
			    (unsigned long long)r.value_nsec;
	own_event_write(&timer_events[ITIMER], &r, sizeof(r));
}

static int wrap_setitimer(__itimer_which_t which, const struct itimerval *value,
			  struct itimerval *old)
{
	static const struct itimerval none;
	int ret = REAL(SETITIMER, setitimer)(which, value, old);

	if (!ret)
		note_itimer((int)which, value ? value : &none);
	return ret;
}

static unsigned int wrap_alarm(unsigned int s)
{
	const struct itimerval value = {.it_value = {.tv_sec = s}};
	unsigned int ret = REAL(ALARM, alarm)(s);

	note_itimer(ITIMER_REAL, &value);
	return ret;
}

static useconds_t wrap_ualarm(useconds_t us, useconds_t interval)
{
	const struct itimerval value = {.it_value = {us / 1000000, us % 1000000},
					.it_interval = {interval / 1000000, interval % 1000000}};
	useconds_t ret = REAL(UALARM, ualarm)(us, interval);

	if (ret != (useconds_t)-1)
		note_itimer(ITIMER_REAL, &value);
	return ret;
}

static struct interposed calls[NR_CALLS] = {
	[SETITIMER] = {.name = "setitimer", .wrapper = wrap_setitimer},
	[ALARM] = {.name = "alarm", .wrapper = wrap_alarm},
	[UALARM] = {.name = "ualarm", .wrapper = wrap_ualarm},
	[TIMER_CREATE] = {.name = "timer_create", .wrapper = wrap_timer_create},
	[TIMERFD_CREATE] = {.name = "timerfd_create", .wrapper = wrap_timerfd_create},
	[NANOSLEEP] = {.name = "nanosleep", .wrapper = wrap_nanosleep},
	[CLOCK_NANOSLEEP] = {.name = "clock_nanosleep", .wrapper = wrap_clock_nanosleep},
	[THRD_SLEEP] = {.name = "thrd_sleep", .wrapper = wrap_thrd_sleep},
	[USLEEP] = {.name = "usleep", .wrapper = wrap_usleep},
	[SLEEP] = {.name = "sleep", .wrapper = wrap_sleep},
	[TIMER_SETTIME] = {.name = "timer_settime", .wrapper = wrap_timer_settime},
	[TIMERFD_SETTIME] = {.name = "timerfd_settime", .wrapper = wrap_timerfd_settime},
	[TIMER_DELETE] = {.name = "timer_delete", .wrapper = wrap_timer_delete},
};

static int timer_enable(struct own_event *e, int on)
{
	uint32_t event = (uint32_t)(e - timer_events);
	uint32_t first = wants[event].first, n = wants[event].end - first;
	int err = interpose_switch(&calls[first], n, on);

	if (on && !err && event == CANCEL && calls[TIMER_DELETE].function->real)
		timer_gettime_now = (int (*)(timer_t, struct itimerspec *))interpose_beside(
			calls[TIMER_DELETE].function->real, "timer_gettime");
	return err;
}

int timer_events_start(void)
{
	return interpose_possible() ? own_events_add(timer_events, ARRAY_SIZE(timer_events)) : 0;
}
