/* SPDX-License-Identifier: MIT */
/*
 * Two threads that take turns through pipes. A line of input `go N` is N rounds, each ending with a
 * sleep; answered by `done N FIRST SECOND`, the threads' ids.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int there[2], back[2];
static int second;

static void *answer(void *arg)
{
	char c;

	second = gettid();
	while (read(there[0], &c, 1) == 1)
		if (write(back[1], &c, 1) != 1)
			break;
	return arg;
}

int main(void)
{
	char line[64], c = 'x';
	pthread_t t;
	int n;

	if (pipe(there) || pipe(back))
		return 1;
	pthread_create(&t, NULL, answer, NULL);
	pthread_setname_np(t, "answer");
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "go %d", &n) != 1)
			continue;
		for (int i = 0; i < n; i++) {
			if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
				return 1;
			if (i % 10 == 0)
				usleep(200);
		}
		printf("done %d %d %d\n", n, gettid(), second);
		fflush(stdout);
	}
	return 0;
}
