/* SPDX-License-Identifier: MIT */
/*
 * forks HOW: makes children in one of the ways that there are; parent and child call `counted` a
 * known number of times and say so on stdout, one line each: `PID parent|child CALLS`.
 */
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

extern char **environ;

static NOINLINE void counted(void)
{
	__asm__ volatile("");
}

static NOTRACE void work(const char *who, int n)
{
	char line[64];
	int i, bytes;

	for (i = 0; i < n; i++)
		counted();
	bytes = snprintf(line, sizeof(line), "%ld %s %d\n", (long)syscall(SYS_getpid), who, n);
	if (write(1, line, (size_t)bytes) != bytes)
		abort();
}

static NOTRACE int done(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	work("parent", 200);
	return status != 0;
}

NOTRACE int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char *again[] = {argv[0], (char *)"child", NULL};
	pid_t pid;
	int i;

	if (!strcmp(how, "child")) {
		work("child", 300);
		return 0;
	}
	for (i = 0; i < 100; i++)
		counted();
	if (!strcmp(how, "fork")) {
		pid = fork();
		if (!pid) {
			work("child", 300);
			/* a child's child too */
			pid = fork();
			if (!pid) {
				work("child", 400);
				_exit(0);
			}
			waitpid(pid, NULL, 0);
			exit(0);
		}
		return done(pid);
	}
	if (!strcmp(how, "refused")) {
		struct rlimit none = {3, 3};

		/* no descriptor, no area */
		if (setrlimit(RLIMIT_NOFILE, &none))
			return 1;
		pid = fork();
		if (!pid) {
			work("lost", 300);
			_exit(0);
		}
		return done(pid);
	}
	if (!strcmp(how, "raw")) {
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!pid) {
			work("lost", 300);
			_exit(0);
		}
		return done(pid);
	}
	if (!strcmp(how, "vfork")) {
		pid = vfork();
		if (!pid) {
			counted();
			execve(argv[0], again, environ);
			_exit(1);
		}
		return done(pid);
	}
	if (!strcmp(how, "spawn")) {
		if (posix_spawn(&pid, argv[0], NULL, NULL, again, environ))
			return 1;
		return done(pid);
	}
	if (!strcmp(how, "daemon")) {
		int out = dup(1);

		if (daemon(0, 0) || dup2(out, 1) < 0)
			return 1;
		work("child", 300);
		return 0;
	}
	if (!strcmp(how, "setuid")) {
		if (setgid(65534) || setuid(65534))
			return 1;
		work("parent", 200);
		/* the test may look now */
		fflush(stdout);
		sleep(2);
		return 0;
	}
	return 2;
}
