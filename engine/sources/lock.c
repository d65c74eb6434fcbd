/* SPDX-License-Identifier: MIT */
/*
 * See lock.h. While there is a listener to contentions, the lock's own trylock is called first, and
 * the function that waits is called only if trylock fails. Both return the same for all kinds of
 * locks (recursive, error checking, robust, priority inheriting), but an error checking lock is
 * reported as contended before its EDEADLK. pthread_cond_wait() is reported as a release and then
 * an acquisition of the mutex; the condition is no lock. Cancellation leaves a contention without
 * an end. The last thread at a barrier is reported like the others, although it does not wait.
 *
 * Any context. fork: the child goes on. Costs: bench "lock". Tests: tests/engine/events/lock.
 */
#include "engine/sources/lock.h"

#include <errno.h>
#include <threads.h>

#include "engine/base/compiler.h"
#include "engine/core/interpose.h"

/*
 * The functions, in an order in which each source needs one range of them: functions that wait for
 * an object without a holder; that wait for a lock; that release a lock and take it again; that do
 * not wait; that release; that initialise; that destroy.
 */
enum {
	BARRIER_WAIT,
	ONCE,
	CALL_ONCE,
	SEM_WAIT,
	SEM_TIMEDWAIT,
	SEM_CLOCKWAIT,
	MUTEX_LOCK,
	MUTEX_TIMEDLOCK,
	MUTEX_CLOCKLOCK,
	RDLOCK,
	TIMEDRDLOCK,
	CLOCKRDLOCK,
	WRLOCK,
	TIMEDWRLOCK,
	CLOCKWRLOCK,
	SPIN_LOCK,
	MTX_LOCK,
	MTX_TIMEDLOCK,
	COND_WAIT,
	COND_TIMEDWAIT,
	COND_CLOCKWAIT,
	CND_WAIT,
	CND_TIMEDWAIT,
	MUTEX_TRYLOCK,
	TRYRDLOCK,
	TRYWRLOCK,
	SPIN_TRYLOCK,
	MTX_TRYLOCK,
	MUTEX_UNLOCK,
	RW_UNLOCK,
	SPIN_UNLOCK,
	MTX_UNLOCK,
	MUTEX_INIT,
	RW_INIT,
	SPIN_INIT,
	MTX_INIT,
	MUTEX_DESTROY,
	RW_DESTROY,
	SPIN_DESTROY,
	MTX_DESTROY,
	NR_CALLS,
};

static int want(struct source *s, int on);

struct source lock_sources[LOCK_NR] = {
	[LOCK_ACQUIRE] = {.want = want},   [LOCK_ACQUIRED] = {.want = want},
	[LOCK_CONTENDED] = {.want = want}, [LOCK_RELEASE] = {.want = want},
	[LOCK_RELEASED] = {.want = want},  [LOCK_BEGIN] = {.want = want},
	[LOCK_END] = {.want = want},	   [LOCK_INIT] = {.want = want},
	[LOCK_DESTROY] = {.want = want},
};

static const struct {
	uint32_t first, end;
} wants[LOCK_NR] = {
	[LOCK_ACQUIRE] = {MUTEX_LOCK, MUTEX_UNLOCK}, [LOCK_ACQUIRED] = {MUTEX_LOCK, MUTEX_TRYLOCK},
	[LOCK_CONTENDED] = {MUTEX_LOCK, COND_WAIT},  [LOCK_RELEASE] = {MUTEX_LOCK, MUTEX_INIT},
	[LOCK_RELEASED] = {COND_WAIT, MUTEX_INIT},   [LOCK_BEGIN] = {BARRIER_WAIT, COND_WAIT},
	[LOCK_END] = {BARRIER_WAIT, COND_WAIT},	     [LOCK_INIT] = {MUTEX_INIT, MUTEX_DESTROY},
	[LOCK_DESTROY] = {MUTEX_DESTROY, NR_CALLS},
};

