/* SPDX-License-Identifier: MIT */
/*
 * The start and end of threads, and their names. The engine has a pthread_create(), thrd_create()
 * and pthread_setname_np() of its own, which call libc's. The destructor of a pthread key sees the
 * end; it delays itself to the last round, so that the destructors of the program's own keys are
 * still recorded. libc makes threads of its own too, as for timers (SIGEV_THREAD): they set the key
 * at their first record. Threads of raw clone() get their block at their first record and never
 * free it.
 * fork: the child's control blocks are zero, so all of this does nothing there. Tests:
 * tests/engine/fire/guest, sandbox.
 */
#include "engine/core/thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <threads.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/arch/read_memory.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/process/libc.h"
#include "engine/core/altstack.h"
#include "engine/core/sandbox.h"
#include "engine/core/syscalls.h"
#include "engine/core/thread_unseen.h"
#include "engine/core/trace_array.h"
#include "engine/ring/ring.h"

struct start {
	void *(*routine)(void *);
	void *arg;
	uint64_t stack_lo; /* of a stack that the program provides; 0: libc makes it */
	size_t stack_bytes;
	int c11;    /* the routine returns an int */
	int parent; /* id of its creator */
	int refs;   /* number of readers that are left: the new thread, its creator */
	int tid;    /* id of the new thread, once it runs */
	enum sys_rights rights;
	char comm[16]; /* the creator's name, for a thread that may make no system call */
};

/* pthread_setspecific() of glibc allocates no memory for lower keys (PTHREAD_KEY_2NDLEVEL_SIZE) */
#define NR_SAFE_KEYS 32u

static pthread_key_t end_key;
static int end_key_made;
static void (*on_start)(uint64_t top, uint64_t bytes);
static void (*on_end)(void);
static void (*on_made)(int tid);
static void (*on_gone)(void);
/* offset of a thread's id in the memory of its pthread_t; 0: not known */
static uint32_t tid_offset;
static size_t default_stack_bytes;
static __thread int end_rounds __attribute__((tls_model("initial-exec")));
static __thread int own_tid __attribute__((tls_model("initial-exec"))); /* 0: not known */

__thread struct thread_stack thread_stack __attribute__((tls_model("initial-exec")));
struct thread_stack main_stack;

static int get_tid(void)
{
	if (!own_tid)
		own_tid = sys_own_tid();
	return own_tid;
}

/*
 * The data that a creator passes to its thread is in a slot of a small pool, not on the heap: the
 * program's malloc may be traced, and must see only the program's calls.
 */
#define NR_STARTS 1024u
static struct start starts[NR_STARTS] BIG_ZEROS;
static uint8_t start_used[NR_STARTS];

/* See thread_unseen.c. */
static void have_variables(void)
{
	if (unlikely(!ring_ctl[0]))
		threads_unseen_own();
}

static void leave(void)
{
	have_variables();
	if (on_gone)
		on_gone();
	if (on_end)
		on_end();
	altstack_thread_end();
	trace_arrays_thread_end(get_tid());
	/* calls of libc from here on would give the thread a block that is never freed */
	syscalls_own_thread();
	ring_thread_end();
	srcu_thread_end(thread_stack.top - thread_stack.bytes, thread_stack.top);
	sandbox_thread_ends();
}

void thread_leaves(void)
{
	/* not a thread that uses another one's thread-local memory, after vfork() or clone() */
	if (sys_own_tid() == get_tid())
		leave();
}

