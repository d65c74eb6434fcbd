/* SPDX-License-Identifier: MIT */
/*
 * See timer.h. A call is reported after it returns, a sleep before it begins. Any context. fork:
 * the child goes on. Tests: tests/engine/events/timer.
 */
#include "engine/sources/timer.h"

#include <errno.h>
#include <signal.h>
#include <sys/timerfd.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/core/interpose.h"

/* The functions, in an order in which each source needs one range of them. */
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

#define REAL(call, function) INTERPOSE_REAL(calls[call], function)

static int want(struct source *s, int on);

struct source timer_sources[TIMER_NR] = {
	[TIMER_INIT] = {.want = want},	 [TIMER_START] = {.want = want},
	[TIMER_CANCEL] = {.want = want}, [TIMER_EXPIRE] = {.want = want},
	[TIMER_ITIMER] = {.want = want},
};

static const struct {
	uint32_t first, end;
} wants[TIMER_NR] = {
	[TIMER_INIT] = {TIMER_CREATE, TIMER_SETTIME}, [TIMER_START] = {NANOSLEEP, TIMER_DELETE},
	[TIMER_CANCEL] = {NANOSLEEP, NR_CALLS},	      [TIMER_EXPIRE] = {NANOSLEEP, TIMER_SETTIME},
	[TIMER_ITIMER] = {SETITIMER, TIMER_CREATE},
};

static int (*timer_gettime_now)(timer_t id, struct itimerspec *value);

static int64_t ns_of(const struct timespec *t)
{
	return t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
}

/* The time of a clock that the vDSO can read; for others, which would need a system call, 0. */
static int64_t now_of(clockid_t clock)
{
	struct timespec t;

	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME &&
	    clock != CLOCK_TAI)
		return 0;
	return sys_clock(clock, &t) ? 0 : ns_of(&t);
}

static void notify(enum timer_source_id id, const struct timer_call *c)
{
	SOURCE_NOTIFY(struct timer_listener, source_heard(&timer_sources[id]), c);
}

static void note_init(const void *timer, clockid_t clock, int mode)
{
	notify(TIMER_INIT, &(struct timer_call){.timer = timer, .clock = clock, .mode = mode});
}

static void note_start(uint32_t call, const void *timer, int64_t expires, int mode)
{
	notify(TIMER_START, &(struct timer_call){.timer = timer,
						 .function = calls[call].function->real,
						 .ns = expires,
						 .mode = mode});
}

static void note_cancel(const void *timer)
{
	notify(TIMER_CANCEL, &(struct timer_call){.timer = timer});
}

static int runs(const struct itimerspec *t)
{
	return t->it_value.tv_sec || t->it_value.tv_nsec;
}

/* After a call that set a timer. @had: the timer's setting before. */
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
		note_init(*id, clock, TIMER_ABS);
	return ret;
}

static int wrap_timerfd_create(int clock, int flags)
{
	int fd = REAL(TIMERFD_CREATE, timerfd_create)(clock, flags);

	if (fd >= 0)
		note_init((const void *)(intptr_t)fd, clock, TIMER_ABS);
	return fd;
}

static int wrap_timer_settime(timer_t id, int flags, const struct itimerspec *value,
			      struct itimerspec *old)
{
	struct itimerspec had = {{0, 0}, {0, 0}};
	int ret = REAL(TIMER_SETTIME, timer_settime)(id, flags, value, old ? old : &had);

	if (!ret)
		note_settime(TIMER_SETTIME, id, flags & TIMER_ABSTIME ? TIMER_ABS : TIMER_REL,
			     value, old ? old : &had);
	return ret;
}

static int wrap_timerfd_settime(int fd, int flags, const struct itimerspec *value,
				struct itimerspec *old)
{
	struct itimerspec had = {{0, 0}, {0, 0}};
	int ret = REAL(TIMERFD_SETTIME, timerfd_settime)(fd, flags, value, old ? old : &had);

	if (!ret)
		note_settime(TIMERFD_SETTIME, (const void *)(intptr_t)fd,
			     flags & TFD_TIMER_ABSTIME ? TIMER_ABS : TIMER_REL, value,
			     old ? old : &had);
	return ret;
}

static int wrap_timer_delete(timer_t id)
{
	struct itimerspec had = {{0, 0}, {0, 0}};
	int was = errno, ret;

	if (source_heard(&timer_sources[TIMER_CANCEL]) && timer_gettime_now &&
	    timer_gettime_now(id, &had))
		errno = was;
	ret = REAL(TIMER_DELETE, timer_delete)(id);
	if (!ret && runs(&had))
		note_cancel(id);
	return ret;
}

