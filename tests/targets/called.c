/* SPDX-License-Identifier: MIT */
/*
 * called: lines `FUNCTION N` on stdin, N calls of first, second or third, `threads N`: four threads
 * that call all three N times, `fork`: a child goes on with the rest. Each line is answered: `done
 * PID`.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

NOINLINE void first(void)
{
	__asm__ volatile("" ::: "memory");
}

NOINLINE void second(void)
{
	__asm__ volatile("" ::: "memory");
}

NOINLINE void third(void)
{
	__asm__ volatile("" ::: "memory");
}

static void *all(void *n)
{
	for (long i = 0; i < (long)n; i++) {
		first();
		second();
		third();
	}
	return NULL;
}

static void threads(long n)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, all, (void *)n))
			abort();
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	char what[32];
	long n;

	setvbuf(stdin, NULL, _IONBF, 0);
	puts("ready");
	fflush(stdout);
	while (scanf("%31s %ld", what, &n) == 2) {
		if (!strcmp(what, "threads")) {
			threads(n);
		} else if (!strcmp(what, "fork")) {
			pid_t child = fork();

			if (child) {
				int status;

				waitpid(child, &status, 0);
				return status != 0;
			}
		} else {
			void (*f)(void) = !strcmp(what, "first")    ? first
					  : !strcmp(what, "second") ? second
								    : third;

			while (n--)
				f();
		}
		printf("done %d\n", (int)getpid());
		fflush(stdout);
	}
	return 0;
}
