/* SPDX-License-Identifier: MIT */
/*
 * See sandbox.h. The engine has a prctl() and a syscall() of its own, which call libc's: libc,
 * libseccomp and nearly all programs use these. Owns the number of free threads. A system call by
 * the program's own instruction is found late, by the agent. A filter that the process had at its
 * start changes nothing: the engine started under it. A vfork's child has its parent's memory, so
 * nothing is changed for it. fork: sandbox_fork(); a child of raw clone() has no engine, but the
 * rights that it gives up are recorded. Tests: tests/engine/fire/sandbox, alone.
 */
#include "engine/core/sandbox.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/process/clock.h"
#include "engine/process/libc.h"
#include "engine/process/thread_list.h"
#include "engine/core/credentials.h"
#include "engine/core/thread.h"
#include "engine/ring/pool.h"
#include "engine/ring/ring.h"
#include "engine/ring/task.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

#define AHEAD_PAGES 64u /* of each CPU's share, if that is at most AHEAD_ALL in all */
#define AHEAD_FEW   16u
#define AHEAD_ALL   1024u
#define AHEAD_TASKS 64u
#define AHEAD_TEXT  1024u /* bytes of vestige_status */

/*
 * Free threads: threads that have not ended, and have not given up system calls. The engine must
 * have seen their start, or they existed before a late engine.
 */
static uint32_t nr_free;
static uint8_t counts_unseen; /* threads without a known start existed before a late engine */
static int (*agent_stop)(void);
static void (*agent_start)(void);
static void (*on_enter)(void);
static int told_growth;

/* Whether the thread is counted in nr_free. */
enum { UNSEEN, COUNTED, NOT_COUNTED };
static __thread uint8_t counting __attribute__((tls_model("initial-exec")));

static int is_counted(void)
{
	return counting == COUNTED || (counting == UNSEEN && counts_unseen);
}

static void set_counted(int is)
{
	counting = is ? COUNTED : NOT_COUNTED;
}

/*
 * The thread's system calls go to a handler of its own (syscall user dispatch). It keeps the rights
 * that it had before.
 */
static __thread uint8_t dispatched __attribute__((tls_model("initial-exec")));
static __thread enum sys_rights undispatched __attribute__((tls_model("initial-exec")));

static void end_dispatch(void)
{
	if (!dispatched)
		return;
	dispatched = 0;
	sys_rights = undispatched;
	fetch_add(&sys_nr_forbidden, UINT32_MAX);
}

static void find_syscall(void);

static int count_one(int tid, void *data)
{
	(void)tid;
	++*(uint32_t *)data;
	return 0;
}

void sandbox_start(void)
{
	uint32_t nr = 0;

	sys_rights = SYS_FREE;
	set_counted(1);
	nr_free = 1;
	find_syscall();
	if (!libc_is_late())
		return;
	/* if they cannot be counted, the count must never reach 0 */
	nr_free = thread_list_each(count_one, &nr) || !nr ? UINT32_MAX / 2 : nr;
	counts_unseen = 1;
}

void sandbox_fork(void)
{
	end_dispatch(); /* as the kernel does */
	set_counted(!sys_is_forbidden());
	nr_free = (uint32_t)is_counted();
	counts_unseen = 0;
	agent_stop = NULL;
	agent_start = NULL;
}

void sandbox_use_agent(int (*stop)(void), void (*start)(void))
{
	agent_start = start;
	store_release(&agent_stop, stop);
}

void sandbox_on_enter(void (*ahead)(void))
{
	on_enter = ahead;
}

enum sys_rights sandbox_new_thread(void)
{
	if (sys_is_forbidden() && !(dispatched && undispatched == SYS_FREE))
		return SYS_FORBIDDEN;
	fetch_add(&nr_free, 1);
	return SYS_FREE;
}

void sandbox_no_thread(enum sys_rights rights)
{
	if (rights == SYS_FREE)
		fetch_add(&nr_free, UINT32_MAX);
}

void sandbox_thread_starts(enum sys_rights rights)
{
	sys_rights = rights;
	set_counted(rights == SYS_FREE);
	if (rights == SYS_FORBIDDEN && clock_makes_calls())
		ring_thread_forbid();
}

/* The thread is not free any more. Return: whether it was the last free one. */
static int discount(void)
{
	if (!is_counted())
		return !load_relaxed(&nr_free);
	set_counted(0);
	return __atomic_sub_fetch(&nr_free, 1, __ATOMIC_SEQ_CST) == 0;
}

void sandbox_thread_seen(void)
{
	if (counting != UNSEEN)
		return;
	fetch_add(&nr_free, 1);
	set_counted(1);
}

