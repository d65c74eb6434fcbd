/* SPDX-License-Identifier: MIT */
/*
 * Makes threads and processes, and says which: `PARENT CHILD` ids on a line each. A line of input
 * is `threads N`, `detached N`, `processes N`; ended by `done COUNT`.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static void say(int child)
{
	printf("%d %d\n", gettid(), child);
}

static void *thread(void *arg)
{
	*(volatile int *)arg = gettid();
	return NULL;
}

static int c11_thread(void *arg)
{
	*(volatile int *)arg = gettid();
	return 0;
}

static void threads(int n)
{
	for (int i = 0; i < n; i++) {
		int tid = 0;
		pthread_t t;
		thrd_t c;

		if (i % 2) {
			pthread_create(&t, NULL, thread, &tid);
			pthread_join(t, NULL);
		} else {
			thrd_create(&c, c11_thread, &tid);
			thrd_join(c, NULL);
		}
		say(tid);
	}
}

static void *detached(void *arg)
{
	int *out = arg;

	__atomic_store_n(out, gettid(), __ATOMIC_RELEASE);
	return NULL;
}

static void detach(int n)
{
	static int tids[1000];
	pthread_attr_t attr;
	pthread_t t;

	memset(tids, 0, sizeof(tids));
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < n; i++)
		pthread_create(&t, &attr, detached, &tids[i]);
	for (int i = 0; i < n; i++) {
		while (!__atomic_load_n(&tids[i], __ATOMIC_ACQUIRE))
			usleep(100);
		say(tids[i]);
	}
}

/* Each by another of libc's functions; in a function of its own, as vfork() returns twice. */
static __attribute__((noinline)) pid_t make(int how)
{
	char *const argv[] = {(char *)"true", NULL};
	char *envp[] = {NULL};
	pid_t pid = -1;

	if (how == 0) {
		pid = fork();
		if (!pid)
			_exit(1);
	} else if (how == 1) {
		pid = vfork();
		if (!pid)
			_exit(1);
	} else if (how == 2) {
		pid = vfork();
		if (!pid) {
			execve("/bin/true", argv, envp);
			_exit(1);
		}
	} else {
		posix_spawn(&pid, "/bin/true", NULL, NULL, argv, envp);
	}
	return pid;
}

static void processes(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = make(i % 4);

		say(pid);
		if (pid < 0 || (i % 2 ? waitpid(pid, NULL, 0) != pid : wait(NULL) != pid))
			abort();
	}
}

int main(void)
{
	char line[64], what[16];
	int n;

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %d", what, &n) != 2)
			continue;
		if (!strcmp(what, "threads"))
			threads(n);
		else if (!strcmp(what, "detached"))
			detach(n);
		else if (!strcmp(what, "processes"))
			processes(n);
		printf("done %d\n", n);
		fflush(stdout);
	}
	return 0;
}
