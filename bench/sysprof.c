/* SPDX-License-Identifier: MIT */
/*
 * The cost of samples: 8 threads, each 20 calls deep, do the same work again and again. Prints
 * `NAME NS`, a thread's CPU time for it: without the tracer sysprof (plain), with it (sysprof), and
 * with a perf event like the tracer's, whose handler does nothing (empty; 0 where perf refuses).
 * Short runs take turns, and the median of each counts.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <vestige/vestige.h>

#define THREADS 8
#define ROUNDS	15
#define STEPS	20000000L

static volatile unsigned long sink;

static __attribute__((noipa)) unsigned long work(int deep)
{
	unsigned long v = 1;
	long i;

	if (deep)
		return work(deep - 1) + 1;
	for (i = 0; i < STEPS; i++)
		v = v * 6364136223846793005u + (v >> 17);
	return v;
}

static int with_event, refused;

static void nothing(int sig)
{
	(void)sig;
}

static int open_event(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .sample_period = 1000000,
				       .wakeup_events = 1,
				       .disabled = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	struct f_owner_ex owner = {F_OWNER_TID, gettid()};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 || fcntl(fd, F_SETFL, O_RDWR | O_ASYNC) || fcntl(fd, F_SETSIG, SIGUSR2) ||
	    fcntl(fd, F_SETOWN_EX, &owner) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		refused = 1;
	return fd;
}

static void *thread(void *arg)
{
	int fd = with_event ? open_event() : -1;
	struct timespec t;

	sink = work(20);
	if (fd >= 0)
		close(fd);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	*(double *)arg = (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
	return NULL;
}

static double round_ns(void)
{
	double ns[THREADS], sum = 0;
	pthread_t t[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, &ns[i]);
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		sum += ns[i] / THREADS;
	}
	return sum;
}

static int compare(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1
						       : *(const double *)a > *(const double *)b;
}

int main(void)
{
	static const char *const tracers[] = {"nop", "sysprof", "nop"};
	static const char *const names[] = {"plain", "sysprof", "empty"};
	double took[3][ROUNDS];
	int i, k;

	signal(SIGUSR2, nothing);
	for (i = 0; i < ROUNDS; i++)
		for (k = 0; k < 3; k++) {
			with_event = k == 2;
			if (vestige_write("current_tracer", tracers[k], strlen(tracers[k])) < 0)
				return 1;
			took[k][i] = round_ns();
		}
	for (k = 0; k < 3; k++) {
		qsort(took[k], ROUNDS, sizeof(took[k][0]), compare);
		printf("%s %.0f\n", names[k], k == 2 && refused ? 0 : took[k][ROUNDS / 2]);
	}
	return 0;
}
