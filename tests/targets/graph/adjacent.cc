/* SPDX-License-Identifier: MIT */
/*
 * adjacent BYTES THREADS - coroutines on small stacks without a gap between them, which threads
 * resume in turn, written down by the program itself (written.h), for tests/engine/graph/adjacent.
 *
 * With -DBOOST the stacks and switches are Boost.Context's, else the program's own (fiber.h), which
 * the engine does not know. A stack is used again as soon as its coroutine is done: with calls open
 * on it, and by a coroutine that has two of them every now and then. w_ and x_ functions are
 * written, others are not. With -DGUARD a page that cannot be used is below each stack, and a
 * coroutine resumes another one that is on the stack below.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define WRITTEN_EVENTS (1u << 12)

#ifdef BOOST
#include <boost/context/detail/fcontext.hpp>
#endif

#include "fiber.h"
#include "written.h"

enum { NR_STACKS = 64, NR_ROUNDS = 12, NR_STEPS = 12 };

static size_t stack_bytes, stack_step; /* the step from one to the next */
static char *stacks;
static char in_use[NR_STACKS];

struct job {
	struct fiber f;
	int stack, nr_stacks;
	struct job *next;
};

static struct job *queue, *queue_end;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int left;

#ifdef BOOST
namespace ctx = boost::context::detail;

NOTRACE static void go_back(struct fiber *f)
{
	written_here(f->resumer);
	f->back = ctx::jump_fcontext(f->back, nullptr).fctx;
	KEEP();
}

extern "C" void w_run(struct fiber *f);

NOTRACE static void boost_begins(ctx::transfer_t t)
{
	struct fiber *f = static_cast<struct fiber *>(t.data);

	f->back = t.fctx;
	w_run(f);
}

NOTRACE static void make(struct fiber *f, char *stack, size_t size, long n)
{
	f->n = n;
	f->done = 0;
	f->sp = ctx::make_fcontext(stack + size, size, boost_begins);
}

NOTRACE static int resume(struct fiber *f)
{
	f->resumer = written_here(f->log);
	f->sp = ctx::jump_fcontext(f->sp, f).fctx;
	KEEP();
	return !f->done;
}
#else
extern "C" void w_run(struct fiber *f);

NOTRACE static void go_back(struct fiber *f)
{
	fiber_yield(f);
}

NOTRACE static void make(struct fiber *f, char *stack, size_t size, long n)
{
	fiber_make(f, w_run, stack, size, n);
}

NOTRACE static int resume(struct fiber *f)
{
	return fiber_resume(f);
}
#endif

extern "C" {

NOINLINE long x_leaf(long n)
{
	written_enter("x_leaf");
	__asm__ volatile("" : "+r"(n));
	written_leave();
	return n;
}

/* traced or not, as the filter says, and never written */
NOINLINE long between(long (*f)(long), long n)
{
	long r = f(n);

	__asm__ volatile("" : "+r"(r));
	return r;
}

NOINLINE long w_called(long n)
{
	written_enter("w_called");
	n = x_leaf(n) + 1;
	KEEP();
	written_leave();
	return n;
}

NOINLINE long w_deep(struct fiber *f, long depth)
{
	long r;

	written_enter("w_deep");
	if (depth)
		r = w_deep(f, depth - 1) + between(w_called, depth);
	else
		go_back(f), r = x_leaf(1);
	KEEP();
	written_leave();
	return r;
}

/* the call stays open */
NOINLINE void w_run(struct fiber *f)
{
	written_enter("w_run");
	for (long i = 0; i < NR_STEPS; i++)
		w_deep(f, 1 + (f->n + i) % 7);
	f->done = 1;
	go_back(f);
	abort();
}

#ifdef GUARD
static struct fiber inner;

NOINLINE void w_inner(struct fiber *f)
{
	written_enter("w_inner");
	for (;;) {
		between(w_called, f->n);
		go_back(f);
	}
}

/* One coroutine resumes another, on the stack below its own. */
NOINLINE void w_outer(struct fiber *f)
{
	written_enter("w_outer");
	for (long i = 0; i < NR_STEPS; i++) {
		resume(&inner);
		between(w_called, i);
	}
	f->done = 1;
	go_back(f);
	abort();
}
#endif

} // extern "C"

