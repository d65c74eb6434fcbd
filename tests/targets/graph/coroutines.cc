/* SPDX-License-Identifier: MIT */
/*
 * C++20 coroutines: a function that returns before it has ended, and whose rest is run by calls of
 * another function; generators, tasks that await each other by symmetric transfer, exceptions out
 * of them, one that is resumed in another thread, one destroyed half way.
 */
#include "transcript.h"

#include <coroutine>
#include <cstdio>
#include <exception>
#include <thread>
#include <utility>

namespace part_coroutines
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

NOINLINE int add(int a, int b)
{
	KEEP();
	return a + b;
}

struct Generator {
	struct promise_type {
		int value = 0;
		std::exception_ptr thrown;

		Generator get_return_object()
		{
			return Generator{std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		std::suspend_always yield_value(int v) noexcept
		{
			value = v;
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			thrown = std::current_exception();
		}
	};
	std::coroutine_handle<promise_type> h;

	explicit Generator(std::coroutine_handle<promise_type> handle) : h(handle)
	{
	}
	Generator(Generator &&o) noexcept : h(std::exchange(o.h, nullptr))
	{
	}
	~Generator()
	{
		if (h)
			h.destroy();
	}
	NOINLINE bool next()
	{
		h.resume();
		if (h.promise().thrown)
			std::rethrow_exception(h.promise().thrown);
		return !h.done();
	}
};

NOINLINE Generator numbers(int n)
{
	Noisy here("of numbers");
	int s = 0;

	for (int i = 0; i < n; i++) {
		s = add(s, i);
		co_yield s;
	}
}

NOINLINE Generator doubled(int n)
{
	Generator g = numbers(n);

	while (g.next())
		co_yield add(g.h.promise().value, g.h.promise().value);
}

NOINLINE Generator throws(int n)
{
	Noisy here("of throws");

	co_yield n;
	throw n + 1;
}

struct Task {
	struct promise_type {
		int value = 0;
		std::coroutine_handle<> waiting = std::noop_coroutine();

		Task get_return_object()
		{
			return Task{std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		struct Final {
			bool await_ready() noexcept
			{
				return false;
			}
			std::coroutine_handle<>
			await_suspend(std::coroutine_handle<promise_type> h) noexcept
			{
				return h.promise().waiting;
			}
			void await_resume() noexcept
			{
			}
		};
		Final final_suspend() noexcept
		{
			return {};
		}
		void return_value(int v)
		{
			value = v;
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};
	std::coroutine_handle<promise_type> h;

	explicit Task(std::coroutine_handle<promise_type> handle) : h(handle)
	{
	}
	Task(Task &&o) noexcept : h(std::exchange(o.h, nullptr))
	{
	}
	~Task()
	{
		if (h)
			h.destroy();
	}
	bool await_ready()
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting)
	{
		h.promise().waiting = waiting;
		return h;
	}
	int await_resume()
	{
		return h.promise().value;
	}
};

NOINLINE Task count(int n)
{
	if (!n)
		co_return 0;
	co_return add(1, co_await count(n - 1));
}

} // namespace
} // namespace part_coroutines

void section_coroutines()
{
	using namespace part_coroutines;

	for (auto g = numbers(5); g.next();)
		say("number %d", g.h.promise().value);
	for (auto g = doubled(4); g.next();)
		say("doubled %d", g.h.promise().value);
	try {
		auto g = throws(3);

		while (g.next())
			say("before %d", g.h.promise().value);
	} catch (int x) {
		say("thrown %d", x);
	}
	{
		auto g = numbers(3);

		g.next();
		say("left half way at %d", g.h.promise().value);
	}
	{
		auto g = numbers(4);
		int s = 0;

		while (true) {
			bool more = false;

			std::thread([&] { more = g.next(); }).join();
			if (!more)
				break;
			s = add(s, g.h.promise().value);
		}
		say("in threads %d", s);
	}
	auto t = count(200);
	t.h.resume();
	say("tasks %d", t.h.promise().value);
}
