/* SPDX-License-Identifier: MIT */
/*
 * forked_threads [before] ends|waits: a program, and a child of its fork(), that make and join a
 * thread.
 *
 *	before	also before the fork()
 *	ends	by a return from main(), status 5
 *	waits	the child prints its id and waits for the end of the input
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

static void *run(void *arg)
{
	return arg;
}

static NOTRACE void one_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, NULL) || pthread_join(t, NULL))
		exit(9);
}

NOTRACE int main(int argc, char **argv)
{
	const char *end = argv[argc - 1];
	int status;
	pid_t pid;

	if (argc > 2)
		one_thread();
	pid = fork();
	if (!pid) {
		one_thread();
		if (!strcmp(end, "waits")) {
			printf("%d\n", (int)getpid());
			fflush(stdout);
			getchar();
		}
		exit(3);
	}
	waitpid(pid, &status, 0);
	one_thread();
	printf("the child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	fflush(stdout);
	return 5;
}
