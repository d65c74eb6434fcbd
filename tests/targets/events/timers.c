/* SPDX-License-Identifier: MIT */
/*
 * A program with timers of all sorts and sleeps. `go`: each once or more; answered by how often
 * that initialises, starts and cancels one, how many sleeps are over, and how often an interval
 * timer is set.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define EXPECT(call, value)                                                                        \
	do {                                                                                       \
		long got = (long)(call);                                                           \
		if (got != (value)) {                                                              \
			fprintf(stderr, "%s: %ld\n", #call, got);                                  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static unsigned int init, start, cancel, expire, itimer;

static void handler(int sig)
{
	(void)sig;
}

static volatile int awake;

/* Until the sleeper is awake: one signal could come before it sleeps. */
static void *wake(void *sleeper)
{
	while (!awake) {
		pthread_kill(*(pthread_t *)sleeper, SIGUSR1);
		usleep(1000);
		init++;
		start++;
		expire++;
	}
	return NULL;
}

static void go(void)
{
	struct timespec ms = {0, 1000000}, past = {1, 0}, hour = {3600, 0};
	struct itimerspec far = {{0, 0}, {3600, 0}}, ages = {{0, 0}, {1000000000, 0}},
			  none = {{0, 0}, {0, 0}}, had;
	struct itimerval later = {{1, 2}, {3600, 500}}, never = {{0, 0}, {0, 0}};
	struct sigevent quiet = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	pthread_t self = pthread_self(), waker;
	timer_t t;
	int fd;

	EXPECT(timer_create(CLOCK_MONOTONIC, &quiet, &t), 0);
	EXPECT(timer_settime(t, 0, &far, NULL), 0);
	EXPECT(timer_settime(t, TIMER_ABSTIME, &ages, &had), 0);
	EXPECT(had.it_value.tv_sec > 3000, 1);
	EXPECT(timer_settime(t, 0, &none, NULL), 0);
	EXPECT(timer_settime(t, 0, &far, NULL), 0);
	EXPECT(timer_delete(t), 0);
	init += 1;
	start += 3;
	cancel += 3;
	EXPECT(timer_create(CLOCK_REALTIME, &quiet, &t), 0);
	EXPECT(timer_delete(t), 0);
	EXPECT(timer_create(12345, &quiet, &t), -1);
	init += 1;

	fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	EXPECT(timerfd_settime(fd, 0, &far, NULL), 0);
	EXPECT(timerfd_settime(fd, 0, &none, NULL), 0);
	errno = 0;
	EXPECT(timerfd_settime(-1, 0, &far, NULL), -1);
	EXPECT(errno, EBADF);
	close(fd);
	init++;
	start++;
	cancel++;

	EXPECT(nanosleep(&ms, NULL), 0);
	EXPECT(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL), 0);
	EXPECT(thrd_sleep(&ms, NULL), 0);
	EXPECT(usleep(1000), 0);
	EXPECT(sleep(0), 0);
	init += 5;
	start += 5;
	expire += 5;

	awake = 0;
	pthread_create(&waker, NULL, wake, &self);
	EXPECT(nanosleep(&hour, NULL), -1);
	EXPECT(errno, EINTR);
	awake = 1;
	pthread_join(waker, NULL);
	init++;
	start++;
	cancel++;

	EXPECT(setitimer(ITIMER_REAL, &later, NULL), 0);
	EXPECT(setitimer(ITIMER_PROF, &later, NULL), 0);
	EXPECT(setitimer(ITIMER_PROF, &never, NULL), 0);
	EXPECT(setitimer(ITIMER_REAL, &never, NULL), 0);
	EXPECT(alarm(3600), 0);
	EXPECT(alarm(0), 3600);
	EXPECT(ualarm(900000, 5), 0);
	EXPECT(setitimer(ITIMER_REAL, &never, NULL), 0);
	itimer += 8;
}

int main(void)
{
	static char line[100], in[100], out[1000];

	signal(SIGUSR1, handler);
	setvbuf(stdin, in, _IOLBF, sizeof(in));
	setvbuf(stdout, out, _IOLBF, sizeof(out));
	while (fgets(line, sizeof(line), stdin)) {
		init = start = cancel = expire = itimer = 0;
		if (!strncmp(line, "go", 2))
			go();
		printf("done %u %u %u %u %u\n", init, start, cancel, expire, itimer);
	}
	return 0;
}
