/* SPDX-License-Identifier: MIT */
/*
 * throws THREADS SECONDS - the number of exceptions a second that threads throw and catch, through
 * five frames with destructors, without pause; they share nothing but the unwinder.
 *
 * Prints `throws_per_s N`. `unrelated` is the only function that is traced; each
 * thread calls it now and then.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define KEEP()	 __asm__ volatile("" ::: "memory")

namespace
{

struct Object {
	int &n;

	explicit Object(int &at) : n(at)
	{
		n++;
	}
	~Object()
	{
		n--;
		KEEP();
	}
};

std::atomic<bool> stop;

double now()
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) / 1e9;
}

NOINLINE int frame(int depth, int &alive)
{
	Object here(alive);

	if (!depth)
		throw depth;
	int r = frame(depth - 1, alive);
	KEEP();
	return r + 1;
}

} // namespace

extern "C" NOINLINE int unrelated(int n)
{
	KEEP();
	return n + 1;
}

namespace
{

void thread(long *count)
{
	int alive = 0;
	long n = 0;

	while (!stop.load(std::memory_order_relaxed)) {
		try {
			frame(5, alive);
		} catch (int) {
			n++;
		}
		if (n % 64 == 0)
			unrelated(alive);
	}
	*count = n;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: throws THREADS SECONDS\n");
		return 2;
	}
	std::vector<long> counts(static_cast<size_t>(atoi(argv[1])));
	std::vector<std::thread> threads;
	double start = now(), took;
	long sum = 0;
	struct timespec ts;

	for (auto &c : counts)
		threads.emplace_back(thread, &c);
	took = atof(argv[2]);
	ts.tv_sec = static_cast<time_t>(took);
	ts.tv_nsec = static_cast<long>((took - static_cast<double>(ts.tv_sec)) * 1e9);
	nanosleep(&ts, nullptr);
	stop = true;
	for (auto &t : threads)
		t.join();
	took = now() - start;
	for (long c : counts)
		sum += c;
	printf("throws_per_s %.0f\n", static_cast<double>(sum) / took);
	return 0;
}
