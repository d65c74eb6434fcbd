/* SPDX-License-Identifier: MIT */
/*
 * See mask.h. A thread's mask is known from its first call that changes it, or its first handler,
 * on. The signals that it blocked before are its base. A signal leaves the base when the thread
 * first unblocks it. Calls that wait with another mask (sigsuspend(), ppoll() and their kind) count
 * as time without a mask for the signals that they let in; so do sigwait() and its kind for the
 * signals that they accept. A handler has the mask that the kernel gives it, and after its return
 * the thread has the mask of the handler's context. longjmp() reports when it leaves a handler.
 *
 * Not seen: masks set by the program's own system call instructions or by swapcontext(). Any
 * context. fork: the child's thread has the same mask. Costs: bench "irqsoff". Tests:
 * tests/engine/events/irqsoff.
 */
#include "engine/sources/mask.h"

#include <signal.h>
#include <ucontext.h>

#include "arch_context.h"
#include "engine/base/compiler.h"
#include "engine/core/jump.h"
#include "engine/sources/signal.h"

/* SIGKILL, SIGSTOP, and the signals that libc keeps for itself */
#define NEVER (UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1) | UINT64_C(3) << 31)

#define MAX_STACK_BYTES (UINT64_C(1) << 30)
#define SMALL_STACK	(UINT64_C(1) << 20)

static __thread struct {
	uint32_t gen;	/* generation of listeners for which the other fields hold */
	uint16_t known; /* `base` and `mask` are known */
	uint16_t segv;	/* mask_wish_segv() */
	uint64_t base, mask;
	struct handler_frame *top; /* of the handlers that run, the innermost */
} mine __attribute__((tls_model("initial-exec")));

static uint32_t gen;

static inline void renew(void)
{
	uint32_t now = load_relaxed(&gen);

	if (likely(mine.gen == now))
		return;
	mine.known = 0;
	mine.top = NULL;
	barrier();
	mine.gen = now;
}

static inline uint32_t state_now(void)
{
	return (mine.mask & ~mine.base ? MASK_BLOCKED : 0) | (mine.top ? MASK_HANDLER : 0);
}

uint32_t mask_state(void)
{
	return mine.gen == load_relaxed(&gen) && mine.known ? state_now() : 0;
}

int mask_wishes_segv(void)
{
	return mine.segv;
}

void mask_wish_segv(int on)
{
	mine.segv = (uint16_t)on;
}

static inline void notify(uint32_t before, uint64_t function, uint64_t site)
{
	uint32_t after = state_now();

	if (before != after)
		SOURCE_NOTIFY(struct mask_listener, load_acquire(&mask_changes.first), before,
			      after, function, site);
}

/* Report that the thread's mask changes from @had to @now. After renew(). */
static inline void change(uint64_t had, uint64_t now, uint64_t function, uint64_t site)
{
	uint32_t before;

	if (unlikely(!mine.known)) {
		mine.base = mine.mask = had & ~NEVER;
		barrier();
		mine.known = 1;
	}
	before = state_now();
	mine.mask = now & ~NEVER;
	mine.base &= mine.mask;
	notify(before, function, site);
}

/*
 * Whether longjmp() to a frame at @sp leaves the handler @f, which may run on a stack of its own.
 */
static int is_left(const struct handler_frame *f, uint64_t sp)
{
	uint64_t frame = (uint64_t)f;

	if (frame - sp < SMALL_STACK)
		return 0;
	return sp - frame < MAX_STACK_BYTES || sp - *arch_context_sp(f->context) < MAX_STACK_BYTES;
}

static void note_jump(uint64_t sp, const uint64_t *mask)
{
	struct handler_frame *f;
	uint32_t before;
	uint64_t site = 0;

	renew();
	if (!mine.known || interpose_muted())
		return;
	before = state_now();
	for (f = mine.top; f && is_left(f, sp); f = f->below)
		site = f->handler;
	mine.top = f;
	if (mask) {
		mine.mask = *mask & ~NEVER;
		mine.base &= mine.mask;
	}
	notify(before, site, site);
}

