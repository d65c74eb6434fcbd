/* SPDX-License-Identifier: MIT */
/*
 * engines LIBRARY: loads another copy of the engine into a name space of its own, then calls, also
 * from C11 threads, more of them one after the other than there are blocks for threads.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <threads.h>

#include "target.h"

static NOINLINE int in_thread(void *arg)
{
	COUNTED;
	__asm__ volatile("");
	return *(int *)arg + 1;
}

static NOINLINE void again(void)
{
	COUNTED;
	__asm__ volatile("");
}

NOTRACE int main(int argc, char **argv)
{
	int i, number = 41, got = 0;
	thrd_t t;

	if (argc > 1 && !dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW)) {
		printf("%s\n", dlerror());
		return 77;
	}
	for (i = 0; i < 20000; i++) {
		if (thrd_create(&t, in_thread, &number) != thrd_success ||
		    thrd_join(t, &got) != thrd_success || got != 42)
			return 1;
	}
	again();
	print_counts();
	return 0;
}