/* What all locks of a sort have in common. */
struct sort {
	enum lock_sort is;
	int busy; /* result of its trylock if the lock is taken */
	const char *trylock_name;
	int (*trylock)(void *lock); /* NULL: there is none, or it is not known yet */
};

enum { MUTEX, READER, WRITER, SPIN, MTX, SEM, BARRIER, IS_ONCE };

static struct sort sorts[] = {
	[MUTEX] = {LOCK_IS_MUTEX, EBUSY, "pthread_mutex_trylock", NULL},
	[READER] = {LOCK_IS_READER, EBUSY, "pthread_rwlock_tryrdlock", NULL},
	[WRITER] = {LOCK_IS_WRITER, EBUSY, "pthread_rwlock_trywrlock", NULL},
	[SPIN] = {LOCK_IS_SPIN, EBUSY, "pthread_spin_trylock", NULL},
	[MTX] = {LOCK_IS_MTX, thrd_busy, "mtx_trylock", NULL},
	[SEM] = {LOCK_IS_SEM, 0, NULL, NULL},
	[BARRIER] = {LOCK_IS_BARRIER, 0, NULL, NULL},
	[IS_ONCE] = {LOCK_IS_ONCE, 0, NULL, NULL},
};

static int (*sem_trywait_now)(void *sem);
static void (*testcancel)(void);

/*
 * The arguments that all of them fit: a lock, or a condition and a mutex, and up to three more
 * words.
 */
typedef int lock_fn(void *lock, long a, long b, long c);
static struct interposed calls[];

static inline int is_timed(uint32_t call)
{
	return call == MUTEX_TIMEDLOCK || call == MUTEX_CLOCKLOCK || call == TIMEDRDLOCK ||
	       call == CLOCKRDLOCK || call == TIMEDWRLOCK || call == CLOCKWRLOCK ||
	       call == MTX_TIMEDLOCK;
}

static inline void notify(enum lock_source_id id, const struct sort *s, uint32_t call,
			  const void *lock, uint64_t site, int try, int err)
{
	const struct source_link *first = source_heard(&lock_sources[id]);
	struct lock_call c;

	if (!first)
		return;
	c = (struct lock_call){.id = id,
			       .sort = s->is,
			       .lock = lock,
			       .site = site,
			       .function = (uint64_t)calls[call].function->real,
			       .try = try,
			       .timed = is_timed(call),
			       .err = err};
	SOURCE_NOTIFY(struct lock_listener, first, &c);
}

static int contention_wanted(void)
{
	return source_heard(&lock_sources[LOCK_BEGIN]) || source_heard(&lock_sources[LOCK_END]) ||
	       source_heard(&lock_sources[LOCK_CONTENDED]);
}

static int go_on(uint32_t call, void *lock, long a, long b, long c)
{
	return ((lock_fn *)calls[call].real)(lock, a, b, c);
}

static int wait_for(const struct sort *s, uint32_t call, void *lock, long a, long b, uint64_t site)
{
	int (*trylock)(void *) = load_relaxed(&s->trylock);
	int err;

	if (!trylock || !contention_wanted())
		return go_on(call, lock, a, b, 0);
	err = trylock(lock);
	if (err != s->busy)
		return err;
	notify(LOCK_CONTENDED, s, call, lock, site, 0, 0);
	notify(LOCK_BEGIN, s, call, lock, site, 0, 0);
	err = go_on(call, lock, a, b, 0);
	notify(LOCK_END, s, call, lock, site, 0, err);
	return err;
}

/* Whether the call took the lock: also a robust mutex whose owner died. */
static int is_taken(int err)
{
	return !err || err == EOWNERDEAD;
}

static int take(const struct sort *s, uint32_t call, void *lock, long a, long b, uint64_t site)
{
	int err;

	notify(LOCK_ACQUIRE, s, call, lock, site, 0, 0);
	err = wait_for(s, call, lock, a, b, site);
	notify(is_taken(err) ? LOCK_ACQUIRED : LOCK_RELEASE, s, call, lock, site, 0, err);
	return err;
}

