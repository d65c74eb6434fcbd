/* SPDX-License-Identifier: MIT */
/*
 * lock:* are the program's calls of libc's locks, with names, fields and print formats of the kernel (6.12,
 * those of lockdep as well):
 *
 *	lock_acquire	a lock is about to be taken, or (try) was taken by a call that does not wait
 *	lock_contended, contention_begin, contention_end
 *			it was not free: the call waits, and has waited; a semaphore's, too
 *	lock_acquired	it is taken
 *	lock_release	it is about to be given back; or it was not taken after all (timeout, error)
 *
 * Whether a lock is free, its own trylock says: only if that says no the function is called that waits, and
 * only while somebody wants to know. The two return the same for all kinds of a lock (recursive, error checking,
 * robust, priority inheriting), but that an error checking one is called contended before its EDEADLK.
 * pthread_cond_wait() is a release and, behind it, a taking of the mutex; what it waits for is no lock.
 * Cancellation leaves a contention without an end.
 *
 * Any context. fork: the child goes on. Costs: bench "lock". Tests: tests/engine/events/lock.
 */
#include "engine/events/lock_event.h"

#include <errno.h>
#include <threads.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/interpose.h"
#include "engine/events/own_event.h"

#define NAME_BYTES 8u

/* lock_acquire's, and what the other three of lockdep have. */
struct acquire {
	struct own_record head;
	unsigned int flags;
	uint32_t name;
	const void *lockdep_addr;
	char text[NAME_BYTES];
};

struct lock {
	struct own_record head;
	uint32_t name;
	uint32_t unused;
	const void *lockdep_addr;
	char text[NAME_BYTES];
};

struct contention {
	struct own_record head;
	const void *lock_addr;
	union {
		unsigned int flags;
		int ret;
	};
	uint32_t unused;
};

static const struct vestige_event_field acquire_fields[] = {
	OWN_FIELD(struct acquire, flags, "unsigned int", 0),
	OWN_FIELD(struct acquire, name, "__data_loc char[]", 0),
	OWN_FIELD(struct acquire, lockdep_addr, "void *", 0),
	OWN_FIELDS_END,
};

static const struct vestige_event_field lock_fields[] = {
	OWN_FIELD(struct lock, name, "__data_loc char[]", 0),
	OWN_FIELD(struct lock, lockdep_addr, "void *", 0),
	OWN_FIELDS_END,
};

static const struct vestige_event_field begin_fields[] = {
	OWN_FIELD(struct contention, lock_addr, "void *", 0),
	OWN_FIELD(struct contention, flags, "unsigned int", 0),
	OWN_FIELDS_END,
};

static const struct vestige_event_field end_fields[] = {
	OWN_FIELD(struct contention, lock_addr, "void *", 0),
	OWN_FIELD(struct contention, ret, "int", 1),
	OWN_FIELDS_END,
};

enum { ACQUIRE, ACQUIRED, CONTENDED, RELEASE, BEGIN, END };

enum { TRY = 1, READ = 2 };				    /* lock_acquire's flags */
enum { F_SPIN = 1, F_READ = 2, F_WRITE = 4, F_MUTEX = 32 }; /* contention_begin's */

/*
 * The functions, in such an order that each event wants a range of them: those of semaphores; those that
 * wait for a lock; those that give it up and take it again; those that do not wait; those that give it back.
 */
enum {
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
	NR_CALLS,
};

static int lock_enable(struct own_event *e, int on);

#define LOCK_PRINT "\"%p %s\", REC->lockdep_addr, __get_str(name)"