#ifdef GUARD
NOTRACE static void nested(void)
{
	struct fiber outer;

	written_here(written_new());
	outer.log = written_new();
	inner.log = written_new();
	fiber_make(&outer, w_outer, stacks + 2 * stack_step - stack_bytes, stack_bytes, 1);
	fiber_make(&inner, w_inner, stacks + stack_step - stack_bytes, stack_bytes, 2);
	while (resume(&outer))
		;
}
#endif

/* With the lock: a stack for a coroutine, at a place that another one had. */
NOTRACE static struct job *new_job(long n)
{
	struct job *j = static_cast<struct job *>(calloc(1, sizeof(*j)));
	int want = n % 5 == 4 && stack_step == stack_bytes ? 2 : 1;
	int i = static_cast<int>(n * 7 % NR_STACKS);

	while (in_use[i] || i + want > NR_STACKS || (want == 2 && in_use[i + 1]))
		i = (i + 1) % NR_STACKS;
	memset(in_use + i, 1, static_cast<size_t>(want));
	j->stack = i;
	j->nr_stacks = want;
	j->f.log = written_new();
	make(&j->f, stacks + static_cast<size_t>(i + 1) * stack_step - stack_bytes,
	     static_cast<size_t>(want) * stack_bytes, n);
	return j;
}

NOTRACE static void append(struct job *j)
{
	j->next = nullptr;
	if (queue)
		queue_end->next = j;
	else
		queue = j;
	queue_end = j;
}

NOTRACE static void *worker(void *)
{
	struct written *own = written_new();

	written_here(own);
	for (;;) {
		struct job *j;
		int more, idle;

		pthread_mutex_lock(&lock);
		j = queue;
		if (j)
			queue = j->next;
		idle = !left;
		pthread_mutex_unlock(&lock);
		if (idle)
			return nullptr;
		if (!j)
			continue;
		if (j->f.n % 3 == 0)
			x_leaf(j->f.n);
		more = resume(&j->f);
		pthread_mutex_lock(&lock);
		if (more) {
			append(j);
		} else {
			memset(in_use + j->stack, 0, static_cast<size_t>(j->nr_stacks));
			if (j->f.n < NR_STACKS / 2 * NR_ROUNDS)
				append(new_job(j->f.n + NR_STACKS / 2));
			else
				left--;
		}
		pthread_mutex_unlock(&lock);
	}
}

NOTRACE int main(int argc, char **argv)
{
	pthread_t t[16];
	long nr_threads, i;

	stack_bytes = argc > 1 ? static_cast<size_t>(atol(argv[1])) : 16384;
	nr_threads = argc > 2 ? atol(argv[2]) : 4;
#ifdef GUARD
	stack_step = 4096 + ((stack_bytes + 4095) & ~4095ul);
	stacks = static_cast<char *>(mmap(nullptr, NR_STACKS * stack_step, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (i = 0; i < NR_STACKS; i++)
		mprotect(stacks + static_cast<size_t>(i) * stack_step, 4096, PROT_NONE);
	nested();
#else
	stack_step = stack_bytes;
	stacks = static_cast<char *>(malloc(NR_STACKS * stack_bytes));
#endif
	left = NR_STACKS / 2;
	for (i = 0; i < NR_STACKS / 2; i++)
		append(new_job(i));
	for (i = 0; i < nr_threads; i++)
		pthread_create(&t[i], nullptr, worker, nullptr);
	for (i = 0; i < nr_threads; i++)
		pthread_join(t[i], nullptr);
	written_print();
	return 0;
}