static void thread_ends(void *arg)
{
	if (++end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(end_key, arg);
	else
		leave();
}

/*
 * A thread whose start was not seen. It is libc's if its id is in its own memory of libc: a thread
 * of raw clone() has other memory, or its parent's. Any context.
 */
static void mark_own(void)
{
	if (!end_key_made || end_key >= NR_SAFE_KEYS || end_rounds || !sys_tid_at ||
	    sys_rights == SYS_OURS || sys_is_forbidden() ||
	    load_relaxed((const int *)(arch_thread_pointer() + sys_tid_at)) != sys_gettid() ||
	    pthread_getspecific(end_key) || pthread_setspecific(end_key, &end_key))
		return;
	sandbox_thread_seen();
}

#define MAX_TID_OFFSET 2048u

static void find_tid_offset(void)
{
	const int *own = (const int *)pthread_self(); /* glibc's struct pthread */
	uint32_t i;

	for (i = 0; !tid_offset && i < MAX_TID_OFFSET / sizeof(*own); i++)
		if (own[i] == get_tid())
			tid_offset = i * (uint32_t)sizeof(*own);
	if (tid_offset)
		sys_tid_at = (const char *)own + tid_offset - arch_thread_pointer();
}

int thread_tid(pthread_t thread)
{
	int tid = 0;

	/* by a system call: the thread may end, and its memory be unmapped */
	if (tid_offset)
		sys_read_memory(sys_getpid(), (uint64_t)thread + tid_offset, &tid, sizeof(tid));
	return tid;
}

static void start_threads(const struct lifecycle_start *how)
{
	(void)how;
	find_tid_offset();
	sandbox_start();
	end_key_made = !pthread_key_create(&end_key, thread_ends);
	if (!end_key_made)
		area_status("the end of threads is not seen: no pthread key is free", NULL, 0);
	else if (!libc_is_late())
		pthread_setspecific(end_key, &end_key);
	else if (threads_unseen_mark(end_key, &end_key, tid_offset))
		area_status("the end of threads that were there before is not seen", NULL, 0);
	srcu_on_new_thread(mark_own);
}

int threads_before_fork(void)
{
	return get_tid();
}

static void fork_threads(const struct lifecycle_fork *f)
{
	if (f->when != LIFECYCLE_FORK_LEAVE)
		return;
	own_tid = 0;
	sandbox_fork();
	memset(start_used, 0, sizeof(start_used));
	if (end_key_made)
		pthread_setspecific(end_key, &end_key);
}

void threads_on_start(void (*start)(uint64_t top, uint64_t bytes), void (*end)(void))
{
	pthread_attr_t attr;

	on_start = start;
	on_end = end;
	if (!pthread_getattr_default_np(&attr)) {
		pthread_attr_getstacksize(&attr, &default_stack_bytes);
		pthread_attr_destroy(&attr);
	}
}

void threads_watch(void (*made)(int tid), void (*gone)(void))
{
	__atomic_store_n(&on_gone, gone, __ATOMIC_RELEASE);
	__atomic_store_n(&on_made, made, __ATOMIC_RELEASE);
}

static struct start *start_claim(void)
{
	uint32_t i;

	for (i = 0; i < NR_STARTS; i++)
		if (!__atomic_exchange_n(&start_used[i], 1, __ATOMIC_ACQUIRE))
			return &starts[i];
	return NULL;
}

static void start_release(struct start *s)
{
	if (__atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) == 0)
		__atomic_store_n(&start_used[s - starts], 0, __ATOMIC_RELEASE);
}

/*
 * The id of a thread that was just made. Before the thread runs, the kernel has stored the id in
 * the memory of its pthread_t. Once the thread runs, it passes its id to the engine, and that
 * memory may be gone; the variable @thread, too, if the thread frees it.
 */
static int made_tid(const struct start *s, const pthread_t *thread)
{
	int tid = __atomic_load_n(&s->tid, __ATOMIC_ACQUIRE), found = 0;
	pthread_t id;

	if (tid)
		return tid;
	if (sys_read_memory(sys_getpid(), (uint64_t)thread, &id, sizeof(id)) == sizeof(id))
		found = thread_tid(id);
	tid = __atomic_load_n(&s->tid, __ATOMIC_ACQUIRE);
	return tid ? tid : found;
}

/*
 * The calling thread's stack, below the frame that ends at @top. libc puts struct pthread at the
 * end of the block that it maps, and the guard page before it.
 */
static struct thread_stack stack_below(uint64_t top, const struct start *s)
{
	uint64_t lo = s->stack_lo, end = ((uint64_t)pthread_self() | 4095) + 1;

	if (!lo)
		lo = end - (s->stack_bytes & ~(size_t)4095);
	return (struct thread_stack){top, lo < top ? top - lo : s->stack_bytes};
}

static void *thread_starts(void *arg)
{
	struct start s = *(struct start *)arg;

	__atomic_store_n(&((struct start *)arg)->tid, get_tid(), __ATOMIC_RELEASE);
	start_release(arg);
	sandbox_thread_starts(s.rights);
	ring_thread_start(s.comm);
	trace_arrays_thread_start(s.parent, get_tid());
	/* the routine may be entered by a tail call: its slot is below this frame's CFA */
	thread_stack = stack_below((uint64_t)__builtin_frame_address(0) + 16, &s);
	if (on_start)
		on_start(thread_stack.top, thread_stack.bytes);
	altstack_thread_start();
	if (end_key_made)
		pthread_setspecific(end_key, &end_key);
	if (s.c11)
		return (void *)(intptr_t)((thrd_start_t)(void (*)(void))s.routine)(s.arg);
	return s.routine(s.arg);
}