static struct own_event lock_events[] = {
	[ACQUIRE] = {.system = "lock",
		     .name = "lock_acquire",
		     .fields = acquire_fields,
		     .print_fmt = "\"%p %s%s%s\", REC->lockdep_addr, (REC->flags & 1) ? \"try \" : "
				  "\"\", (REC->flags & 2) ? \"read \" : \"\", __get_str(name)",
		     .enable = lock_enable},
	[ACQUIRED] = {.system = "lock",
		      .name = "lock_acquired",
		      .fields = lock_fields,
		      .print_fmt = LOCK_PRINT,
		      .enable = lock_enable},
	[CONTENDED] = {.system = "lock",
		       .name = "lock_contended",
		       .fields = lock_fields,
		       .print_fmt = LOCK_PRINT,
		       .enable = lock_enable},
	[RELEASE] = {.system = "lock",
		     .name = "lock_release",
		     .fields = lock_fields,
		     .print_fmt = LOCK_PRINT,
		     .enable = lock_enable},
	[BEGIN] = {.system = "lock",
		   .name = "contention_begin",
		   .fields = begin_fields,
		   .print_fmt = "\"%p (flags=%s)\", REC->lock_addr, __print_flags(REC->flags, "
				"\"|\", { (1U << 0), \"SPIN\" }, { (1U << 1), \"READ\" }, { (1U << "
				"2), \"WRITE\" }, { (1U << 3), \"RT\" }, { (1U << 4), \"PERCPU\" "
				"}, { (1U << 5), \"MUTEX\" })",
		   .enable = lock_enable},
	[END] = {.system = "lock",
		 .name = "contention_end",
		 .fields = end_fields,
		 .print_fmt = "\"%p (ret=%d)\", REC->lock_addr, REC->ret",
		 .enable = lock_enable},
};

static const struct {
	uint32_t first, end;
} wants[] = {
	[ACQUIRE] = {MUTEX_LOCK, MUTEX_UNLOCK}, [ACQUIRED] = {MUTEX_LOCK, MUTEX_TRYLOCK},
	[CONTENDED] = {MUTEX_LOCK, COND_WAIT},	[RELEASE] = {MUTEX_LOCK, NR_CALLS},
	[BEGIN] = {SEM_WAIT, COND_WAIT},	[END] = {SEM_WAIT, COND_WAIT},
};

/* What locks of a sort have in common. */
struct sort {
	char name[NAME_BYTES];
	unsigned int acquire; /* TRY is added */
	unsigned int contention;
	int busy; /* what its trylock says */
	const char *trylock_name;
	int (*trylock)(void *lock); /* NULL: there is none, or not known yet */
};

enum { MUTEX, READER, WRITER, SPIN, MTX };

static struct sort sorts[] = {
	[MUTEX] = {"mutex", 0, F_MUTEX, EBUSY, "pthread_mutex_trylock", NULL},
	[READER] = {"rwlock", READ, F_READ, EBUSY, "pthread_rwlock_tryrdlock", NULL},
	[WRITER] = {"rwlock", 0, F_WRITE, EBUSY, "pthread_rwlock_trywrlock", NULL},
	[SPIN] = {"spin", 0, F_SPIN, EBUSY, "pthread_spin_trylock", NULL},
	[MTX] = {"mtx", 0, F_MUTEX, thrd_busy, "mtx_trylock", NULL},
};

static int (*sem_trywait_now)(void *sem);
static void (*testcancel)(void);

static int is_on(uint32_t event)
{
	return own_event_is_on(&lock_events[event]) && !interpose_muted();
}

static void note_acquire(const struct sort *s, const void *lock, unsigned int flags)
{
	struct acquire r = {.flags = s->acquire | flags,
			    .name = OWN_DATA_LOC(offsetof(struct acquire, text), NAME_BYTES),
			    .lockdep_addr = lock};

	if (!is_on(ACQUIRE))
		return;
	memcpy(r.text, s->name, NAME_BYTES);
	own_event_write(&lock_events[ACQUIRE], &r, sizeof(r));
}

static void note(uint32_t event, const struct sort *s, const void *lock)
{
	struct lock r = {.name = OWN_DATA_LOC(offsetof(struct lock, text), NAME_BYTES),
			 .lockdep_addr = lock};

	if (!is_on(event))
		return;
	memcpy(r.text, s->name, NAME_BYTES);
	own_event_write(&lock_events[event], &r, sizeof(r));
}

static void note_begin(const void *lock, unsigned int flags)
{
	struct contention r = {.lock_addr = lock, .flags = flags};

	if (is_on(BEGIN))
		own_event_write(&lock_events[BEGIN], &r, sizeof(r));
}

static void note_end(const void *lock, int err)
{
	struct contention r = {.lock_addr = lock, .ret = -err};

	if (is_on(END))
		own_event_write(&lock_events[END], &r, sizeof(r));
}

static int contention_wanted(void)
{
	return is_on(BEGIN) || is_on(END) || is_on(CONTENDED);
}

/* All of them: a lock, or a condition and a mutex, and what else there is in up to three registers. */
typedef int lock_fn(void *lock, long a, long b, long c);
static struct interposed calls[];

static int go_on(uint32_t call, void *lock, long a, long b, long c)
{
	return ((lock_fn *)calls[call].real)(lock, a, b, c);
}

