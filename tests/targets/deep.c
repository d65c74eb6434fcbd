/* SPDX-License-Identifier: MIT */
/*
 * deep: for each line it makes N nested calls, and prints the addresses of its frames.
 *
 *	N	main() calls down() N times within itself, then leaf()
 *	thread N	the same in a thread
 *	handler N	the same in a signal handler on a stack of its own
 *	fork N	the same in a child, which then waits for its end of input
 *	overflow	without an end
 *	getenv	prints instead whether it has an environment, and its name
 *
 * `done` is followed by the CFA of leaf() and of each down(), innermost first, for N up to 64.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

#define CALLED __attribute__((noipa))
#define KEPT   66

static void *cfa[KEPT];
static volatile long sum;
static int levels;

static CALLED void leaf(int n)
{
	cfa[0] = __builtin_dwarf_cfa();
	sum += n;
}

static CALLED void down(int n)
{
	volatile char frame[96];

	frame[0] = (char)n;
	if (n < KEPT - 1)
		cfa[n + 1] = __builtin_dwarf_cfa();
	if (n)
		down(n - 1);
	else
		leaf(n);
	sum += frame[0];
}

static NOTRACE void *in_thread(void *arg)
{
	(void)arg;
	down(levels);
	return NULL;
}

static NOTRACE void handler(int sig)
{
	(void)sig;
	down(levels);
}

static NOTRACE void on_other_stack(void)
{
	stack_t stack = {.ss_sp = malloc(1 << 20), .ss_size = 1 << 20};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
}

static NOTRACE void in_thread_too(void)
{
	pthread_t t;

	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
}

static NOTRACE void say(void)
{
	printf("done");
	for (int i = 0; i <= levels + 1 && i < KEPT; i++)
		printf(" %lu", (unsigned long)cfa[i]);
	printf("\n");
	fflush(stdout);
}

NOTRACE int main(void)
{
	char line[64], c;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		char *space = strchr(line, ' ');

		levels = atoi(space ? space : line);
		if (!strncmp(line, "thread", 6)) {
			in_thread_too();
		} else if (!strncmp(line, "handler", 7)) {
			on_other_stack();
		} else if (!strncmp(line, "fork", 4)) {
			if (!fork()) {
				down(levels);
				printf("%d\n", getpid());
				fflush(stdout);
				while (read(0, &c, 1) > 0)
					;
				_exit(0);
			}
			wait(NULL);
			return 0;
		} else if (!strncmp(line, "getenv", 6)) {
			printf("done %d %s\n", getenv("VESTIGE_DIR") != NULL,
			       program_invocation_short_name);
			fflush(stdout);
			continue;
		} else if (!strncmp(line, "overflow", 8)) {
			down(1 << 30);
		} else {
			down(levels);
		}
		say();
	}
	return 0;
}
