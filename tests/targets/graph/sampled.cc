/* SPDX-License-Identifier: MIT */
/*
 * sampled TRIES INTERVAL_US THREADS [throw] - a profiler's signal handler walks the stack, by
 * backtrace() and by _Unwind_Backtrace(), at any instruction of a chain of calls. With -DLIBUNWIND
 * by backtrace() and by the nongnu libunwind.
 *
 * Every stack must be that chain: from some function of it, through each one's caller, to the
 * thread's first function; what runs beneath the program's own code (a hook, the unwinder, libc)
 * may come before it. Prints `tries N right N short N wrong N island N outside N` and the first bad
 * stacks; handlers call traced functions, too.
 */
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#ifdef LIBUNWIND
#include "libunwind.h"
#endif

#define NOTRACE	 __attribute__((noinline, patchable_function_entry(0)))
#define NOINLINE __attribute__((noinline))
#define KEEP()	 __asm__ volatile("" ::: "memory")

enum { FRAMES = 40, CHAIN = 8 };

struct sample {
	int nr[2];
	void *frame[2][FRAMES];
};

static struct sample *samples;
static long wanted;
static std::atomic<long> taken;
static bool throwing;

struct walk {
	int n;
	void **frame;
};

#ifndef LIBUNWIND
NOTRACE static _Unwind_Reason_Code one(struct _Unwind_Context *context, void *arg)
{
	walk *w = static_cast<walk *>(arg);

	if (w->n < FRAMES)
		w->frame[w->n++] = reinterpret_cast<void *>(_Unwind_GetIP(context));
	return _URC_NO_REASON;
}
#endif

extern "C" {

NOINLINE long traced_in_handler(long n)
{
	KEEP();
	return n ? traced_in_handler(n - 1) + 1 : 0;
}

NOINLINE void on_sample(int)
{
	long i = taken.fetch_add(1);

	if (i >= wanted)
		return;
	struct sample *s = &samples[i];

	if (i % 2)
		traced_in_handler(3);
	s->nr[0] = backtrace(s->frame[0], FRAMES);
#ifdef LIBUNWIND
	s->nr[1] = libunwind_walk(s->frame[1], FRAMES);
#else
	walk w = {0, s->frame[1]};
	_Unwind_Backtrace(one, &w);
	s->nr[1] = w.n;
#endif
	if (i % 4 == 0)
		traced_in_handler(2);
}

#define LINK(n, next)                                                                              \
	NOINLINE long link_##n(long a, long b, long c, long d, long e, long f, long g)             \
	{                                                                                          \
		long r = next(b, a, d, c, f, e, g + 1);                                            \
		KEEP();                                                                            \
		r += next(a, b, c, d, e, f, g);                                                    \
		KEEP();                                                                            \
		return r + g;                                                                      \
	}

NOINLINE long link_7(long a, long b, long c, long d, long e, long f, long g)
{
	KEEP();
	if (throwing && g % 8 == 7)
		throw g;
	return a + b + c + d + e + f + g;
}

LINK(6, link_7)
LINK(5, link_6)

NOINLINE long link_4(long a, long b, long c, long d, long e, long f, long g)
{
	long r;

	try {
		r = link_5(b, a, d, c, f, e, g + 1);
		KEEP();
	} catch (long x) {
		r = x;
	}
	r += g;
	KEEP();
	return r;
}

LINK(3, link_4)
LINK(2, link_3)
LINK(1, link_2)
LINK(0, link_1)

NOINLINE void *chain_thread(void *)
{
	while (taken.load() < wanted) {
		link_0(1, 2, 3, 4, 5, 6, 7);
		KEEP();
	}
	return nullptr;
}

} // extern "C"

struct setup {
	long interval_ns;
	pthread_t thread;
	timer_t timer;
};

NOTRACE static void *start(void *arg)
{
	setup *s = static_cast<setup *>(arg);
	struct sigevent ev;
	struct itimerspec it;
	sigset_t set;

	memset(&ev, 0, sizeof(ev));
	ev.sigev_notify = SIGEV_THREAD_ID;
	ev.sigev_signo = SIGPROF;
	ev._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
	memset(&it, 0, sizeof(it));
	it.it_interval.tv_sec = s->interval_ns / 1000000000;
	it.it_interval.tv_nsec = s->interval_ns % 1000000000;
	it.it_value = it.it_interval;
	if (timer_create(CLOCK_MONOTONIC, &ev, &s->timer) ||
	    timer_settime(s->timer, 0, &it, nullptr)) {
		perror("timer");
		exit(2);
	}
	chain_thread(nullptr);
	timer_delete(s->timer);
	/* one that is on its way comes while there is a handler */
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, nullptr);
	return nullptr;
}

NOTRACE static const char *object_of(const Dl_info &info)
{
	const char *slash = info.dli_fname ? strrchr(info.dli_fname, '/') : nullptr;

	return slash ? slash + 1 : "";
}

