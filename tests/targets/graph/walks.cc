/* SPDX-License-Identifier: MIT */
/*
 * Stacks as the program itself sees them: from inside calls, from signal handlers, on an alternate
 * stack, in threads, in destructors while an exception goes by, in qsort's callback.
 */
#include "transcript.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>

namespace part_walks
{
namespace
{

NOINLINE int leaf(const char *what)
{
	say_stack(what);
	KEEP();
	return 1;
}

NOINLINE int recursive(int n, const char *what)
{
	int r = n ? recursive(n - 1, what) : leaf(what);

	KEEP();
	return r + 1;
}

NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h, const char *what)
{
	int r = recursive(2, what);

	KEEP();
	return r + a + b + c + d + e + f + g + h;
}

NOINLINE int aligned(const char *what)
{
	alignas(64) char buffer[128];

	std::memset(buffer, 0, sizeof(buffer));
	int r = many(1, 2, 3, 4, 5, 6, 7, 8, what);
	__asm__ volatile("" ::"r"(buffer) : "memory");
	return r;
}

NOINLINE void handler(int sig)
{
	recursive(1, sig == SIGUSR1 ? "in a handler" : "in a handler on its own stack");
	KEEP();
}

NOINLINE void raiser(int sig)
{
	raise(sig);
	KEEP();
}

NOINLINE int compare(const void *a, const void *b)
{
	static int calls;

	if (++calls == 3)
		say_stack("in qsort's callback");
	KEEP();
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

NOINLINE void *thread(void *)
{
	aligned("in a thread");
	return nullptr;
}

struct Witness {
	NOINLINE ~Witness()
	{
		say_stack("in a destructor, unwinding");
		KEEP();
	}
};

NOINLINE void throws()
{
	Witness w;

	throw std::runtime_error("seen");
}

NOINLINE void catches()
{
	try {
		throws();
		KEEP();
	} catch (const std::exception &e) {
		say_stack("in a handler of an exception");
	}
	KEEP();
}

} // namespace
} // namespace part_walks

void section_walks()
{
	using namespace part_walks;

	int numbers[] = {5, 3, 8, 1, 9, 2};
	struct sigaction sa = {};
	stack_t ss = {};
	pthread_t t;

	aligned("in calls");
	sa.sa_handler = handler;
	sigaction(SIGUSR1, &sa, nullptr);
	raiser(SIGUSR1);
	ss.ss_size = 256 * 1024;
	ss.ss_sp = mmap(nullptr, ss.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	sigaltstack(&ss, nullptr);
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &sa, nullptr);
	raiser(SIGUSR2);
	ss.ss_flags = SS_DISABLE;
	sigaltstack(&ss, nullptr);
	munmap(ss.ss_sp, ss.ss_size);
	qsort(numbers, 6, sizeof(int), compare);
	say_flush();
	pthread_create(&t, nullptr, thread, nullptr);
	pthread_join(t, nullptr);
	catches();
}