static int wait_for(const struct sort *s, uint32_t call, void *lock, long a, long b)
{
	int (*trylock)(void *) = load_relaxed(&s->trylock);
	int err;

	if (!trylock || !contention_wanted())
		return go_on(call, lock, a, b, 0);
	err = trylock(lock);
	if (err != s->busy)
		return err;
	note(CONTENDED, s, lock);
	note_begin(lock, s->contention);
	err = go_on(call, lock, a, b, 0);
	note_end(lock, err);
	return err;
}

/* A robust mutex whose owner died is taken. */
static int is_taken(int err)
{
	return !err || err == EOWNERDEAD;
}

static int take(const struct sort *s, uint32_t call, void *lock, long a, long b)
{
	int err;

	note_acquire(s, lock, 0);
	err = wait_for(s, call, lock, a, b);
	note(is_taken(err) ? ACQUIRED : RELEASE, s, lock);
	return err;
}

static int try_to_take(const struct sort *s, uint32_t call, void *lock)
{
	int err = go_on(call, lock, 0, 0, 0);

	if (is_taken(err))
		note_acquire(s, lock, TRY);
	return err;
}

static int give(const struct sort *s, uint32_t call, void *lock)
{
	note(RELEASE, s, lock);
	return go_on(call, lock, 0, 0, 0);
}

static int wait_on(const struct sort *s, uint32_t call, void *cond, long lock, long b, long c)
{
	int err;

	note(RELEASE, s, (void *)lock);
	err = go_on(call, cond, lock, b, c);
	note_acquire(s, (void *)lock, 0);
	note(ACQUIRED, s, (void *)lock);
	return err;
}

/*
 * These tell by errno, which stays where nothing is wrong, and a cancelled thread ends even where it
 * would not have to wait.
 */
static int wait_sem(uint32_t call, void *sem, long a, long b)
{
	int had = errno, ret;

	if (!sem_trywait_now || !testcancel || !contention_wanted())
		return go_on(call, sem, a, b, 0);
	testcancel();
	if (!sem_trywait_now(sem))
		return 0;
	errno = had;
	note_begin(sem, 0);
	ret = go_on(call, sem, a, b, 0);
	note_end(sem, ret ? errno : 0);
	return ret;
}

#define TAKES(sort, call)                                                                          \
	static int wrap_##call(void *lock, long a, long b)                                         \
	{                                                                                          \
		return take(&sorts[sort], call, lock, a, b);                                       \
	}
#define TRIES(sort, call)                                                                          \
	static int wrap_##call(void *lock)                                                         \
	{                                                                                          \
		return try_to_take(&sorts[sort], call, lock);                                      \
	}
#define GIVES(sort, call)                                                                          \
	static int wrap_##call(void *lock)                                                         \
	{                                                                                          \
		return give(&sorts[sort], call, lock);                                             \
	}
#define WAITS(sort, call)                                                                          \
	static int wrap_##call(void *cond, long lock, long b, long c)                              \
	{                                                                                          \
		return wait_on(&sorts[sort], call, cond, lock, b, c);                              \
	}
#define WAITS_SEM(call)                                                                            \
	static int wrap_##call(void *sem, long a, long b)                                          \
	{                                                                                          \
		return wait_sem(call, sem, a, b);                                                  \
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

#define CALL(call, function) [call] = {.name = (function), .wrapper = (const void *)wrap_##call}

static struct interposed calls[NR_CALLS] = {
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
};

/* The trylock that belongs to a function, of the library that has it. */
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

	for (i = 0; i < ARRAY_SIZE(sorts); i++)
		sorts[i].trylock = (int (*)(void *))beside(with[i], sorts[i].trylock_name);
	sem_trywait_now = (int (*)(void *))beside(SEM_WAIT, "sem_trywait");
	testcancel = (void (*)(void))beside(SEM_WAIT, "pthread_testcancel");
}

static int lock_enable(struct own_event *e, int on)
{
	uint32_t event = (uint32_t)(e - lock_events);
	uint32_t first = wants[event].first, n = wants[event].end - first;
	int err = interpose_switch(&calls[first], n, on);

	if (on && !err && wants[event].end == COND_WAIT)
		find_trylocks();
	return err;
}

int lock_events_start(void)
{
	return interpose_possible() ? own_events_add(lock_events, ARRAY_SIZE(lock_events)) : 0;
}
