/* SPDX-License-Identifier: MIT */
/*
 * Exceptions: thrown and caught with destructors between, again, nested, from constructors and
 * destructors, across a shared object in both directions, kept for later, out of a signal handler,
 * and into noexcept.
 */
#include "throws.h"
#include "transcript.h"

#include <alloca.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace part_throws
{
namespace
{

struct Noisy {
	const char *name;

	explicit NOINLINE Noisy(const char *n) : name(n)
	{
		say("  made %s", name);
	}
	NOINLINE ~Noisy()
	{
		say("  unmade %s%s", name, std::uncaught_exceptions() ? ", unwinding" : "");
	}
};

NOINLINE int thrower(int n)
{
	Noisy here("in thrower");

	if (n % 2)
		throw n;
	throw std::runtime_error("even " + std::to_string(n));
}

NOINLINE int middle(int n)
{
	Noisy here("in middle");

	return thrower(n) + 1;
}

NOINLINE int deep(int n, int depth)
{
	Noisy here("in deep");
	int r;

	if (depth)
		r = deep(n, depth - 1);
	else
		r = middle(n);
	KEEP();
	return r;
}

/* more arguments on the stack than what threw had */
NOINLINE long after(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
		    long k)
{
	KEEP();
	return a + b + c + d + e + f + g + h + i + j + k;
}

NOINLINE int plain(int n)
{
	try {
		return deep(n, 3);
	} catch (int x) {
		say("caught int %d, then %ld", x, after(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
		return x;
	} catch (const std::exception &e) {
		char *p = static_cast<char *>(alloca(300 + n));

		std::memset(p, 1, 300);
		say("caught %s, then %ld", e.what(), after(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, p[299]));
		return -1;
	}
}

NOINLINE int again(int n)
{
	try {
		return middle(n);
	} catch (...) {
		say("rethrown");
		throw;
	}
}

NOINLINE int other(int n)
{
	try {
		return again(n);
	} catch (int x) {
		say("another thrown for %d", x);
		throw std::logic_error("for " + std::to_string(x));
	}
}

NOINLINE void nested(int n)
{
	try {
		try {
			other(n);
		} catch (...) {
			try {
				middle(n + 2);
			} catch (int x) {
				say("inner caught %d", x);
			}
			std::throw_with_nested(std::runtime_error("outer"));
		}
	} catch (const std::exception &e) {
		say("outer caught %s", e.what());
		try {
			std::rethrow_if_nested(e);
		} catch (const std::exception &inner) {
			say("nested was %s", inner.what());
		}
	}
}

struct Member {
	Noisy first{"first member"};
	int second;
	Noisy third{"third member"};

	NOINLINE explicit Member(int n)
	try : second(middle(n)) {
	} catch (int x) {
		say("constructor's block caught %d", x);
	}
};

/* a destructor that throws and catches while another exception goes by */
struct Careless {
	NOINLINE ~Careless()
	{
		try {
			middle(99);
		} catch (int x) {
			say("destructor caught %d", x);
		}
	}
};

NOINLINE void through_careless(int n)
{
	Careless c;

	middle(n);
}

NOINLINE void kept_for_later()
{
	std::exception_ptr kept;

	try {
		deep(7, 2);
	} catch (...) {
		kept = std::current_exception();
	}
	try {
		std::rethrow_exception(kept);
	} catch (int x) {
		say("kept %d", x);
	}
	std::thread([&] {
		try {
			std::rethrow_exception(kept);
		} catch (int x) {
			say("kept, in another thread %d", x);
		}
	}).join();
}

/* exceptions come back to a loop many times: nothing is left behind by one */
NOINLINE int loop(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		try {
			lib_throw(i, 3);
		} catch (int x) {
			sum += x;
		} catch (const std::exception &e) {
			sum += static_cast<int>(std::strlen(e.what()));
		}
		sum += static_cast<int>(after(i, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
	}
	return sum;
}

int callback(int n)
{
	Noisy here("in callback");

	return deep(n, 1);
}

NOINLINE void across()
{
	try {
		lib_throw(4, 2);
	} catch (const std::exception &e) {
		say("from the library: %s", e.what());
	}
	try {
		say("library's result %d", lib_call(callback, 5));
	} catch (int x) {
		say("through the library %d", x);
	}
	say("caught in the library: %d", lib_catch(callback, 9));
	say("caught in the library: %d", lib_catch(callback, 10));
}

#ifdef OPENED
/* the same library again, by a name under which it is opened, thrown through and closed */
NOINLINE void opened()
{
	void *library = dlopen(OPENED, RTLD_NOW);
	auto thrower = reinterpret_cast<int (*)(int, int)>(
		library ? dlsym(library, "_Z9lib_throwii") : nullptr);
	auto caller = reinterpret_cast<int (*)(int (*)(int), int)>(
		library ? dlsym(library, "_Z8lib_callPFiiEi") : nullptr);

	if (!thrower || !caller) {
		say("not opened: %s", dlerror());
		return;
	}
	for (int i = 6; i < 8; i++) {
		try {
			thrower(i, 2);
		} catch (int x) {
			say("from what was opened %d", x);
		} catch (const std::exception &e) {
			say("from what was opened: %s", e.what());
		}
	}
	try {
		say("not reached %d", caller(callback, 5));
	} catch (int x) {
		say("through what was opened %d", x);
	}
	dlclose(library);
}
#endif

struct Animal {
	virtual ~Animal() = default;
	virtual int speak(int n) = 0;
};

struct Dog : Animal {
	NOINLINE int speak(int n) override
	{
		return middle(n);
	}
};

NOINLINE void virtually(Animal &a)
{
	try {
		a.speak(21);
	} catch (int x) {
		say("virtually %d", x);
	}
}

NOINLINE int quiet(int n) noexcept
{
	return middle(n);
}

/* what a child that dies by terminate() says, and how it ends */
NOINLINE void child(void (*f)())
{
	int status;

	say_flush();
	if (pid_t pid = fork(); !pid) {
		std::set_terminate([] {
			try {
				if (auto p = std::current_exception())
					std::rethrow_exception(p);
				say("terminate, no exception");
			} catch (int x) {
				say("terminate, of %d", x);
			} catch (...) {
				say("terminate, of another");
			}
			say_flush();
			_exit(7);
		});
		f();
		say("not reached");
		say_flush();
		_exit(0);
	} else {
		waitpid(pid, &status, 0);
		say("child ended with %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	}
}

NOINLINE void uncaught()
{
	middle(31);
}

struct Terrible {
	NOINLINE ~Terrible() noexcept(false)
	{
		throw 2;
	}
};

NOINLINE void two_at_once()
{
	Terrible t;

	middle(33);
}

#ifndef SANITIZED
/* gcc needs -fnon-call-exceptions for faults; a signal that comes in a call does without */
NOINLINE void handler(int sig)
{
	throw sig;
}

NOINLINE void from_handler()
{
	Noisy here("around the signal");
	/* which is declared to throw nothing */
	int (*volatile raiser)(int) = raise;

	raiser(SIGUSR1);
	KEEP();
}

NOINLINE void out_of_handler()
{
	struct sigaction sa = {}, old;
	sigset_t set;

	sa.sa_handler = handler;
	sa.sa_flags = SA_NODEFER;
	sigaction(SIGUSR1, &sa, &old);
	for (int i = 0; i < 3; i++) {
		try {
			from_handler();
		} catch (int sig) {
			say("out of a handler: %d", sig == SIGUSR1);
		}
	}
	sigaction(SIGUSR1, &old, nullptr);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_UNBLOCK, &set, nullptr);
}
#endif

} // namespace
} // namespace part_throws

void section_throws()
{
	using namespace part_throws;

	say("plain %d %d", plain(3), plain(4));
	try {
		again(5);
	} catch (int x) {
		say("again caught %d", x);
	}
	try {
		other(5);
	} catch (const std::logic_error &e) {
		say("other caught %s", e.what());
	}
	nested(11);
	try {
		Member m(13);
	} catch (int x) {
		say("constructor threw %d", x);
	}
	try {
		through_careless(15);
	} catch (int x) {
		say("past the destructor %d", x);
	}
	kept_for_later();
	across();
#ifdef OPENED
	opened();
	opened();
#endif
	Dog d;
	virtually(d);
	say("loop %d", loop(500));
	child([] { quiet(17); });
	child(uncaught);
	child(two_at_once);
	child([] { std::thread(uncaught).join(); });
#ifndef SANITIZED
	out_of_handler();
#endif
}