static void note_handler(struct handler_frame *f, int begins)
{
	const ucontext_t *context = f->context;
	uint64_t mask = *(const uint64_t *)&context->uc_sigmask;
	uint64_t site = *arch_context_ip(f->context);
	uint32_t before;

	renew();
	if (begins) {
		if (!mine.known) {
			mine.base = mine.mask = mask & ~NEVER;
			barrier();
			mine.known = 1;
		}
		before = state_now();
		f->below = mine.top;
		mine.top = f;
	} else {
		if (mine.top != f)
			return; /* the handler began before there was a listener */
		before = state_now();
		mine.top = f->below;
		mine.mask = mask & ~NEVER;
	}
	notify(before, f->handler, site);
}

enum {
	PTHREAD_SIGMASK,
	SIGPROCMASK,
	SIGHOLD,
	SIGRELSE,
	SIGBLOCK,
	SIGSETMASK,
	SIGSUSPEND,
	PSELECT,
	PPOLL,
	PPOLL_CHK,
	EPOLL_PWAIT,
	EPOLL_PWAIT2,
	SIGWAIT,
	SIGWAITINFO,
	SIGTIMEDWAIT,
	NR_CALLS
};

static struct interposed calls[];

static uint64_t function_of(uint32_t call)
{
	return (uint64_t)calls[call].function->real;
}

/* The bit of a signal; 0: no signal has that number. */
static uint64_t bit_of(int sig)
{
	return sig >= 1 && sig <= 64 ? UINT64_C(1) << (sig - 1) : 0;
}

static inline int set_mask(uint32_t call, int how, const sigset_t *set, sigset_t *old,
			   uint64_t site)
{
	uint64_t had, now, by = 0;
	sigset_t was, *to;
	int ret;

	if (set)
		by = *(const uint64_t *)set; /* read it first: @old may be the same memory */
	renew();
	/* reading the old mask is slow, so only if the program wants it or the mask is unknown */
	to = old || mine.known ? old : &was;
	ret = INTERPOSE_REAL(calls[call], int(int, const sigset_t *, sigset_t *))(how, set, to);
	if (ret)
		return ret;
	if (!set || !load_relaxed(&mask_changes.first) || interpose_muted())
		return 0;
	had = to ? *(const uint64_t *)to : mine.mask;
	now = how == SIG_BLOCK ? had | by : how == SIG_UNBLOCK ? had & ~by : by;
	change(had, now, function_of(call), site);
	return 0;
}

static int wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return set_mask(PTHREAD_SIGMASK, how, set, old, INTERPOSE_CALLER());
}

static int wrap_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return set_mask(SIGPROCMASK, how, set, old, INTERPOSE_CALLER());
}

/*
 * The old functions, which get a signal's number and do not return the old mask. After them the
 * mask is read.
 */
static int one_by_one(uint32_t call, int arg, uint64_t on, uint64_t off, uint64_t site)
{
	int ret = INTERPOSE_REAL(calls[call], int(int))(arg);

	renew();
	if (ret != -1 && load_relaxed(&mask_changes.first) && !interpose_muted()) {
		uint64_t had = mine.known ? mine.mask : 0;

		change(had, (had & ~off) | on, function_of(call), site);
	}
	return ret;
}

static int wrap_sighold(int sig)
{
	return one_by_one(SIGHOLD, sig, bit_of(sig), 0, INTERPOSE_CALLER());
}

static int wrap_sigrelse(int sig)
{
	return one_by_one(SIGRELSE, sig, 0, bit_of(sig), INTERPOSE_CALLER());
}

static int wrap_sigblock(int mask)
{
	return one_by_one(SIGBLOCK, mask, (uint32_t)mask, 0, INTERPOSE_CALLER());
}

static int wrap_sigsetmask(int mask)
{
	return one_by_one(SIGSETMASK, mask, (uint32_t)mask, UINT64_MAX, INTERPOSE_CALLER());
}

typedef long wait_fn(long a, long b, long c, long d, long e, long f);