/* A sleep begins: the kernel has a timer for it as long as the call lasts. */
static void sleep_begins(uint32_t call, const void *timer, clockid_t clock, int mode,
			 int64_t expires)
{
	note_init(timer, clock, mode);
	note_start(call, timer, expires, mode);
}

static void sleep_ends(uint32_t call, const void *timer, clockid_t clock, int early)
{
	if (early)
		note_cancel(timer);
	else if (source_heard(&timer_sources[TIMER_EXPIRE]))
		notify(TIMER_EXPIRE, &(struct timer_call){.timer = timer,
							  .function = calls[call].function->real,
							  .ns = now_of(clock)});
}

static int wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	int ret;

	sleep_begins(NANOSLEEP, &ret, CLOCK_MONOTONIC, TIMER_REL, ns_of(t));
	ret = REAL(NANOSLEEP, nanosleep)(t, left);
	sleep_ends(NANOSLEEP, &ret, CLOCK_MONOTONIC, ret != 0);
	return ret;
}

static int wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
				struct timespec *left)
{
	int ret;

	sleep_begins(CLOCK_NANOSLEEP, &ret, clock, flags & TIMER_ABSTIME ? TIMER_ABS : TIMER_REL,
		     ns_of(t));
	ret = REAL(CLOCK_NANOSLEEP, clock_nanosleep)(clock, flags, t, left);
	sleep_ends(CLOCK_NANOSLEEP, &ret, clock, ret != 0);
	return ret;
}

static int wrap_thrd_sleep(const struct timespec *t, struct timespec *left)
{
	int ret;

	sleep_begins(THRD_SLEEP, &ret, CLOCK_MONOTONIC, TIMER_REL, ns_of(t));
	ret = ((int (*)(const struct timespec *, struct timespec *))calls[THRD_SLEEP].real)(t,
											    left);
	sleep_ends(THRD_SLEEP, &ret, CLOCK_MONOTONIC, ret != 0);
	return ret;
}

static int wrap_usleep(useconds_t us)
{
	int ret;

	sleep_begins(USLEEP, &ret, CLOCK_MONOTONIC, TIMER_REL, us * INT64_C(1000));
	ret = REAL(USLEEP, usleep)(us);
	sleep_ends(USLEEP, &ret, CLOCK_MONOTONIC, ret != 0);
	return ret;
}

static unsigned int wrap_sleep(unsigned int s)
{
	unsigned int left;

	sleep_begins(SLEEP, &left, CLOCK_MONOTONIC, TIMER_REL, s * INT64_C(1000000000));
	left = REAL(SLEEP, sleep)(s);
	sleep_ends(SLEEP, &left, CLOCK_MONOTONIC, left != 0);
	return left;
}

static void note_itimer(int which, const struct itimerval *value)
{
	notify(TIMER_ITIMER, &(struct timer_call){.which = which, .value = value});
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
	INTERPOSED(SETITIMER, "setitimer", wrap_setitimer),
	INTERPOSED(ALARM, "alarm", wrap_alarm),
	INTERPOSED(UALARM, "ualarm", wrap_ualarm),
	INTERPOSED(TIMER_CREATE, "timer_create", wrap_timer_create),
	INTERPOSED(TIMERFD_CREATE, "timerfd_create", wrap_timerfd_create),
	INTERPOSED(NANOSLEEP, "nanosleep", wrap_nanosleep),
	INTERPOSED(CLOCK_NANOSLEEP, "clock_nanosleep", wrap_clock_nanosleep),
	INTERPOSED(THRD_SLEEP, "thrd_sleep", wrap_thrd_sleep),
	INTERPOSED(USLEEP, "usleep", wrap_usleep),
	INTERPOSED(SLEEP, "sleep", wrap_sleep),
	INTERPOSED(TIMER_SETTIME, "timer_settime", wrap_timer_settime),
	INTERPOSED(TIMERFD_SETTIME, "timerfd_settime", wrap_timerfd_settime),
	INTERPOSED(TIMER_DELETE, "timer_delete", wrap_timer_delete),
};

static int want(struct source *s, int on)
{
	uint32_t id = (uint32_t)(s - timer_sources);
	uint32_t first = wants[id].first, n = wants[id].end - first;
	int err = interpose_switch(&calls[first], n, on);

	if (on && !err && id == TIMER_CANCEL && calls[TIMER_DELETE].function->real)
		timer_gettime_now = (int (*)(timer_t, struct itimerspec *))interpose_beside(
			calls[TIMER_DELETE].function->real, "timer_gettime");
	return err;
}
