/* SPDX-License-Identifier: MIT */
/*
 * A thread that is woken from outside the process. A line of input, answered by `done N MAIN
 * THREAD`, the threads' ids, when a thread of its own, made for it, has done it:
 *   sleep N	N sleeps of 300 us, which a timer's interrupt ends
 *   pipe N	N bytes read from a child process
 *   futex N	N waits at a word in memory shared with a child process
 *   threads N	N threads one after another, each of which sleeps once
 *   make N	N child processes one after another, each of which sleeps once; their ids come
 *		before the answer
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char what[16];
static int rounds, worker;
static int *word;

static long futex(int op, int value)
{
	return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

/*
 * Until the thread that is to be woken sleeps: on a busy machine it may be long on its way there.
 */
static void wait_until_asleep(void)
{
	char path[64], line[256], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", getppid(), worker);
	while (state != 'S') {
		FILE *f;

		usleep(300);
		f = fopen(path, "re");
		if (!f)
			_exit(1);
		if (fgets(line, sizeof(line), f) && strrchr(line, ')'))
			state = strrchr(line, ')')[2];
		fclose(f);
	}
}

static void child(int to)
{
	char c = 'x';

	for (int i = 0; i < rounds; i++) {
		wait_until_asleep();
		if (!strcmp(what, "pipe")) {
			if (write(to, &c, 1) != 1)
				_exit(1);
		} else {
			__atomic_store_n(word, i + 1, __ATOMIC_SEQ_CST);
			futex(FUTEX_WAKE, 1);
		}
	}
	_exit(0);
}

static void *by_child(void)
{
	int fds[2];
	char c;
	pid_t pid;

	if (pipe(fds))
		return NULL;
	*word = 0;
	pid = fork();
	if (!pid)
		child(fds[1]);
	for (int i = 0; i < rounds; i++) {
		if (!strcmp(what, "pipe")) {
			if (read(fds[0], &c, 1) != 1)
				break;
		} else {
			while (__atomic_load_n(word, __ATOMIC_SEQ_CST) <= i)
				futex(FUTEX_WAIT, i);
		}
	}
	close(fds[0]);
	close(fds[1]);
	waitpid(pid, NULL, 0);
	return NULL;
}

static void *once(void *arg)
{
	usleep(300);
	return arg;
}

static void *work(void *arg)
{
	pthread_t t;

	worker = gettid();
	if (!strcmp(what, "pipe") || !strcmp(what, "futex"))
		return by_child();
	for (int i = 0; i < rounds; i++) {
		if (!strcmp(what, "sleep")) {
			usleep(300);
		} else if (!strcmp(what, "threads")) {
			if (!pthread_create(&t, NULL, once, NULL))
				pthread_join(t, NULL);
		} else {
			pid_t pid = fork();

			if (!pid) {
				usleep(300);
				_exit(0);
			}
			printf("%d\n", pid);
			waitpid(pid, NULL, 0);
		}
	}
	return arg;
}

int main(void)
{
	char line[64];
	pthread_t t;

	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	while (word != MAP_FAILED && fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %d", what, &rounds) != 2 ||
		    pthread_create(&t, NULL, work, NULL))
			continue;
		pthread_join(t, NULL);
		printf("done %d %d %d\n", rounds, getpid(), worker);
		fflush(stdout);
	}
	return 0;
}
