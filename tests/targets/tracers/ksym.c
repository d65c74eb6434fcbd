/* SPDX-License-Identifier: MIT */
/*
 * ksym: a line `refused` asks for a seccomp filter in vain; for each line `go` 100 stores to
 * `counter` by writer(), 50 loads of it by reader(), and as many stores to `counter` by another
 * thread's thread_writer() as its number says; then `done N`, all stores to it so far.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#define CALLED __attribute__((noipa, noinline))

volatile int counter;
volatile long other;
volatile char third, fourth, fifth;

static int stores;
static struct sock_fprog none; /* of no instruction, which is not valid */

static CALLED void writer(void)
{
	for (int i = 0; i < 100; i++)
		counter = i;
}

static CALLED int reader(void)
{
	int sum = 0;

	for (int i = 0; i < 50; i++)
		sum += counter;
	return sum;
}

static CALLED void *thread_writer(void *arg)
{
	for (int i = 0; i < 30; i++)
		counter = i;
	other = 1;
	return arg;
}

int main(void)
{
	char line[64];
	pthread_t t;

	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "go\n")) {
			writer();
			other = reader();
			pthread_create(&t, NULL, thread_writer, NULL);
			pthread_join(t, NULL);
			stores += 130;
		} else if (!strcmp(line, "refused\n") &&
			   !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none, 0, 0)) {
			return 1;
		}
		printf("done %d\n", stores);
		fflush(stdout);
	}
	return 0;
}
