/* SPDX-License-Identifier: MIT */
/*
 * Ways in which a program ends or executes another one: `ends HOW`. The trace must have all calls
 * up to then.
 *
 *	return, exit, _exit, raw (the system call), abort, segv, kill, thread (main's thread
 *	leaves by pthread_exit), fork (the child calls, too), exec (of itself as `return`), close
 *	(all descriptors), chdir (and umask), env (without an environment), hold (say `ready`,
 *	end when the input does), headless (the same in another thread, when main's has ended),
 *	instances (exec as `return`, with two instances of which `full` has 500 calls),
 *	limited PATH (files may have no byte from now on: say `ready`, and when the input ends,
 *	take a snapshot into PATH, warn, and return), fork_later (say `ready`, and when the
 *	input ends, as fork)
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"
#include "vestige/vestige.h"

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

static NOTRACE void await_end(void)
{
	char c;

	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1)
		;
}

static NOTRACE void *hold(void *arg)
{
	await_end();
	_exit(0);
	return arg;
}

static NOTRACE int limited(const char *path)
{
	const struct rlimit none = {0, 0};

	if (!path || setrlimit(RLIMIT_FSIZE, &none))
		return 1;
	await_end();
	printf("snapshot %s\n", vestige_snapshot(path) ? strerror(errno) : "ok");
	vestige_warn_on(path[0]);
	return 0;
}

static NOTRACE void child(void)
{
	int i;

	for (i = 0; i < 300; i++)
		work(i);
	_exit(9);
}

/* What the engine refuses ends the program with a status of its own. */
static NOTRACE void fill_instances(void)
{
	int i;

	if (vestige_instance_create("full") || vestige_instance_create("empty") ||
	    vestige_write("instances/full/current_tracer", "function", 8) < 0)
		_exit(2);
	for (i = 0; i < 500; i++)
		work(i);
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
	if (!strcmp(how, "fork_later"))
		await_end();
	if (!strcmp(how, "fork") || !strcmp(how, "fork_later")) {
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
	} else if (!strcmp(how, "limited")) {
		if (limited(argv[2]))
			return 2;
	} else if (!strcmp(how, "hold")) {
		hold(NULL);
	} else if (!strcmp(how, "headless")) {
		pthread_create(&t, NULL, hold, NULL);
		syscall(SYS_exit, 0);
	}
	print_counts();
	fflush(stdout);
	if (!strcmp(how, "instances")) {
		fill_instances();
		execv("/proc/self/exe", again);
	}
	if (!strcmp(how, "exit"))
		exit(5);
	if (!strcmp(how, "_exit"))
		_exit(6);
	if (!strcmp(how, "raw"))
		syscall(SYS_exit_group, 7);
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