/* A child of raw clone(), or one that fork() left without an area, has no agent. */
void sandbox_thread_ends(void)
{
	if (is_counted() && discount() && area && area_is_own() && load_acquire(&agent_stop))
		agent_stop();
}

void sandbox_was_entered(void)
{
	__atomic_fetch_or(&sys_nr_forbidden, SYS_ALL, __ATOMIC_SEQ_CST);
}

/* What a call changes, and the state before it. */
struct change {
	uint8_t calls; /* the thread gives up system calls */
	/* ... to a handler of its own; this does not apply to its children or other threads */
	uint8_t dispatch;
	uint8_t all;	 /* ... in all other threads, too */
	uint8_t counter; /* the thread gives up reading the processor's counter */
	uint8_t back;	 /* the thread ends its dispatch */
	uint8_t begun, prepared, was_counted, was_all, agent_ended;
	enum sys_rights rights;
};

static uint32_t ahead_pages(const struct ring *r)
{
	uint32_t each = AHEAD_ALL / (r->nr_cpus + 1);

	return each < AHEAD_FEW ? AHEAD_FEW : min_of(each, AHEAD_PAGES);
}

static void back_ring(struct ring *r)
{
	uint32_t i, pages = ahead_pages(r);

	if (!r->area ||
	    (!load_relaxed(&r->buffer->take_seq) && str_equal(r->buffer->tracer, "nop")))
		return;
	for (i = 0; i < r->nr_cpus; i++)
		pool_back_ahead(r, &r->cpus[i], pages);
	ring_task_back(r, load_relaxed(&r->task_table->count) + AHEAD_TASKS);
}

/* Map the memory that the thread may not ask for later, so that few records are lost. */
static void prepare(void)
{
	uint32_t i;

	for (i = 0; i < RING_MAX; i++)
		back_ring(&rings[i]);
	area_reserve(AREA_STATUS, area->tables[AREA_STATUS].count + AHEAD_TEXT);
	area_reserve(AREA_CLOCKS, area->tables[AREA_CLOCKS].count + 1);
	if (on_enter)
		on_enter();
}

static void begin(struct change *c)
{
	int awake = ring_is_awake(), free = !sys_is_forbidden(), last;

	/* the engine does nothing, or it is the parent's, in a vfork's child */
	if (!area || !(c->calls || c->counter) || (awake && !area_is_own()))
		return;
	c->begun = 1;
	c->rights = sys_rights;
	if (c->calls && free && awake) {
		prepare();
		c->prepared = 1;
	}
	if (c->calls && clock_makes_calls())
		c->counter = 1;
	if (c->counter)
		ring_thread_forbid();
	if (!c->calls)
		return;
	if (!c->dispatch) {
		c->was_counted = (uint8_t)is_counted();
		last = discount();
		if (awake && (last || c->all) && load_acquire(&agent_stop))
			c->agent_ended = (uint8_t)agent_stop();
	}
	c->was_all = !!(fetch_add(&sys_nr_forbidden, 1) & SYS_ALL);
	if (c->all)
		sandbox_was_entered();
	sys_rights = SYS_FORBIDDEN;
}

static void succeeded(const struct change *c)
{
	if (c->back)
		end_dispatch();
	if (c->begun && c->dispatch && !dispatched) {
		dispatched = 1;
		undispatched = c->rights;
	} else if (c->begun && c->dispatch) {
		fetch_add(&sys_nr_forbidden, UINT32_MAX);
	}
	if (c->agent_ended)
		area_status("no control from outside: the program has set a seccomp filter", NULL,
			    0);
	if (c->begun && c->prepared && compare_and_store(&told_growth, 0, 1))
		area_status("threads have given up system calls: no more of the buffer is used for "
			    "their records than has memory by now",
			    NULL, 0);
}

static void failed(const struct change *c)
{
	int why = errno; /* the program reads it; to start the agent may change it */

	if (!c->begun)
		return;
	if (c->calls) {
		sys_rights = c->rights;
		if (c->all && !c->was_all)
			__atomic_fetch_and(&sys_nr_forbidden, ~SYS_ALL, __ATOMIC_SEQ_CST);
		fetch_add(&sys_nr_forbidden, UINT32_MAX);
		set_counted(is_counted() || c->was_counted);
		fetch_add(&nr_free, c->was_counted);
	}
	if (c->counter)
		ring_thread_allow();
	if (c->agent_ended)
		agent_start();
	errno = why;
}

/*
 * Strict seccomp and PR_TSC_SIGSEGV make reading the counter fatal; a seccomp filter may make any
 * system call fatal. A call that only asks whether the kernel has filters changes nothing.
 */