/*
 * A call that waits with another mask. @set: NULL: with the same mask. @accept: the call accepts
 * the signals of @set in addition to the mask; 0: @set replaces the mask.
 */
static inline long wait_with(uint32_t call, const sigset_t *set, int accept, const long *a,
			     uint64_t site)
{
	uint64_t had, now;
	long ret;

	renew();
	if (!set || !mine.known || !load_relaxed(&mask_changes.first) || interpose_muted())
		return ((wait_fn *)calls[call].real)(a[0], a[1], a[2], a[3], a[4], a[5]);
	had = mine.mask;
	now = *(const uint64_t *)set;
	change(had, accept ? had & ~now : now, function_of(call), site);
	ret = ((wait_fn *)calls[call].real)(a[0], a[1], a[2], a[3], a[4], a[5]);
	renew();
	change(mine.mask, had, function_of(call), site);
	return ret;
}

#define WAITS(call, name, set_at, accepts)                                                         \
	static long wrap_##name(long a, long b, long c, long d, long e, long f)                    \
	{                                                                                          \
		const long args[] = {a, b, c, d, e, f};                                            \
                                                                                                   \
		return wait_with(call, (const sigset_t *)args[set_at], accepts, args,              \
				 INTERPOSE_CALLER());                                              \
	}

WAITS(SIGSUSPEND, sigsuspend, 0, 0)
WAITS(PSELECT, pselect, 5, 0)
WAITS(PPOLL, ppoll, 3, 0)
WAITS(PPOLL_CHK, ppoll_chk, 3, 0)
WAITS(EPOLL_PWAIT, epoll_pwait, 4, 0)
WAITS(EPOLL_PWAIT2, epoll_pwait2, 4, 0)
WAITS(SIGWAIT, sigwait, 0, 1)
WAITS(SIGWAITINFO, sigwaitinfo, 0, 1)
WAITS(SIGTIMEDWAIT, sigtimedwait, 0, 1)

static struct interposed calls[NR_CALLS] = {
	INTERPOSED(PTHREAD_SIGMASK, "pthread_sigmask", wrap_pthread_sigmask),
	INTERPOSED(SIGPROCMASK, "sigprocmask", wrap_sigprocmask),
	INTERPOSED(SIGHOLD, "sighold", wrap_sighold),
	INTERPOSED(SIGRELSE, "sigrelse", wrap_sigrelse),
	INTERPOSED(SIGBLOCK, "sigblock", wrap_sigblock),
	INTERPOSED(SIGSETMASK, "sigsetmask", wrap_sigsetmask),
	INTERPOSED(SIGSUSPEND, "sigsuspend", wrap_sigsuspend),
	INTERPOSED(PSELECT, "pselect", wrap_pselect),
	INTERPOSED(PPOLL, "ppoll", wrap_ppoll),
	INTERPOSED(PPOLL_CHK, "__ppoll_chk", wrap_ppoll_chk),
	INTERPOSED(EPOLL_PWAIT, "epoll_pwait", wrap_epoll_pwait),
	INTERPOSED(EPOLL_PWAIT2, "epoll_pwait2", wrap_epoll_pwait2),
	INTERPOSED(SIGWAIT, "sigwait", wrap_sigwait),
	INTERPOSED(SIGWAITINFO, "sigwaitinfo", wrap_sigwaitinfo),
	INTERPOSED(SIGTIMEDWAIT, "sigtimedwait", wrap_sigtimedwait),
};

static struct handler_frame_listener handlers = {.call = note_handler};

static int want(struct source *s, int on)
{
	int err;

	(void)s;
	if (on)
		store_release(&gen, gen + 1);
	err = interpose_switch(calls, NR_CALLS, on);
	if (err)
		return err;
	err = source_switch(&handler_frames, &handlers.link, on);
	if (err)
		interpose_unregister(calls, NR_CALLS);
	else
		store_release(&jump_listening, on ? note_jump : NULL);
	return err;
}

struct source mask_changes = {.want = want};
