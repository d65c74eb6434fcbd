/* SPDX-License-Identifier: MIT */
/*
 * The context of the calling thread, from the sources held, mask and work (core/context.h). A
 * thread whose context changes takes the slow path with its next record. A thread that begins to
 * wait for a lock makes all threads take it, since it does not know the lock's owner. Whether a
 * thread is pinned to one CPU is read from the kernel once, and again after any thread's call that
 * may change it.
 *
 * Any context; a thread's first record makes one system call. fork: the child goes on. Costs: two
 * stores at each change, a slow path with the next record. Tests: tests/engine/events/context.
 */
#include "engine/core/context.h"

#include <sched.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/sources/held.h"
#include "engine/sources/mask.h"
#include "engine/sources/work.h"

#define MAX_DEPTH 15u
/*
 * Bits of pinned.bits above the context's: how many work items the thread is in, and the work_gen
 * for which that counts.
 */
#define WORK_ONE       (1u << 16)
#define WORK_DEPTH     (0xffu << 16)
#define WORK_GEN_SHIFT 24
#define CPU_WORDS      (RING_MAX_CPUS / 64)

static __thread struct {
	uint32_t gen;
	uint32_t bits;
} pinned __attribute__((tls_model("initial-exec")));
static uint32_t pinned_gen = 1;
/* how often listeners of work items came or left, since the start; 8 bits */
static uint32_t work_gen;

/* CONTEXT_MIGRATE_DISABLED if the thread may run on one CPU alone. */
static uint32_t pinned_bits(void)
{
	uint64_t cpus[CPU_WORDS];
	uint32_t gen = load_relaxed(&pinned_gen), i, n = 0;
	long bytes;

	if (likely(pinned.gen == gen) || sys_is_forbidden())
		return pinned.bits;
	bytes = arch_syscall(SYS_sched_getaffinity, 0, sizeof(cpus), (long)cpus, 0, 0, 0);
	for (i = 0; bytes > 0 && i < (uint32_t)bytes / 8 && n < 2; i++)
		n += (uint32_t)__builtin_popcountll(cpus[i]);
	pinned.bits = (pinned.bits & ~(uint32_t)CONTEXT_MIGRATE_DISABLED) |
		      (n == 1 ? CONTEXT_MIGRATE_DISABLED : 0);
	barrier();
	pinned.gen = gen;
	return pinned.bits;
}

static uint32_t works_now(void)
{
	return pinned.bits >> WORK_GEN_SHIFT == load_relaxed(&work_gen) ? pinned.bits & WORK_DEPTH
									: 0;
}

static void note_work(const struct work *w)
{
	uint32_t in = works_now(), other = pinned.bits & (WORK_ONE - 1);

	if (w->what == WORK_START && in != WORK_DEPTH)
		in += WORK_ONE;
	else if (w->what == WORK_END && in)
		in -= WORK_ONE;
	else
		return;
	pinned.bits = load_relaxed(&work_gen) << WORK_GEN_SHIFT | in | other;
	ring_context_changed();
}

static uint32_t now(void)
{
	uint32_t depth = held_depth(), mask = mask_state();
	uint32_t bits = pinned_bits() & CONTEXT_MIGRATE_DISABLED;

	if (works_now())
		bits |= CONTEXT_SOFTIRQ;

	if (mask)
		bits |= CONTEXT_IRQS_OFF;
	if (mask & MASK_HANDLER)
		bits |= CONTEXT_HARDIRQ;
	if (depth && held_is_awaited())
		bits |= CONTEXT_NEED_RESCHED;
	return bits | (depth < MAX_DEPTH ? depth : MAX_DEPTH) << CONTEXT_DEPTH_SHIFT;
}

static void note_held(const struct lock_call *c, uint32_t before, uint32_t after)
{
	(void)c;
	if (before != after)
		ring_context_changed();
}

static void note_mask(uint32_t before, uint32_t after, uint64_t function, uint64_t site)
{
	(void)before;
	(void)after;
	(void)function;
	(void)site;
	ring_context_changed();
}

static void note_wait(const struct lock_call *c)
{
	(void)c;
	ring_change_pages();
}

enum { SCHED_SETAFFINITY, PTHREAD_SETAFFINITY };
static int wrap_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set);
static int wrap_pthread_setaffinity(unsigned long thread, size_t bytes, const cpu_set_t *set);
static struct interposed calls[] = {
	INTERPOSED(SCHED_SETAFFINITY, "sched_setaffinity", wrap_sched_setaffinity),
	INTERPOSED(PTHREAD_SETAFFINITY, "pthread_setaffinity_np", wrap_pthread_setaffinity),
};

static int wrap_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
	int ret = INTERPOSE_REAL(calls[SCHED_SETAFFINITY],
				 int(pid_t, size_t, const cpu_set_t *))(pid, bytes, set);

	fetch_add(&pinned_gen, 1);
	ring_change_pages();
	return ret;
}

static int wrap_pthread_setaffinity(unsigned long thread, size_t bytes, const cpu_set_t *set)
{
	int ret = INTERPOSE_REAL(calls[PTHREAD_SETAFFINITY],
				 int(unsigned long, size_t, const cpu_set_t *))(thread, bytes, set);

	fetch_add(&pinned_gen, 1);
	ring_change_pages();
	return ret;
}

static struct held_listener held = {.call = note_held};
static struct mask_listener mask = {.call = note_mask};
static struct lock_listener waits = {.call = note_wait};
static struct work_listener items = {.call = note_work};

static void ignore(void)
{
	source_ignore(&works, &items.link);
	source_ignore(&held_locks, &held.link);
	source_ignore(&mask_changes, &mask.link);
	source_ignore(&lock_sources[LOCK_BEGIN], &waits.link);
	interpose_unregister(calls, ARRAY_SIZE(calls));
}

static int listen_to(int on)
{
	int err;

	if (!on) {
		ignore();
		return 0;
	}
	fetch_add(&pinned_gen, 1);
	store_relaxed(&work_gen, (load_relaxed(&work_gen) + 1) & 0xff);
	err = interpose_register(calls, ARRAY_SIZE(calls));
	if (err)
		return err;
	err = source_listen(&held_locks, &held.link);
	if (!err)
		err = source_listen(&lock_sources[LOCK_BEGIN], &waits.link);
	if (!err)
		err = source_listen(&mask_changes, &mask.link);
	if (!err)
		err = source_listen(&works, &items.link);
	if (err)
		ignore();
	return err;
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	if (interpose_possible())
		context_register(now, listen_to);
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
