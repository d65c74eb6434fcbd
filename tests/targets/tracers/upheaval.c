/* SPDX-License-Identifier: MIT */
/*
 * A program that forks, executes itself, loads and unloads an object, ends threads (one with a
 * lock, one by cancellation) and gets signals, with locks held and signals blocked meanwhile. Of
 * each line of input it makes one round, and at the end of it holds known_lock and blocks a signal
 * for 5 ms and does once each what known_things() has. `done US` by its own clock. With -DLIBRARY:
 * the object.
 *
 *	upheaval LIBRARY
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vestige/branch.h"
#include "vestige/workqueue.h"

#ifdef LIBRARY
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

static int began;

__attribute__((constructor)) static void library_begin(void)
{
	began = 1;
}

int library_work(int v)
{
	pthread_mutex_lock(&library_lock);
	v += began;
	pthread_mutex_unlock(&library_lock);
	return v;
}
#else
#define FN __attribute__((noipa))

pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER, small_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t robust_lock;
static sigjmp_buf back;
static volatile int handled;
volatile int known_word;
static volatile int *shared; /* of the memfd `upheaval` */
static int file;
static void *volatile kept;

static unsigned long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
}

FN int leaf(int v)
{
	return v + 1;
}

FN void small(int how)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	pthread_mutex_lock(&small_lock);
	handled = leaf(handled);
	if (how)
		raise(SIGUSR1);
	pthread_mutex_unlock(&small_lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void handler(int sig)
{
	handled = leaf(handled);
	if (sig == SIGALRM)
		siglongjmp(back, 1);
}

static void *ends(void *arg)
{
	small(1);
	if (arg)
		pthread_mutex_lock(&robust_lock); /* its owner died */
	pthread_exit(NULL);
}

static void *waits(void *arg)
{
	small(0);
	for (;;)
		pause();
	return arg;
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	_exit(9);
}

static void child(char **argv, int executes)
{
	int status;
	pid_t pid;

	pthread_mutex_lock(&known_lock);
	pid = fork();
	if (!pid) {
		pthread_mutex_unlock(&known_lock);
		small(1);
		if (executes)
			execl("/proc/self/exe", argv[0], "executed", NULL);
		_exit(executes ? 3 : 0);
	}
	pthread_mutex_unlock(&known_lock);
	check(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "a child failed");
}

static void library(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	int (*work)(int) = lib ? (int (*)(int))dlsym(lib, "library_work") : NULL;

	check(work && work(1) == 2 && !dlclose(lib), "the object failed");
}

FN void jump_out(void)
{
	if (!sigsetjmp(back, 1)) {
		pthread_mutex_lock(&small_lock);
		raise(SIGALRM);
	}
	pthread_mutex_unlock(&small_lock);
}

static void round_of(char **argv)
{
	pthread_t t;
	int i;

	for (i = 0; i < 3; i++) {
		check(!pthread_create(&t, NULL, ends, i == 1 ? &t : NULL), "no thread");
		pthread_join(t, NULL);
		check(!pthread_create(&t, NULL, waits, NULL), "no thread");
		pthread_cancel(t);
		pthread_join(t, NULL);
		child(argv, i == 2);
		library(argv[1]);
		jump_out();
	}
	if (pthread_mutex_lock(&robust_lock) == EOWNERDEAD)
		pthread_mutex_consistent(&robust_lock);
	pthread_mutex_unlock(&robust_lock);
}

FN void tick(unsigned long until)
{
	while (now_ns() < until) {
		handled = leaf(handled);
		for (volatile int i = 0; i < 10000; i++)
			;
	}
}

static int memfd(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	check(!ftruncate(fd, 4096), "no file");
	return fd;
}

FN void known_things(void)
{
	kept = malloc(1000);
	known_word++;
	shared[5] = known_word;
	if (unlikely(known_word < 0))
		abort();
	check(pwrite(file, "known", 5, 0) == 5, "the file failed");
	vestige_work_queue("known", &known_lock);
	vestige_work_start("known", &known_lock);
	vestige_work_end("known", &known_lock);
}

FN unsigned long keep_known(void)
{
	unsigned long from;
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	pthread_mutex_lock(&known_lock);
	from = now_ns();
	for (int i = 1; i <= 5; i++)
		tick(from + (unsigned long)i * 1000000);
	from = now_ns() - from;
	pthread_mutex_unlock(&known_lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	known_things();
	return from;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t a;
	char line[64];

	if (argc == 2 && !strcmp(argv[1], "executed"))
		return 0;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust_lock, &a);
	file = memfd("known");
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memfd("upheaval"), 0);
	check(shared != MAP_FAILED, "no memory");
	signal(SIGUSR1, handler);
	signal(SIGALRM, handler);
	while (fgets(line, sizeof(line), stdin)) {
		if (line[0] == 'r')
			round_of(argv);
		printf("done %lu\n", keep_known() / 1000);
		fflush(stdout);
	}
	return 0;
}
#endif
