/* SPDX-License-Identifier: MIT */
/*
 * How a program may end, or become another: `ends HOW`. What it called until then must be there.
 *
 *	return, exit, _exit, abort, segv, kill, thread (main's thread leaves by pthread_exit), fork (the
 *	child calls, too), exec (of itself as `return`), close (all descriptors), chdir (and umask),
 *	env (without an environment)
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

static volatile int sink;

static NOINLINE int work(int n)
{
	COUNTED;
	return sink + n;
}

static void *late(void *arg)
{
	COUNTED;
	usleep(50000);
	work(1);
	print_counts();
	return arg;
}

static NOTRACE void child(void)
{
	int i;

	for (i = 0; i < 300; i++)
		work(i);
	_exit(9);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	char *again[] = {argv[0], (char *)"return", NULL};
	pthread_t t;
	int i, status;

	COUNTED;
	for (i = 0; i < 1000; i++)
		work(i);
	if (!strcmp(how, "fork")) {
		pid_t pid = fork();

		if (!pid)
			child();
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 9)
			return 1;
		work(0);
	} else if (!strcmp(how, "close")) {
		for (i = 3; i < 1024; i++)
			close(i);
		work(0);
	} else if (!strcmp(how, "chdir")) {
		umask(0777);
		if (chdir("/"))
			return 1;
		work(0);
	} else if (!strcmp(how, "env")) {
		clearenv();
		work(0);
	} else if (!strcmp(how, "thread")) {
		pthread_create(&t, NULL, late, NULL);
		pthread_exit(NULL);
	}
	print_counts();
	if (!strcmp(how, "exit"))
		exit(5);
	if (!strcmp(how, "_exit"))
		_exit(6);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "exec"))
		execv("/proc/self/exe", again);
	return 0;
}
