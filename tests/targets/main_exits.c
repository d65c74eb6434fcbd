/* SPDX-License-Identifier: MIT */
/* main() leaves by pthread_exit(); the process ends when the last thread does. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "target.h"

static void *worker(void *arg)
{
	usleep(100000);
	printf("last\n");
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, worker, NULL);
	pthread_exit(NULL);
}
