/* SPDX-License-Identifier: MIT */
/*
 * nesting WHAT - calls that end in unusual ways, written down by the program itself (written.h),
 * for tests/engine/graph/nesting to compare with the recorded graph.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "fiber.h"
#include "written.h"

#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
#define REGISTERS long a, long b, long c, long d, long e, long f

extern "C" {

/* ---- try { B -> C throws } catch { D }, with a number of arguments on the stack of each ---- */

NOINLINE void c_throws(long n)
{
	ENTERED(c_throws);
	OPAQUE(n);
	if (n >= 0)
		throw n;
	KEEP();
}

NOINLINE void c_deeper(long n, long depth)
{
	ENTERED(c_deeper);
	OPAQUE(depth);
	if (depth)
		c_deeper(n, depth - 1);
	else
		c_throws(n);
	KEEP();
}

#define WITH_ARGUMENTS(prefix, body)                                                               \
	NOINLINE long prefix##0(REGISTERS)                                                         \
	{                                                                                          \
		ENTERED(prefix##0);                                                                \
		OPAQUE(a);                                                                         \
		body;                                                                              \
		return a + b + c + d + e + f;                                                      \
	}                                                                                          \
	NOINLINE long prefix##1(REGISTERS, long g)                                                 \
	{                                                                                          \
		ENTERED(prefix##1);                                                                \
		OPAQUE(g);                                                                         \
		body;                                                                              \
		return a + b + c + d + e + f + g;                                                  \
	}                                                                                          \
	NOINLINE long prefix##2(REGISTERS, long g, long h)                                         \
	{                                                                                          \
		ENTERED(prefix##2);                                                                \
		OPAQUE(g);                                                                         \
		body;                                                                              \
		return a + b + c + d + e + f + g + h;                                              \
	}                                                                                          \
	NOINLINE long prefix##3(REGISTERS, long g, long h, long i)                                 \
	{                                                                                          \
		ENTERED(prefix##3);                                                                \
		OPAQUE(g);                                                                         \
		body;                                                                              \
		return a + b + c + d + e + f + g + h + i;                                          \
	}                                                                                          \
	NOINLINE long prefix##4(REGISTERS, long g, long h, long i, long j)                         \
	{                                                                                          \
		ENTERED(prefix##4);                                                                \
		OPAQUE(g);                                                                         \
		body;                                                                              \
		return a + b + c + d + e + f + g + h + i + j;                                      \
	}                                                                                          \
	NOINLINE long prefix##7(REGISTERS, long g, long h, long i, long j, long k, long l, long m) \
	{                                                                                          \
		ENTERED(prefix##7);                                                                \
		OPAQUE(g);                                                                         \
		body;                                                                              \
		return a + b + c + d + e + f + g + h + i + j + k + l + m;                          \
	}

WITH_ARGUMENTS(b_, a & 1 ? c_throws(a) : c_deeper(a, a & 3))
NOINLINE void d_inner(void)
{
	ENTERED(d_inner);
	KEEP();
}
WITH_ARGUMENTS(d_, d_inner())

/* all pairs of B and D, in one frame: what D finds on the stack is what B or C left there */
NOINLINE long a_pairs(long n)
{
	ENTERED(a_pairs);
	long sum = 0;

#define PAIR(B, D)                                                                                 \
	try {                                                                                      \
		sum += B;                                                                          \
	} catch (long x) {                                                                         \
		sum += x + D;                                                                      \
	}
#define PAIRS(B)                                                                                   \
	PAIR(B, d_0(1, 2, 3, 4, 5, 6))                                                             \
	PAIR(B, d_1(1, 2, 3, 4, 5, 6, 7))                                                          \
	PAIR(B, d_2(1, 2, 3, 4, 5, 6, 7, 8))                                                       \
	PAIR(B, d_3(1, 2, 3, 4, 5, 6, 7, 8, 9))                                                    \
	PAIR(B, d_4(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))                                                \
	PAIR(B, d_7(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13))
	PAIRS(b_0(n, 2, 3, 4, 5, 6))
	PAIRS(b_1(n, 2, 3, 4, 5, 6, 7))
	PAIRS(b_2(n, 2, 3, 4, 5, 6, 7, 8))
	PAIRS(b_3(n, 2, 3, 4, 5, 6, 7, 8, 9))
	PAIRS(b_4(n, 2, 3, 4, 5, 6, 7, 8, 9, 10))
	PAIRS(b_7(n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13))
	return sum;
}

/* one pair in a frame of its own, and nothing between: the next is the exit */
#define ALONE(name, B, D)                                                                          \
	NOINLINE long name(long n)                                                                 \
	{                                                                                          \
		ENTERED(name);                                                                     \
		try {                                                                              \
			return B;                                                                  \
		} catch (long x) {                                                                 \
			return D;                                                                  \
		}                                                                                  \
	}
ALONE(a_none, b_0(n, 2, 3, 4, 5, 6), x)
ALONE(a_more, b_0(n, 2, 3, 4, 5, 6), d_7(x, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13))
ALONE(a_less, b_7(n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13), d_0(x, 2, 3, 4, 5, 6))
ALONE(a_odd, b_1(n, 2, 3, 4, 5, 6, 7), d_3(x, 2, 3, 4, 5, 6, 7, 8, 9))
ALONE(a_same, b_3(n, 2, 3, 4, 5, 6, 7, 8, 9), d_3(x, 2, 3, 4, 5, 6, 7, 8, 9))

NOINLINE long a_alloca(long n)
{
	ENTERED(a_alloca);
	long sum = 0;

	for (long i = 0; i < 12; i++) {
		try {
			sum += b_1(n + i, 2, 3, 4, 5, 6, 7);
		} catch (long x) {
			char *p = static_cast<char *>(alloca(static_cast<size_t>(8 + 24 * i)));

			memset(p, 1, static_cast<size_t>(8 + 24 * i));
			sum += d_2(x, 2, 3, 4, 5, 6, 7, p[3]);
			sum += d_0(x, 2, 3, 4, 5, p[7]);
		}
	}
	return sum;
}

/* the same function at each depth: an exit may be of any of them */
NOINLINE long recursive(long n, long until)
{
	ENTERED(recursive);
	long r = 0;

	OPAQUE(until);
	if (!n)
		throw until;
	try {
		r = recursive(n - 1, until);
	} catch (long x) {
		if (n % x)
			throw;
		r = n > 1 && n % 4 == 0 ? recursive(n / 2, n / 2 + 1) : n;
	}
	KEEP();
	return r + 1;
}

struct Traced {
	long n;

	NOINLINE explicit Traced(long x);
	NOINLINE ~Traced();
};

NOINLINE void helper(long n)
{
	ENTERED(helper);
	try {
		if (n & 1)
			c_throws(n);
	} catch (long x) {
		d_inner();
	}
	KEEP();
}

NOINLINE void with_destructors(long n)
{
	ENTERED(with_destructors);
	Traced one(n), two(n + 1);

	if (n > 1)
		with_destructors(n - 1);
	else
		c_deeper(n, 2);
	KEEP();
}

NOINLINE void destructors(long n)
{
	ENTERED(destructors);
	try {
		with_destructors(n);
	} catch (long) {
		d_inner();
	}
	KEEP();
}

NOINLINE void rethrow(long n)
{
	ENTERED(rethrow);
	try {
		c_deeper(n, 3);
	} catch (long) {
		d_inner();
		throw;
	}
	KEEP();
}

NOINLINE void rethrows(long n)
{
	ENTERED(rethrows);
	for (long i = 0; i < 5; i++) {
		try {
			try {
				rethrow(n);
			} catch (long x) {
				d_1(1, 2, 3, 4, 5, 6, 7);
				throw x + 1;
			}
		} catch (long x) {
			d_0(1, 2, 3, 4, 5, x);
		}
	}
	KEEP();
}

NOTRACE static void do_throws(void)
{
	for (long i = 0; i < 20; i++) {
		a_pairs(i);
		a_none(i);
		a_none(i);
		a_more(i);
		a_less(i);
		a_odd(i);
		a_same(i);
		a_alloca(i);
		rethrows(i);
		destructors(i % 5);
	}
	for (long i = 1; i < 40; i++) {
		try {
			recursive(i, i % 7 + 1);
		} catch (long) {
			d_inner();
		}
	}
}

/* ---- longjmp ---- */

static __thread jmp_buf jump_to;

NOINLINE void jumper(long n)
{
	written_enter("jumper");
	OPAQUE(n);
	if (!n)
		longjmp(jump_to, 1);
	jumper(n - 1);
	KEEP();
	written_leave();
}

NOINLINE long j_wide(REGISTERS, long g, long h, long i, long j, long k)
{
	written_enter("j_wide");
	OPAQUE(g);
	a += b + c + d + e + f + g + h + i + j + k;
	written_leave();
	return a;
}

NOINLINE void j_leaf(void)
{
	written_enter("j_leaf");
	KEEP();
	written_leave();
}

NOINLINE void j_up(long n)
{
	written_enter("j_up");
	if (n)
		j_up(n - 1);
	KEEP();
	written_leave();
}

NOINLINE void j_plain(long n)
{
	written_enter("j_plain");
	unsigned depth = written_depth();

	if (!setjmp(jump_to))
		jumper(n);
	written_cut(depth);
	j_leaf();
	written_leave();
}

/* nothing between the jump and the exit */
NOINLINE void j_silent(long n)
{
	written_enter("j_silent");
	unsigned depth = written_depth();

	if (!setjmp(jump_to))
		jumper(n);
	written_cut(depth);
	written_leave();
}

NOINLINE void j_alloca(long n)
{
	written_enter("j_alloca");
	unsigned depth = written_depth();
	volatile long i;

	for (i = 0; i < 10; i++) {
		if (!setjmp(jump_to)) {
			jumper(n + i);
		} else {
			size_t size = static_cast<size_t>(8 + i * 40);
			char *p = static_cast<char *>(alloca(size));

			written_cut(depth);
			memset(p, 1, size);
			j_wide(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, p[5]);
			j_up(i);
		}
	}
	written_leave();
}

/* the same frames again and again, never returned from */
NOINLINE void j_again(long n)
{
	written_enter("j_again");
	unsigned depth = written_depth();
	volatile long times = 0;

	setjmp(jump_to);
	written_cut(depth);
	if (times++ < n)
		jumper(times % 3);
	written_leave();
}

NOTRACE static void do_jumps(void)
{
	for (long i = 0; i < 30; i++) {
		j_plain(i % 8);
		j_silent(i % 8);
		j_silent(0);
		j_alloca(i % 5);
		j_again(i);
		j_up(i % 6);
	}
}

/* ---- tail calls ---- */

NOINLINE long t_end(long n)
{
	written_enter("t_end");
	OPAQUE(n);
	written_leave();
	return n;
}

NOINLINE long t_odd(long n);

NOINLINE long t_even(long n)
{
	written_enter("t_even");
	written_tail();
	if (!n)
		return t_end(n);
	return t_odd(n - 1);
}

NOINLINE long t_odd(long n)
{
	written_enter("t_odd");
	j_leaf();
	written_tail();
	if (!n)
		return t_end(n);
	return t_even(n - 1);
}

NOINLINE long t_ordinary(long n)
{
	written_enter("t_ordinary");
	long r = t_even(n) + 1;

	r += t_odd(n);
	KEEP();
	written_leave();
	return r;
}

/* a tail call whose end goes on to call, throw and jump */
NOINLINE long t_calls(long n)
{
	written_enter("t_calls");
	j_up(n);
	written_tail();
	return t_even(n);
}

NOINLINE long t_throws(long n)
{
	written_enter("t_throws");
	if (n >= 0)
		throw n;
	written_leave();
	return n;
}

NOINLINE long t_to_throw(long n)
{
	written_enter("t_to_throw");
	j_leaf();
	written_tail();
	return t_throws(n);
}

NOINLINE long t_catches(long n)
{
	written_enter("t_catches");
	unsigned depth = written_depth();
	long r;

	try {
		r = t_to_throw(n) + 1;
	} catch (long x) {
		written_cut(depth);
		j_leaf();
		r = x;
	}
	KEEP();
	written_leave();
	return r;
}

NOINLINE void t_to_jump(long n)
{
	written_enter("t_to_jump");
	j_leaf();
	written_tail();
	jumper(n);
}

NOINLINE void t_jumps(long n)
{
	written_enter("t_jumps");
	unsigned depth = written_depth();

	if (!setjmp(jump_to))
		t_to_jump(n);
	written_cut(depth);
	j_leaf();
	written_leave();
}

NOTRACE static void do_tails(void)
{
	for (long i = 0; i < 60; i++) {
		t_even(i);
		t_ordinary(i);
		t_calls(i % 9);
		t_catches(i);
		t_jumps(i % 4);
	}
}

/* ---- signals ---- */

static sigjmp_buf escape;
static struct written *signal_log; /* of the alternate stack, when handlers run there */
static int raise_inner;

NOINLINE void s_inner(int sig)
{
	struct written *before = signal_log ? written_here(signal_log) : nullptr;

	written_enter("s_inner");
	(void)sig;
	j_leaf();
	written_leave();
	if (before)
		written_here(before);
}

NOINLINE void s_handler(int sig)
{
	struct written *before = signal_log ? written_here(signal_log) : nullptr;

	written_enter("s_handler");
	(void)sig;
	j_up(2);
	if (raise_inner)
		raise(SIGUSR2);
	j_leaf();
	written_leave();
	if (before)
		written_here(before);
}

NOINLINE void s_escapes(int sig)
{
	struct written *before = signal_log ? written_here(signal_log) : nullptr;

	written_enter("s_escapes");
	(void)sig;
	j_up(1);
	if (before) {
		written_cut(0);
		written_here(before);
	}
	siglongjmp(escape, 1);
}

NOINLINE void s_throws(int sig)
{
	struct written *before = signal_log ? written_here(signal_log) : nullptr;

	written_enter("s_throws");
	j_up(1);
	if (before) {
		written_cut(0);
		written_here(before);
	}
	throw static_cast<long>(sig);
}

static int (*volatile raiser)(int) = raise; /* raise() is declared to throw nothing */

NOINLINE void s_raises(long n)
{
	written_enter("s_raises");
	if (n)
		s_raises(n - 1);
	else
		raiser(SIGUSR1);
	j_leaf();
	written_leave();
}

NOINLINE void s_escaped(long n)
{
	written_enter("s_escaped");
	unsigned depth = written_depth();

	if (!sigsetjmp(escape, 1))
		s_raises(n);
	written_cut(depth);
	j_leaf();
	written_leave();
}

NOINLINE void s_thrown(long n)
{
	written_enter("s_thrown");
	unsigned depth = written_depth();

	try {
		s_raises(n);
	} catch (long) {
		written_cut(depth);
		j_leaf();
	}
	written_leave();
}

NOTRACE static void on(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = flags;
	sigaction(sig, &sa, nullptr);
}

NOTRACE static void do_signals_with(int flags)
{
	on(SIGUSR2, s_inner, flags);
	for (long i = 0; i < 20; i++) {
		raise_inner = i & 1;
		on(SIGUSR1, s_handler, flags);
		s_raises(i % 7);
		on(SIGUSR1, s_escapes, flags);
		s_escaped(i % 7);
		s_escaped(0);
		on(SIGUSR1, s_throws, flags | SA_NODEFER);
		s_thrown(i % 5);
	}
}

NOTRACE static void do_signals(void)
{
	do_signals_with(0);
}

NOTRACE static void do_altstack(void)
{
	stack_t ss;

	memset(&ss, 0, sizeof(ss));
	ss.ss_size = 256 * 1024;
	ss.ss_sp = mmap(nullptr, ss.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	sigaltstack(&ss, nullptr);
	signal_log = written_new();
	do_signals_with(SA_ONSTACK);
	signal_log = nullptr;
}

/* ---- coroutines ---- */

NOINLINE void f_walk(struct fiber *f, long depth)
{
	written_enter("f_walk");
	if (depth) {
		f_walk(f, depth - 1);
		fiber_yield(f);
		j_leaf();
		f_walk(f, depth > 1 ? depth - 2 : 0);
	}
	fiber_yield(f);
	written_leave();
}

NOINLINE void f_throw(struct fiber *f, long depth)
{
	ENTERED(f_throw);
	if (depth)
		f_throw(f, depth - 1);
	fiber_yield(f);
	c_throws(depth);
	KEEP();
}

NOINLINE void f_catch(struct fiber *f, long depth)
{
	ENTERED(f_catch);
	try {
		f_throw(f, depth);
	} catch (long) {
		fiber_yield(f);
		d_1(1, 2, 3, 4, 5, 6, 7);
	}
	KEEP();
}

NOINLINE void f_run(struct fiber *f)
{
	written_enter("f_run");
	f_walk(f, f->n % 6);
	f_catch(f, f->n % 4);
	j_up(3);
	f->done = 1;
	fiber_yield(f);
	abort();
}

NOINLINE void f_round(struct fiber *f, int nr, int *alive)
{
	written_enter("f_round");
	for (int i = 0; i < nr; i++) {
		if (!f[i].done && !fiber_resume(&f[i]))
			--*alive;
		if (i % 3 == 0)
			j_leaf();
	}
	written_leave();
}

NOTRACE static void do_fibers(void)
{
	enum { NR = 12 };
	struct fiber f[NR];
	int alive = NR;

	for (int i = 0; i < NR; i++) {
		f[i].log = written_new();
		fiber_make(&f[i], f_run, static_cast<char *>(malloc(16384)), 16384, i);
	}
	while (alive)
		f_round(f, NR, &alive);
}

/*
 * A stack used again while calls on it were open, from a lower end, too: the old slots are
 * untouched then. There is a traced call elsewhere in between, as of any scheduler: without,
 * the new calls would look like calls of the innermost old one.
 */
NOTRACE static void do_abandoned(void)
{
	char *stack = static_cast<char *>(malloc(65536));
	struct fiber f;

	f.log = written_new();
	for (int i = 0; i < 60; i++) {
		struct written *here = written_here(f.log);

		written_cut(0);
		written_here(here);
		fiber_make(&f, f_run, stack, 65536 - static_cast<size_t>(i % 4) * 16, i);
		j_leaf();
		for (int k = 0; k < i % 9 && fiber_resume(&f); k++)
			j_leaf();
	}
}

NOINLINE void *m_thread(void *arg)
{
	struct fiber *f = static_cast<struct fiber *>(arg);

	written_here(written_new());
	written_enter("m_thread");
	for (int i = 0; i < 4 && !f->done; i++) {
		fiber_resume(f);
		j_leaf();
	}
	written_leave();
	return nullptr;
}

NOTRACE static void do_moved(void)
{
	struct fiber f;
	pthread_t t;

	f.log = written_new();
	fiber_make(&f, f_run, static_cast<char *>(malloc(65536)), 65536, 5);
	while (!f.done) {
		pthread_create(&t, nullptr, m_thread, &f);
		pthread_join(t, nullptr);
		if (!f.done)
			fiber_resume(&f);
	}
}

/* Two threads exchange two coroutines at each step; often neither has made a call of its own
 * between. */
enum { W_STEPS = 400 };
static struct fiber w_fibers[2];
static pthread_barrier_t w_barrier;

NOINLINE void w_run(struct fiber *f)
{
	written_enter("w_run");
	for (long i = 0; i < f->n; i++) {
		f_walk(f, i % 5);
		j_up(i % 3);
	}
	f->done = 1;
	fiber_yield(f);
	abort();
}

NOINLINE void *w_thread(void *arg)
{
	long which = reinterpret_cast<long>(arg);

	written_here(written_new());
	written_enter("w_thread");
	for (long i = 0;; i++) {
		struct fiber *f = &w_fibers[(i + which) & 1];

		pthread_barrier_wait(&w_barrier);
		if (w_fibers[0].done && w_fibers[1].done)
			break;
		pthread_barrier_wait(&w_barrier);
		if (!f->done)
			fiber_resume(f);
		if (i % 3 == which)
			j_leaf();
	}
	written_leave();
	return nullptr;
}

NOTRACE static void do_exchanged(void)
{
	pthread_t t[2];

	pthread_barrier_init(&w_barrier, nullptr, 2);
	for (auto &f : w_fibers) {
		f.log = written_new();
		fiber_make(&f, w_run, static_cast<char *>(malloc(65536)), 65536, W_STEPS);
	}
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], nullptr, w_thread, reinterpret_cast<void *>(i));
	for (auto &one : t)
		pthread_join(one, nullptr);
}

static ucontext_t u_main, u_context;
static struct written *u_log, *u_resumer;

NOTRACE static void u_resume(void)
{
	u_resumer = written_here(u_log);
	swapcontext(&u_main, &u_context);
}

NOINLINE void u_walk(long depth)
{
	written_enter("u_walk");
	if (depth)
		u_walk(depth - 1);
	written_here(u_resumer);
	swapcontext(&u_context, &u_main);
	j_leaf();
	written_leave();
}

NOINLINE void u_run(void)
{
	written_enter("u_run");
	u_walk(6);
	j_up(2);
	written_leave();
	written_here(u_resumer);
}

NOTRACE static void do_contexts(void)
{
	char *stack = static_cast<char *>(malloc(65536));

	u_log = written_new();
	for (int i = 0; i < 10; i++) {
		getcontext(&u_context);
		u_context.uc_stack.ss_sp = stack;
		u_context.uc_stack.ss_size = 65536;
		u_context.uc_link = &u_main;
		makecontext(&u_context, u_run, 0);
		for (int k = 0; k < 8; k++) {
			u_resume();
			j_leaf();
		}
	}
}

/* ---- threads: all of it at once, and ends in the depth ---- */

NOINLINE void *x_thread(void *)
{
	written_here(written_new());
	{
		ENTERED(x_thread);
		do_throws();
		do_jumps();
		do_tails();
	}
	return nullptr;
}

NOTRACE static void do_threads(void)
{
	pthread_t t[4];

	for (auto &one : t)
		pthread_create(&one, nullptr, x_thread, nullptr);
	for (auto &one : t)
		pthread_join(one, nullptr);
}

NOINLINE void e_deep(long n)
{
	ENTERED(e_deep);
	if (!n)
		pthread_exit(nullptr);
	e_deep(n - 1);
	KEEP();
}

NOINLINE void *e_thread(void *arg)
{
	written_here(written_new());
	ENTERED(e_thread);
	e_deep(reinterpret_cast<long>(arg));
	return nullptr;
}

/* stacks of threads are used again by the next ones */
NOTRACE static void do_exits(void)
{
	for (long i = 0; i < 40; i++) {
		pthread_t t;

		pthread_create(&t, nullptr, e_thread, reinterpret_cast<void *>(i % 11));
		pthread_join(t, nullptr);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{"throws", do_throws},	     {"jumps", do_jumps},	{"tails", do_tails},
	{"signals", do_signals},     {"altstack", do_altstack}, {"fibers", do_fibers},
	{"abandoned", do_abandoned}, {"moved", do_moved},	{"exchanged", do_exchanged},
	{"contexts", do_contexts},   {"threads", do_threads},	{"exits", do_exits},
};

} // extern "C"

NOINLINE Traced::Traced(long x) : n(x)
{
	ENTERED(Traced::Traced);
	d_inner();
}

NOINLINE Traced::~Traced()
{
	ENTERED(Traced::~Traced);
	helper(n);
}

NOTRACE int main(int argc, char **argv)
{
	written_here(written_new());
	for (const auto &p : parts)
		if (argc < 2 || !strcmp(argv[1], p.name))
			p.run();
	written_print();
	return 0;
}