/* The function of the chain: 0 ... CHAIN - 1; CHAIN: chain_thread; -1: the program's other; -2: not
 * the program's */
NOTRACE static int function_at(void *ip, bool is_return)
{
	void *at = static_cast<char *>(ip) - is_return;
	Dl_info info, own;

	dladdr(reinterpret_cast<void *>(on_sample), &own);
	if (!ip || !dladdr(at, &info) || info.dli_fbase != own.dli_fbase)
		return -2;
	if (!info.dli_sname)
		return -1;
	if (!strncmp(info.dli_sname, "link_", 5))
		return info.dli_sname[5] - '0';
	return strcmp(info.dli_sname, "chain_thread") ? -1 : CHAIN;
}

NOTRACE static void show(const char *what, void *const *frame, int n)
{
	printf("%s:", what);
	for (int i = 0; i < n; i++) {
		Dl_info info;

		if (dladdr(static_cast<char *>(frame[i]) - (i > 0), &info))
			printf(" %s%s+%#zx", object_of(info), info.dli_sname ? info.dli_sname : "",
			       static_cast<size_t>(static_cast<char *>(frame[i]) -
						   static_cast<char *>(info.dli_fbase)));
		else
			printf(" %p", frame[i]);
	}
	printf("\n");
}

/* Without what is ours: libunwind does not know of it. Return: how many are left. */
NOTRACE static int drop_ours(void **frame, int n)
{
	int kept = 0;
	Dl_info info;

	for (int i = 0; i < n; i++)
		if (!dladdr(frame[i], &info) || strcmp(object_of(info), "libvestige.so"))
			frame[kept++] = frame[i];
	return kept;
}

/*
 * 0 right, 1 short, 2 wrong, 3 short at an island (memory that is no object's), -1 outside of the
 * chain
 */
NOTRACE static int judge(void *const *frame, int n)
{
	int i = 0, last, own = 0;
	Dl_info info;

	/* the handler and what walks; then the kernel's frame, in libc */
	while (i < n && !(dladdr(static_cast<char *>(frame[i]) - 1, &info) && info.dli_sname &&
			  !strcmp(info.dli_sname, "on_sample")))
		i++;
	i += 2;
	if (i >= n)
		return 1;
	/* where it was: exactly there, and not behind a call */
	last = function_at(frame[i], false);
	while (last < 0) {
		/* start(), before or after its work; a PLT's entry has no name either */
		own |= last == -1;
		if (++i >= n)
			return own ? -1 : dladdr(frame[i - 1], &info) || !frame[i - 1] ? 1 : 3;
		last = function_at(frame[i], true);
	}
	for (;;) {
		int expected = last == 0 ? CHAIN : last - 1;

		if (last == CHAIN)
			return i + 2 < n ? 0 : 1; /* start() and libc's */
		if (++i >= n)
			return 1;
		last = function_at(frame[i], true);
		if (last != expected)
			return 2;
	}
}

NOTRACE int main(int argc, char **argv)
{
	enum { MAX_THREADS = 16 };
	static setup threads[MAX_THREADS];
	long bad[4] = {0, 0, 0, 0}, outside = 0, shown = 0;
	struct sigaction sa;
	void *warm[4];
	int n;

	if (argc < 4 || (n = atoi(argv[3])) < 1 || n > MAX_THREADS) {
		fprintf(stderr, "usage: sampled TRIES INTERVAL_US THREADS [throw]\n");
		return 2;
	}
	wanted = atol(argv[1]);
	throwing = argc > 4;
	samples =
		static_cast<struct sample *>(calloc(static_cast<size_t>(wanted), sizeof(*samples)));
	/* the first call loads the unwinder */
	backtrace(warm, 4);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_sample;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGPROF, &sa, nullptr);
	for (int i = 0; i < n; i++) {
		threads[i].interval_ns = atol(argv[2]) * 1000;
		pthread_create(&threads[i].thread, nullptr, start, &threads[i]);
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i].thread, nullptr);
	for (long i = 0; i < wanted; i++) {
		for (int how = 0; how < 2; how++) {
#ifdef LIBUNWIND
			samples[i].nr[how] = drop_ours(samples[i].frame[how], samples[i].nr[how]);
#endif
			int verdict = judge(samples[i].frame[how], samples[i].nr[how]);

			if (verdict < 0) {
				outside++;
				continue;
			}
			bad[verdict]++;
			if (verdict && shown++ < 8)
				show(verdict == 2 ? "wrong" : "short", samples[i].frame[how],
				     samples[i].nr[how]);
		}
	}
	printf("tries %ld right %ld short %ld wrong %ld island %ld outside %ld\n", wanted, bad[0],
	       bad[1], bad[2], bad[3], outside);
	return 0;
}