static int try_to_take(const struct sort *s, uint32_t call, void *lock, uint64_t site)
{
	int err = go_on(call, lock, 0, 0, 0);

	if (is_taken(err))
		notify(LOCK_ACQUIRE, s, call, lock, site, 1, err);
	return err;
}

static int give(const struct sort *s, uint32_t call, void *lock, uint64_t site)
{
	int err;

	notify(LOCK_RELEASE, s, call, lock, site, 0, 0);
	err = go_on(call, lock, 0, 0, 0);
	notify(LOCK_RELEASED, s, call, lock, site, 0, err);
	return err;
}

static int wait_on(const struct sort *s, uint32_t call, void *cond, long lock, long b, long c,
		   uint64_t site)
{
	int err;

	notify(LOCK_RELEASE, s, call, (void *)lock, site, 0, 0);
	notify(LOCK_RELEASED, s, call, (void *)lock, site, 0, 0);
	err = go_on(call, cond, lock, b, c);
	notify(LOCK_ACQUIRE, s, call, (void *)lock, site, 0, 0);
	notify(LOCK_ACQUIRED, s, call, (void *)lock, site, 0, err);
	return err;
}

static int make(const struct sort *s, uint32_t call, void *lock, long a, uint64_t site)
{
	int err = go_on(call, lock, a, 0, 0);

	if (!err)
		notify(LOCK_INIT, s, call, lock, site, 0, 0);
	return err;
}

static int end(const struct sort *s, uint32_t call, void *lock, uint64_t site)
{
	notify(LOCK_DESTROY, s, call, lock, site, 0, 0);
	return go_on(call, lock, 0, 0, 0);
}

/*
 * Semaphore functions report errors in errno and leave it unchanged on success. A cancelled thread
 * ends in them even if it need not wait.
 */
static int wait_sem(uint32_t call, void *sem, long a, long b, uint64_t site)
{
	int had = errno, ret;

	if (!sem_trywait_now || !testcancel || !contention_wanted())
		return go_on(call, sem, a, b, 0);
	testcancel();
	if (!sem_trywait_now(sem))
		return 0;
	errno = had;
	notify(LOCK_BEGIN, &sorts[SEM], call, sem, site, 0, 0);
	ret = go_on(call, sem, a, b, 0);
	notify(LOCK_END, &sorts[SEM], call, sem, site, 0, ret ? errno : 0);
	return ret;
}

static int wait_at(uint32_t call, void *barrier, uint64_t site)
{
	int ret;

	notify(LOCK_BEGIN, &sorts[BARRIER], call, barrier, site, 0, 0);
	ret = go_on(call, barrier, 0, 0, 0);
	/* one of the threads gets PTHREAD_BARRIER_SERIAL_THREAD */
	notify(LOCK_END, &sorts[BARRIER], call, barrier, site, 0, ret > 0 ? ret : 0);
	return ret;
}

/* Whether a thread is in the function: pthread_once_t or once_flag, of glibc or musl. */
static int once_is_busy(const void *once)
{
	return load_acquire((const int *)once) & 1;
}

static int wait_once(uint32_t call, void *once, long fn, uint64_t site)
{
	int ret;

	if (!once_is_busy(once))
		return go_on(call, once, fn, 0, 0);
	notify(LOCK_BEGIN, &sorts[IS_ONCE], call, once, site, 0, 0);
	ret = go_on(call, once, fn, 0, 0);
	notify(LOCK_END, &sorts[IS_ONCE], call, once, site, 0, 0);
	return ret;
}

#define SITE() INTERPOSE_CALLER()

#define TAKES(sort, call)                                                                          \
	static int wrap_##call(void *lock, long a, long b)                                         \
	{                                                                                          \
		return take(&sorts[sort], call, lock, a, b, SITE());                               \
	}