static struct change of_prctl(unsigned long op, const unsigned long *arg)
{
	if (op == PR_SET_SECCOMP && arg[0] == SECCOMP_MODE_STRICT)
		return (struct change){.calls = 1, .counter = 1};
	if (op == PR_SET_SECCOMP && arg[0] == SECCOMP_MODE_FILTER && arg[1])
		return (struct change){.calls = 1};
	if (op == PR_SET_TSC && arg[0] == PR_TSC_SIGSEGV)
		return (struct change){.counter = 1};
	if (op == PR_SET_SYSCALL_USER_DISPATCH)
		return (struct change){.calls = arg[0] != 0, .dispatch = 1, .back = !arg[0]};
	return (struct change){0};
}

static struct change of_seccomp(unsigned long op, unsigned long flags, unsigned long args)
{
	if (op == SECCOMP_SET_MODE_STRICT && !flags && !args)
		return (struct change){.calls = 1, .counter = 1};
	if (op == SECCOMP_SET_MODE_FILTER && args)
		return (struct change){.calls = 1, .all = !!(flags & SECCOMP_FILTER_FLAG_TSYNC)};
	return (struct change){0};
}

typedef int prctl_fn(int, unsigned long, unsigned long, unsigned long, unsigned long);

VESTIGE_INTERPOSED int prctl(int op, ...)
{
	static prctl_fn *real;
	unsigned long all[5] = {(unsigned long)op}, *arg = all + 1;
	struct change c;
	va_list ap;
	int i, ret;

	va_start(ap, op);
	for (i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (!real)
		real = (prctl_fn *)libc_next("prctl");
	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	c = of_prctl((unsigned long)op, arg);
	begin(&c);
	ret = real(op, arg[0], arg[1], arg[2], arg[3]);
	if (ret)
		failed(&c);
	else
		succeeded(&c);
	if (!ret && op == PR_SET_NAME && area)
		ring_thread_rename((const char *)arg[0]);
	if (!ret)
		credentials_called(SYS_prctl, all);
	return ret;
}

typedef long syscall_fn(long nr, unsigned long a, unsigned long b, unsigned long c, unsigned long d,
			unsigned long e, unsigned long f);

static syscall_fn first_syscall;
/* The function to which hook/<cpu>/variadic.S jumps. */
syscall_fn *sandbox_real_syscall = first_syscall;

/* For a static program that does not have libc's. */
static long plain_syscall(long nr, unsigned long a, unsigned long b, unsigned long c,
			  unsigned long d, unsigned long e, unsigned long f)
{
	long ret = arch_raw_syscall(nr, (long)a, (long)b, (long)c, (long)d, (long)e, (long)f);

	if (!sys_failed(ret))
		return ret;
	errno = (int)-ret;
	return -1;
}

static void find_syscall(void)
{
	syscall_fn *real = (syscall_fn *)libc_next("syscall");

	sandbox_real_syscall = real ? real : plain_syscall;
}

/* Used before the engine has started. */
static long first_syscall(long nr, unsigned long a, unsigned long b, unsigned long c,
			  unsigned long d, unsigned long e, unsigned long f)
{
	find_syscall();
	return sandbox_real_syscall(nr, a, b, c, d, e, f);
}

/*
 * syscall() with certain numbers; variadic.S passes others on. @nr: SYS_seccomp, SYS_prctl,
 * SYS_exit, or SYS_setuid to SYS_capset.
 */
syscall_fn sandbox_syscall;

long sandbox_syscall(long nr, unsigned long a, unsigned long b, unsigned long c, unsigned long d,
		     unsigned long e, unsigned long f)
{
	const unsigned long arg[5] = {a, b, c, d, e};
	struct change change = {0};
	long ret;

	if (nr == SYS_seccomp)
		change = of_seccomp(a, b, c);
	else if (nr == SYS_prctl)
		change = of_prctl(a, arg + 1);
	else if (nr == SYS_exit && area && ring_is_awake())
		thread_leaves();
	begin(&change);
	ret = sandbox_real_syscall(nr, a, b, c, d, e, f);
	/*
	 * result of seccomp(): the descriptor of a listener; otherwise the thread that could not
	 * get the filter
	 */
	if (ret < 0 || (ret && !(nr == SYS_seccomp && b & SECCOMP_FILTER_FLAG_NEW_LISTENER)))
		failed(&change);
	else
		succeeded(&change);
	if (!ret && nr == SYS_prctl && a == PR_SET_NAME && area)
		ring_thread_rename((const char *)b);
	if (!ret)
		credentials_called(nr, arg);
	return ret;
}
