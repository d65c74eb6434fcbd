/* SPDX-License-Identifier: MIT */
/*
 * Each sort of C++'s locks once, by its usual guard, each 1 ms longer than the one before, from
 * 3 ms on. `NAME=US` by its own clock. A wait for a condition in between gives its mutex back.
 */
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::mutex plain_lock, first_lock, second_lock, condition_lock;
static std::recursive_mutex recursive_lock;
static std::timed_mutex timed_lock;
static std::recursive_timed_mutex recursive_timed_lock;
static std::shared_mutex shared_lock;
static std::shared_timed_mutex shared_timed_lock;
static std::condition_variable condition;
static bool ready;
static int ms = 3;

static void spend(const char *name)
{
	auto from = std::chrono::steady_clock::now(),
	     until = from + std::chrono::milliseconds(ms++);
	auto now = from;

	while (now < until)
		now = std::chrono::steady_clock::now();
	std::printf(
		"%s=%ld\n", name,
		(long)std::chrono::duration_cast<std::chrono::microseconds>(now - from).count());
}

int main()
{
	{
		std::lock_guard<std::mutex> guard(plain_lock);
		spend("plain_lock");
	}
	{
		std::unique_lock<std::recursive_mutex> guard(recursive_lock), again(recursive_lock);
		again.unlock();
		spend("recursive_lock");
	}
	if (timed_lock.try_lock_for(std::chrono::seconds(60))) {
		spend("timed_lock");
		timed_lock.unlock();
	}
	if (recursive_timed_lock.try_lock()) {
		spend("recursive_timed_lock");
		recursive_timed_lock.unlock();
	}
	{
		std::unique_lock<std::shared_mutex> guard(shared_lock);
		spend("shared_lock");
	}
	{
		std::shared_lock<std::shared_mutex> guard(shared_lock);
		spend("shared_lock");
	}
	{
		std::unique_lock<std::shared_timed_mutex> guard(shared_timed_lock,
								std::chrono::seconds(60));
		spend("shared_timed_lock");
	}
	{
		std::scoped_lock guard(first_lock, second_lock);
		spend("both");
	}
	try {
		std::lock_guard<std::mutex> guard(plain_lock);
		spend("plain_lock");
		throw 1;
	} catch (int) {
	}
	{
		std::unique_lock<std::mutex> guard(condition_lock);
		std::thread other([] {
			auto until =
				std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
			while (std::chrono::steady_clock::now() < until)
				;
			std::lock_guard<std::mutex> inner(condition_lock);
			ready = true;
			condition.notify_one();
		});

		condition.wait(guard, [] { return ready; });
		guard.unlock();
		other.join();
	}
	return 0;
}