#define TRIES(sort, call)                                                                          \
	static int wrap_##call(void *lock)                                                         \
	{                                                                                          \
		return try_to_take(&sorts[sort], call, lock, SITE());                              \
	}
#define GIVES(sort, call)                                                                          \
	static int wrap_##call(void *lock)                                                         \
	{                                                                                          \
		return give(&sorts[sort], call, lock, SITE());                                     \
	}
#define WAITS(sort, call)                                                                          \
	static int wrap_##call(void *cond, long lock, long b, long c)                              \
	{                                                                                          \
		return wait_on(&sorts[sort], call, cond, lock, b, c, SITE());                      \
	}
#define MAKES(sort, call)                                                                          \
	static int wrap_##call(void *lock, long a)                                                 \
	{                                                                                          \
		return make(&sorts[sort], call, lock, a, SITE());                                  \
	}
#define ENDS(sort, call)                                                                           \
	static int wrap_##call(void *lock)                                                         \
	{                                                                                          \
		return end(&sorts[sort], call, lock, SITE());                                      \
	}
#define WAITS_SEM(call)                                                                            \
	static int wrap_##call(void *sem, long a, long b)                                          \
	{                                                                                          \
		return wait_sem(call, sem, a, b, SITE());                                          \
	}

static int wrap_BARRIER_WAIT(void *barrier)
{
	return wait_at(BARRIER_WAIT, barrier, SITE());
}

static int wrap_ONCE(void *once, long fn)
{
	return wait_once(ONCE, once, fn, SITE());
}

static int wrap_CALL_ONCE(void *once, long fn)
{
	return wait_once(CALL_ONCE, once, fn, SITE());
}

WAITS_SEM(SEM_WAIT)
WAITS_SEM(SEM_TIMEDWAIT)
WAITS_SEM(SEM_CLOCKWAIT)
TAKES(MUTEX, MUTEX_LOCK)
TAKES(MUTEX, MUTEX_TIMEDLOCK)
TAKES(MUTEX, MUTEX_CLOCKLOCK)
TAKES(READER, RDLOCK)
TAKES(READER, TIMEDRDLOCK)
TAKES(READER, CLOCKRDLOCK)
TAKES(WRITER, WRLOCK)
TAKES(WRITER, TIMEDWRLOCK)
TAKES(WRITER, CLOCKWRLOCK)
TAKES(SPIN, SPIN_LOCK)
TAKES(MTX, MTX_LOCK)
TAKES(MTX, MTX_TIMEDLOCK)
WAITS(MUTEX, COND_WAIT)
WAITS(MUTEX, COND_TIMEDWAIT)
WAITS(MUTEX, COND_CLOCKWAIT)
WAITS(MTX, CND_WAIT)
WAITS(MTX, CND_TIMEDWAIT)
TRIES(MUTEX, MUTEX_TRYLOCK)
TRIES(READER, TRYRDLOCK)
TRIES(WRITER, TRYWRLOCK)
TRIES(SPIN, SPIN_TRYLOCK)
TRIES(MTX, MTX_TRYLOCK)
GIVES(MUTEX, MUTEX_UNLOCK)
GIVES(WRITER, RW_UNLOCK)
GIVES(SPIN, SPIN_UNLOCK)
GIVES(MTX, MTX_UNLOCK)
MAKES(MUTEX, MUTEX_INIT)
MAKES(WRITER, RW_INIT)
MAKES(SPIN, SPIN_INIT)
MAKES(MTX, MTX_INIT)
ENDS(MUTEX, MUTEX_DESTROY)
ENDS(WRITER, RW_DESTROY)
ENDS(SPIN, SPIN_DESTROY)
ENDS(MTX, MTX_DESTROY)

#define CALL(call, function) INTERPOSED(call, function, wrap_##call)

