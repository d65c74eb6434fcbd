/* SPDX-License-Identifier: MIT */
/*
 * More stacks than threads: ucontext, a hand-written switch as boost's or a Go-like runtime's, on
 * stacks from malloc that lie side by side, on mapped ones, moved between threads; alternate signal
 * stacks, one handler inside another; raw clone() onto a stack of the program's.
 */
#include "fiber_switch.h"
#include "transcript.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES (16 * 1024)
#define NR_FIBERS   20

struct fiber {
	void *sp;   /* where it stopped */
	void *back; /* the resumer's */
	void (*run)(struct fiber *f);
	char *stack;
	int n, value, done;
};

static NOINLINE void fiber_make(struct fiber *f, void (*run)(struct fiber *f), char *stack,
				size_t size, int n)
{
	void **top = (void **)(((uintptr_t)stack + size) & ~(uintptr_t)15);

	memset(f, 0, sizeof(*f));
	f->run = run;
	f->stack = stack;
	f->n = n;
	*--top = (void *)fiber_start;
	*--top = NULL;	      /* rbp */
	*--top = f;	      /* rbx */
	*--top = (void *)run; /* r12 */
	*--top = NULL;
	*--top = NULL;
	*--top = NULL;
	f->sp = top;
}

static NOINLINE int fiber_resume(struct fiber *f)
{
	fiber_switch(&f->back, f->sp);
	KEEP();
	return !f->done;
}

static NOINLINE void fiber_yield(struct fiber *f, int value)
{
	f->value = value;
	fiber_switch(&f->sp, f->back);
	KEEP();
}

static NOINLINE int add(int a, int b)
{
	KEEP();
	return a + b;
}

/* a recursive walk that stops at each step, in the depth of its calls */
static NOINLINE void walk(struct fiber *f, int depth)
{
	if (!depth)
		return;
	fiber_yield(f, add(f->n, depth));
	walk(f, depth - 1);
	fiber_yield(f, add(f->n, -depth));
	walk(f, depth - 2 > 0 ? depth - 2 : 0);
	KEEP();
}

static NOINLINE void walker(struct fiber *f)
{
	walk(f, 6);
	f->done = 1;
	fiber_yield(f, -1);
}

static NOINLINE void stack_teller(struct fiber *f)
{
	fiber_yield(f, 1);
	say_stack("in a fiber");
	f->done = 1;
	fiber_yield(f, -1);
}

static NOINLINE void side_by_side(void)
{
	struct fiber f[NR_FIBERS];
	char *stacks[NR_FIBERS];
	int i, alive = NR_FIBERS, rounds = 0;
	long sum = 0;

	for (i = 0; i < NR_FIBERS; i++) {
		stacks[i] = malloc(STACK_BYTES);
		fiber_make(&f[i], walker, stacks[i], STACK_BYTES, i * 1000);
	}
	while (alive) {
		for (i = 0; i < NR_FIBERS; i++) {
			/* not all at the same pace */
			if (f[i].done || (rounds + i) % 3 == 0)
				continue;
			if (!fiber_resume(&f[i]))
				alive--;
			sum = sum * 3 + f[i].value;
			sum %= 1000000007;
		}
		rounds++;
	}
	for (i = 0; i < NR_FIBERS; i++)
		free(stacks[i]);
	say("fibers %ld in %d rounds", sum, rounds);
}

/* one left half way, its memory used again for another */
static NOINLINE void abandoned(void)
{
	char *stack = malloc(STACK_BYTES * 4);
	struct fiber f;
	int i, sum = 0;

	for (i = 0; i < 50; i++) {
		fiber_make(&f, walker, stack, STACK_BYTES * 4 - (size_t)(i % 5) * 16, i);
		fiber_resume(&f);
		fiber_resume(&f);
		if (i % 2)
			fiber_resume(&f);
		sum = add(sum, f.value);
	}
	free(stack);
	say("abandoned %d", sum);
}

static NOINLINE void mapped(void)
{
	size_t size = 256 * 1024;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fiber f;
	int sum = 0;

	fiber_make(&f, walker, stack, size, 5);
	while (fiber_resume(&f))
		sum = add(sum, f.value);
	say("mapped %d", sum);
	fiber_make(&f, stack_teller, stack, size, 5);
	while (fiber_resume(&f))
		say("  told");
	munmap(stack, size);
}

struct moved {
	struct fiber f;
	int sum, alive;
};

static NOINLINE void *mover(void *arg)
{
	struct moved *m = arg;
	int i;

	for (i = 0; i < 3 && m->alive; i++) {
		m->alive = fiber_resume(&m->f);
		m->sum = add(m->sum, m->f.value);
	}
	return NULL;
}

/*
 * ThreadSanitizer keeps a list of each thread's calls. A fiber that another thread began leaves
 * more calls here than were entered, and what lies below the list is whatever happens to lie there.
 */
void __tsan_func_entry(void *caller) __attribute__((weak));

static NOINLINE void *mover_thread(void *arg)
{
	int i;

	for (i = 0; i < 64 && __tsan_func_entry; i++)
		__tsan_func_entry(NULL);
	return mover(arg);
}

static NOINLINE void between_threads(void)
{
	char *stack = malloc(STACK_BYTES * 2);
	struct moved m = {.alive = 1};
	int threads = 0;

	fiber_make(&m.f, walker, stack, STACK_BYTES * 2, 7);
	say_flush();
	while (m.alive) {
		pthread_t t;

		pthread_create(&t, NULL, mover_thread, &m);
		pthread_join(t, NULL);
		threads++;
		mover(&m);
	}
	free(stack);
	say("between threads %d, %d of them", m.sum, threads);
}

