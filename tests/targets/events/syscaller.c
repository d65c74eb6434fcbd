/* SPDX-License-Identifier: MIT */
/*
 * System calls that go through libc, the same ones each time, between two that nothing else makes.
 * Does what its arguments name; without, what the lines of its input name, and says so. What must
 * not change is checked here.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void files(void)
{
	char text[64];
	FILE *f = fopen("/etc/passwd", "r");
	DIR *d = opendir("/etc");

	while (f && fgets(text, sizeof(text), f))
		;
	while (d && readdir(d))
		;
	if (f)
		fclose(f);
	if (d)
		closedir(d);
	fopen("/nonexistent", "r");
	syscall(SYS_getpriority, 0, 0);
	access("/etc", R_OK);
	chdir("/");
}

static void pipes(void)
{
	char byte = 'x';
	int p[2], i;

	if (pipe(p))
		abort();
	for (i = 0; i < 100; i++)
		if (write(p[1], &byte, 1) != 1 || read(p[0], &byte, 1) != 1 || byte != 'x')
			abort();
	close(p[0]);
	close(p[1]);
	read(-1, &byte, 1);
}

static void *thread(void *arg)
{
	int i;

	for (i = 0; i < 100; i++)
		getppid();
	return arg;
}

static void threads(void)
{
	pthread_t t[4];
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void children(void)
{
	char *argv[] = {"true", NULL};
	pid_t pid = fork();

	if (!pid)
		_exit(3);
	waitpid(pid, NULL, 0);
	pid = vfork();
	if (!pid) {
		execve("/bin/true", argv, environ);
		_exit(4);
	}
	waitpid(pid, NULL, 0);
	if (!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ))
		waitpid(pid, NULL, 0);
	posix_spawn(&pid, "/nonexistent", NULL, NULL, argv, environ);
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "syscaller: %s (%s)\n", what, strerror(errno));
	_exit(9);
}

static int pair[2];
static volatile pid_t blocked_tid;
static volatile int handled, cleaned;
static int found_main;
static sigjmp_buf leap_to;
int main(int argc, char **argv);

/* Wait until the thread sleeps in its call: `S` behind the name in its stat. */
static void wait_blocked(void)
{
	char path[64], text[256], *p;

	for (;;) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)blocked_tid);
		f = blocked_tid ? fopen(path, "r") : NULL;
		p = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
		if (f)
			fclose(f);
		if (p && p[2] == 'S')
			return;
		sched_yield();
	}
}

static void clean(void *arg)
{
	cleaned++;
	(void)arg;
}

static ssize_t block(void)
{
	char byte;

	blocked_tid = (pid_t)syscall(SYS_gettid);
	return read(pair[0], &byte, 1);
}

static void *cancelled(void *arg)
{
	pthread_cleanup_push(clean, NULL);
	block();
	pthread_cleanup_pop(0);
	return arg;
}

static void cancel(void)
{
	pthread_t t;
	void *ret;
	int i;

	check(!pipe(pair), "pipe");
	for (i = 0; i < 20; i++) {
		blocked_tid = 0;
		pthread_create(&t, NULL, cancelled, NULL);
		wait_blocked();
		pthread_cancel(t);
		check(!pthread_join(t, &ret) && ret == PTHREAD_CANCELED && cleaned == i + 1,
		      "not cancelled as it should");
	}
}

/* A walk up the stack of a blocked call ends in main(). */
static void handler(int sig)
{
	void *frames[64];
	int i, n = backtrace(frames, 64);

	for (i = 0; i < n; i++)
		found_main += (char *)frames[i] - (char *)main < 512 && frames[i] > (void *)main;
	handled++;
	(void)sig;
}

static void leap(int sig)
{
	handled++;
	siglongjmp(leap_to, sig);
}

static void *sender(void *arg)
{
	wait_blocked();
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	while (!handled)
		sched_yield();
	check(write(pair[1], "x", 1) == 1, "write");
	return NULL;
}

static void interrupt(void (*by)(int), int flags, const ssize_t result)
{
	struct sigaction sa = {.sa_handler = by, .sa_flags = flags};
	const int is_left = result < 0 || by == leap;
	pthread_t self = pthread_self(), t;
	char byte;

	handled = found_main = 0;
	blocked_tid = 0;
	sigaction(SIGUSR1, &sa, NULL);
	pthread_create(&t, NULL, sender, &self);
	if (!sigsetjmp(leap_to, 1)) {
		check(block() == result, "a blocked call came back otherwise");
		check(found_main, "no way up the stack");
	}
	pthread_join(t, NULL);
	check(handled == 1, "one signal");
	if (is_left)
		check(read(pair[0], &byte, 1) == 1, "the byte");
}

static void signals(void)
{
	void *frames[4];
	int i;

	backtrace(frames, 4); /* loads what it needs */
	check(!pipe(pair), "pipe");
	for (i = 0; i < 10; i++) {
		interrupt(handler, SA_RESTART, 1);
		interrupt(handler, 0, -1);
		interrupt(leap, 0, 0);
	}
}

static volatile int stop;

static void *caller(void *arg)
{
	char path[] = "/proc/self/nothing", byte = 'y';
	int p[2], n = 0;

	check(!pipe(p), "pipe");
	for (; !stop; n++) {
		check(getppid() > 0 && syscall(SYS_getpriority, 0, 0) > 0, "getppid");
		check(write(p[1], &byte, 1) == 1 && read(p[0], &byte, 1) == 1 && byte == 'y',
		      "pipe");
		check(open(path, O_RDONLY) == -1 && errno == ENOENT, "open");
		check(lseek(p[0], 0, SEEK_SET) == -1 && errno == ESPIPE, "lseek");
		if (n % 64 == 0) {
			pid_t pid = fork();

			if (!pid)
				_exit(7);
			check(waitpid(pid, NULL, 0) == pid, "waitpid");
		}
	}
	close(p[0]);
	close(p[1]);
	return arg;
}

/* Four threads that call, until the next line. */
static void storm(void)
{
	char line[64];
	pthread_t t[4];
	int i;

	stop = 0;
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, caller, NULL);
	puts("done 0");
	fflush(stdout);
	check(fgets(line, sizeof(line), stdin) != NULL, "the end of the storm");
	stop = 1;
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static int do_one(const char *what)
{
	static const struct {
		const char *name;
		void (*go)(void);
	} all[] = {{"files", files},	   {"pipes", pipes},   {"threads", threads},
		   {"children", children}, {"cancel", cancel}, {"signals", signals},
		   {"storm", storm}};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!strcmp(what, all[i].name)) {
			access("/vestige-begin", F_OK);
			all[i].go();
			access("/vestige-end", F_OK);
			return 0;
		}
	}
	return 1;
}

int main(int argc, char **argv)
{
	void *volatile first = malloc(1); /* asks for random bytes */
	char line[64];
	int i;

	free(first);
	for (i = 1; i < argc; i++)
		if (do_one(argv[i]))
			return 1;
	if (argc > 1)
		return 0;
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (do_one(line))
			return 1;
		puts("done 1");
		fflush(stdout);
	}
	return 0;
}
