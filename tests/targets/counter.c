/* SPDX-License-Identifier: MIT */
/*
 * counter FILE: calls a traced function for ever; each call adds one to the number at the start of
 * FILE, which is mapped and so outlives a kill.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

static volatile uint64_t *counter;

static NOINLINE void counted(void)
{
	*counter = *counter + 1;
}

NOTRACE int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "", O_RDWR);

	if (fd < 0)
		abort();
	counter = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counter == MAP_FAILED)
		abort();
	for (;;)
		counted();
}