/* ---- ucontext */
static ucontext_t main_context, contexts[3];
static int turns;

static NOINLINE void hop(int from, int depth)
{
	if (depth) {
		hop(from, depth - 1);
		KEEP();
		return;
	}
	turns++;
	swapcontext(&contexts[from], &contexts[(from + 1) % 3]);
	KEEP();
}

static void context_main(int which, int rounds)
{
	int i;

	for (i = 0; i < rounds; i++)
		hop(which, i % 7);
}

static NOINLINE void ucontexts(void)
{
	char *stacks[3];
	int i;

	for (i = 0; i < 3; i++) {
		stacks[i] = malloc(STACK_BYTES * 4);
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK_BYTES * 4;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))context_main, 2, i, 40 + i);
	}
	swapcontext(&main_context, &contexts[0]);
	for (i = 0; i < 3; i++)
		free(stacks[i]);
	say("contexts %d turns", turns);
}

/* getcontext and setcontext as a jump back */
static NOINLINE int back_by_context(void)
{
	static ucontext_t here;
	volatile int n = 0;

	getcontext(&here);
	n++;
	if (n < 5) {
		add(n, 1);
		setcontext(&here);
	}
	return n;
}

/* ---- alternate signal stacks */
static volatile int handled;
static sigjmp_buf escape;

static NOINLINE void count(int n)
{
	handled += n;
	KEEP();
}

static NOINLINE void inner_handler(int sig)
{
	(void)sig;
	count(1);
}

static NOINLINE void outer_handler(int sig)
{
	(void)sig;
	count(10);
	raise(SIGUSR2);
	count(100);
}

static NOINLINE void escaping_handler(int sig)
{
	(void)sig;
	count(1000);
	siglongjmp(escape, 1);
}

static NOINLINE void with_signal(int sig, int depth)
{
	if (depth)
		with_signal(sig, depth - 1);
	else
		raise(sig);
	count(0);
}

static NOINLINE void alternate(void)
{
	struct sigaction sa;
	stack_t ss;
	volatile int i;

	memset(&ss, 0, sizeof(ss));
	memset(&sa, 0, sizeof(sa));
	ss.ss_size = 128 * 1024;
	ss.ss_sp = malloc(ss.ss_size);
	sigaltstack(&ss, NULL);
	sa.sa_flags = SA_ONSTACK;
	sa.sa_handler = outer_handler;
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_handler = inner_handler;
	sigaction(SIGUSR2, &sa, NULL);
	for (i = 0; i < 5; i++)
		with_signal(SIGUSR1, i);
	sa.sa_handler = escaping_handler;
	sigaction(SIGUSR2, &sa, NULL);
	for (i = 0; i < 5; i++) {
		if (!sigsetjmp(escape, 1))
			with_signal(i % 2 ? SIGUSR1 : SIGUSR2, i);
		count(2);
	}
	signal(SIGUSR1, SIG_DFL);
	signal(SIGUSR2, SIG_DFL);
	ss.ss_flags = SS_DISABLE;
	sigaltstack(&ss, NULL);
	free(ss.ss_sp);
	say("handled %d", handled);
}

/* ---- raw clone: another process that shares all memory, on a stack of ours */
struct cloned {
	int in, out;
};

static NOINLINE int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static NOINLINE int clone_main(void *arg)
{
	struct cloned *c = arg;

	c->out = fib(c->in);
	KEEP();
	return 3;
}

static NOINLINE void share_all(void)
{
	size_t size = 64 * 1024;
	char *stack = malloc(size);
	struct cloned c = {15, 0};
	int i, status = 0;
	pid_t pid;

	for (i = 0; i < 3; i++, c.in++) {
		say_flush();
		pid = clone(clone_main, stack + size, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD,
			    &c);
		waitpid(pid, &status, 0);
		say("clone %d, status %d", c.out, WEXITSTATUS(status));
	}
	/* and one that shares nothing */
	say_flush();
	pid = clone(clone_main, stack + size, SIGCHLD, &c);
	waitpid(pid, &status, 0);
	say("copy %d, status %d", c.out, WEXITSTATUS(status));
	free(stack);
}

/*
 * In a child: a thread that shares its thread-local memory with what it made by clone() is traced
 * no more, and the sections behind this one are to be.
 */
static NOINLINE void clones(void)
{
	int status = 0;
	pid_t pid;

#ifdef THREAD_SANITIZED
	/* its clone() is made for other uses: what the child does differs from run to run */
	return;
#endif
	say_flush();
	pid = fork();
	if (!pid) {
		share_all();
		say_flush();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	say("cloned, status %#x", status);
}

/* ---- a thread on a stack that the program gives, and a small one */
static NOINLINE void *on_given(void *arg)
{
	*(int *)arg = fib(12);
	return NULL;
}

static NOINLINE void given_stacks(void)
{
	size_t size = 64 * 1024;
	char *stack = aligned_alloc(4096, size);
	pthread_attr_t attr;
	pthread_t t;
	int i, out = 0;

	for (i = 0; i < 3; i++) {
		pthread_attr_init(&attr);
		pthread_attr_setstack(&attr, stack, size);
		if (pthread_create(&t, &attr, on_given, &out))
			break;
		pthread_join(t, NULL);
		pthread_attr_destroy(&attr);
	}
	say("given stack %d, %d times", out, i);
	free(stack);
}

void section_stacks(void)
{
	side_by_side();
	abandoned();
	mapped();
	between_threads();
	ucontexts();
	say("back by context %d", back_by_context());
	alternate();
	clones();
	given_stacks();
}