static struct interposed calls[NR_CALLS] = {
	CALL(BARRIER_WAIT, "pthread_barrier_wait"),
	CALL(ONCE, "pthread_once"),
	CALL(CALL_ONCE, "call_once"),
	CALL(SEM_WAIT, "sem_wait"),
	CALL(SEM_TIMEDWAIT, "sem_timedwait"),
	CALL(SEM_CLOCKWAIT, "sem_clockwait"),
	CALL(MUTEX_LOCK, "pthread_mutex_lock"),
	CALL(MUTEX_TIMEDLOCK, "pthread_mutex_timedlock"),
	CALL(MUTEX_CLOCKLOCK, "pthread_mutex_clocklock"),
	CALL(RDLOCK, "pthread_rwlock_rdlock"),
	CALL(TIMEDRDLOCK, "pthread_rwlock_timedrdlock"),
	CALL(CLOCKRDLOCK, "pthread_rwlock_clockrdlock"),
	CALL(WRLOCK, "pthread_rwlock_wrlock"),
	CALL(TIMEDWRLOCK, "pthread_rwlock_timedwrlock"),
	CALL(CLOCKWRLOCK, "pthread_rwlock_clockwrlock"),
	CALL(SPIN_LOCK, "pthread_spin_lock"),
	CALL(MTX_LOCK, "mtx_lock"),
	CALL(MTX_TIMEDLOCK, "mtx_timedlock"),
	CALL(COND_WAIT, "pthread_cond_wait"),
	CALL(COND_TIMEDWAIT, "pthread_cond_timedwait"),
	CALL(COND_CLOCKWAIT, "pthread_cond_clockwait"),
	CALL(CND_WAIT, "cnd_wait"),
	CALL(CND_TIMEDWAIT, "cnd_timedwait"),
	CALL(MUTEX_TRYLOCK, "pthread_mutex_trylock"),
	CALL(TRYRDLOCK, "pthread_rwlock_tryrdlock"),
	CALL(TRYWRLOCK, "pthread_rwlock_trywrlock"),
	CALL(SPIN_TRYLOCK, "pthread_spin_trylock"),
	CALL(MTX_TRYLOCK, "mtx_trylock"),
	CALL(MUTEX_UNLOCK, "pthread_mutex_unlock"),
	CALL(RW_UNLOCK, "pthread_rwlock_unlock"),
	CALL(SPIN_UNLOCK, "pthread_spin_unlock"),
	CALL(MTX_UNLOCK, "mtx_unlock"),
	CALL(MUTEX_INIT, "pthread_mutex_init"),
	CALL(RW_INIT, "pthread_rwlock_init"),
	CALL(SPIN_INIT, "pthread_spin_init"),
	CALL(MTX_INIT, "mtx_init"),
	CALL(MUTEX_DESTROY, "pthread_mutex_destroy"),
	CALL(RW_DESTROY, "pthread_rwlock_destroy"),
	CALL(SPIN_DESTROY, "pthread_spin_destroy"),
	CALL(MTX_DESTROY, "mtx_destroy"),
};

/* Find the trylock for a function, in the library that has the function. */
static void *beside(uint32_t call, const char *name)
{
	const struct interposed_function *f = calls[call].function;

	return f && f->real ? interpose_beside(f->real, name) : NULL;
}

static void find_trylocks(void)
{
	static const uint32_t with[] = {[MUTEX] = MUTEX_LOCK,
					[READER] = RDLOCK,
					[WRITER] = WRLOCK,
					[SPIN] = SPIN_LOCK,
					[MTX] = MTX_LOCK};
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(with); i++)
		sorts[i].trylock = (int (*)(void *))beside(with[i], sorts[i].trylock_name);
	sem_trywait_now = (int (*)(void *))beside(SEM_WAIT, "sem_trywait");
	testcancel = (void (*)(void))beside(SEM_WAIT, "pthread_testcancel");
}

static int want(struct source *s, int on)
{
	uint32_t id = (uint32_t)(s - lock_sources);
	uint32_t first = wants[id].first, n = wants[id].end - first;
	int err = interpose_switch(&calls[first], n, on);

	if (on && !err && wants[id].end == COND_WAIT)
		find_trylocks();
	return err;
}