void thread_wait_end(pthread_t thread, uint32_t ms)
{
	const int *word = (const int *)((const char *)thread + tid_offset);
	struct timespec limit = {.tv_nsec = (long)(tid_offset ? ms : 1) * 1000000};
	int tid = tid_offset ? load_acquire(word) : 0;

	/* the kernel clears it and wakes waiting threads */
	if (tid || !tid_offset)
		arch_syscall(SYS_futex, (long)word, FUTEX_WAIT, tid, (long)&limit, 0, 0);
}

typedef int pthread_create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int tryjoin_fn(pthread_t, void **);

/*
 * ThreadSanitizer's pthread_create() reports at the exit a thread that was not joined, and ends
 * a child that makes a thread when there were two at its fork(). So in its programs a thread of the
 * engine is made and joined by libc's own functions.
 */
void __tsan_init(void) __attribute__((weak, visibility("default")));

static pthread_create_fn *libcs_create;
static tryjoin_fn *libcs_tryjoin;

int thread_has_sanitizer(void)
{
	return __tsan_init != NULL;
}

int thread_join(pthread_t thread)
{
	const int *word = (const int *)((const char *)thread + tid_offset);

	if (!sys_is_forbidden())
		return (libcs_tryjoin ? libcs_tryjoin : pthread_tryjoin_np)(thread, NULL);
	return !tid_offset || load_acquire(word) ? EBUSY : 0;
}

typedef int thrd_create_fn(thrd_t *, thrd_start_t, void *);
typedef int pthread_setname_fn(pthread_t, const char *);

static pthread_create_fn *real_pthread_create(void)
{
	static pthread_create_fn *real;

	if (!real)
		real = (pthread_create_fn *)libc_next("pthread_create");
	return real;
}

int thread_create_untraced(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *))
{
	pthread_create_fn *real = real_pthread_create();

	if (thread_has_sanitizer() && !libcs_create) {
		libcs_create = (pthread_create_fn *)libc_own("pthread_create");
		libcs_tryjoin = (tryjoin_fn *)libc_own("pthread_tryjoin_np");
	}
	if (libcs_create && libcs_tryjoin)
		real = libcs_create;
	return real ? real(thread, attr, main, NULL) : EAGAIN;
}

static int create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
		  void *arg, int c11)
{
	pthread_create_fn *real = real_pthread_create();
	void (*made)(int tid) = __atomic_load_n(&on_made, __ATOMIC_ACQUIRE);
	struct start *s;
	void *stack;
	int err;

	if (!real)
		return EAGAIN;
	have_variables();
	s = area ? start_claim() : NULL;
	if (!s)
		return c11 ? -1 : real(thread, attr, routine, arg);
	*s = (struct start){.routine = routine,
			    .arg = arg,
			    .stack_bytes = default_stack_bytes,
			    .c11 = c11,
			    .parent = get_tid(),
			    .refs = made ? 2 : 1,
			    .rights = sandbox_new_thread()};
	str_copy(s->comm, sizeof(s->comm), ring_thread_comm());
	if (attr && !pthread_attr_getstack(attr, &stack, &s->stack_bytes) &&
	    (uint64_t)stack + s->stack_bytes)
		s->stack_lo = (uint64_t)stack;
	/* the attributes do not set a stack */
	if (!s->stack_bytes)
		s->stack_bytes = default_stack_bytes;
	err = real(thread, attr, thread_starts, s);
	if (err) {
		sandbox_no_thread(s->rights);
		start_release(s);
	}
	if (made) {
		if (!err)
			made(made_tid(s, thread));
		start_release(s);
	}
	return err;
}

VESTIGE_INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
				      void *(*routine)(void *), void *arg)
{
	return create(thread, attr, routine, arg, 0);
}

/* glibc's version makes the thread itself, without pthread_create(). */
VESTIGE_INTERPOSED int thrd_create(thrd_t *thread, thrd_start_t routine, void *arg)
{
	static thrd_create_fn *real;
	int err = create(thread, NULL, (void *(*)(void *))(void (*)(void))routine, arg, 1);

	if (err >= 0)
		return !err ? thrd_success : err == ENOMEM ? thrd_nomem : thrd_error;
	/* without the engine: all slots are in use, or the engine does nothing */
	if (!real)
		real = (thrd_create_fn *)libc_next("thrd_create");
	return real ? real(thread, routine, arg) : thrd_error;
}

VESTIGE_INTERPOSED int pthread_setname_np(pthread_t thread, const char *name)
{
	static pthread_setname_fn *real;
	int err;

	if (!real)
		real = (pthread_setname_fn *)libc_next("pthread_setname_np");
	if (!real)
		return ENOSYS;
	err = real(thread, name);
	if (!err && area && pthread_equal(thread, pthread_self()))
		ring_thread_rename(name);
	return err;
}

LIFECYCLE(LIFECYCLE_PROCESS, start_threads, fork_threads, NULL);
