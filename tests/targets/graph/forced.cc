/* SPDX-License-Identifier: MIT */
/*
 * Forced unwinding: pthread_exit and pthread_cancel out of the depth of calls, with destructors,
 * catch (...) blocks that see it go by, and clean-up handlers; cancelled where it waits and where
 * it computes.
 */
#include "transcript.h"

#include <cstdio>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

namespace part_forced
{
namespace
{

struct Noisy {
	const char *name;

	explicit NOINLINE Noisy(const char *n) : name(n)
	{
	}
	NOINLINE ~Noisy()
	{
		say("  unmade %s", name);
	}
};

sem_t started, never;
volatile bool busy;

NOINLINE void cleanup(void *arg)
{
	say("  clean-up %s", static_cast<const char *>(arg));
}

NOINLINE unsigned long work(unsigned long n)
{
	OPAQUE(n);
	return n * 3;
}

enum How { EXIT, WAIT, COMPUTE };

NOINLINE void end(How how)
{
	Noisy here("the end");

	if (how == EXIT)
		pthread_exit(const_cast<char *>("exited"));
	sem_post(&started);
	if (how == WAIT)
		sem_wait(&never);
	for (unsigned long n = 1;; n = work(n) + 1) {
		busy = true;
		if (n % 1000 == 0)
			pthread_testcancel();
	}
}

NOINLINE void with_catch(How how, int depth)
{
	Noisy here("a frame");

	try {
		if (depth)
			with_catch(how, depth - 1);
		else
			end(how);
	} catch (...) {
		say("  goes by, at %d", depth);
		throw;
	}
}

NOINLINE void with_cleanup(How how, int depth)
{
	pthread_cleanup_push(cleanup, const_cast<char *>("of a frame"));
	if (depth)
		with_cleanup(how, depth - 1);
	else
		with_catch(how, 2);
	pthread_cleanup_pop(0);
}

NOINLINE void *thread(void *arg)
{
	Noisy here("the thread's first");

	with_cleanup(*static_cast<How *>(arg), 2);
	return nullptr;
}

NOINLINE void run(const char *what, How how)
{
	pthread_t t;
	void *result;

	say("%s", what);
	say_flush();
	pthread_create(&t, nullptr, thread, &how);
	if (how != EXIT) {
		sem_wait(&started);
		pthread_cancel(t);
	}
	pthread_join(t, &result);
	say("  %s", result == PTHREAD_CANCELED ? "cancelled"
		    : result		       ? static_cast<const char *>(result)
					       : "returned");
}

} // namespace
} // namespace part_forced

void section_forced()
{
	using namespace part_forced;

#ifdef _LIBCPP_VERSION
	/* libc unwinds by libgcc's, libc++ asks LLVM's: a program of this kind dies untraced */
	if (sizeof(part_forced::started))
		return;
#endif
	sem_init(&started, 0, 0);
	sem_init(&never, 0, 0);
	for (int i = 0; i < 3; i++) {
		run("pthread_exit", EXIT);
		run("cancelled while it waits", WAIT);
		run("cancelled while it computes", COMPUTE);
	}
}
