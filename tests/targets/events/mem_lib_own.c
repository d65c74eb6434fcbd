/* SPDX-License-Identifier: MIT */
/* What mem.c loads in mem_lib.so's place: an object with an allocator of its own, for itself. */
#include <stddef.h>

static char block[64];

void *malloc(size_t bytes);
void free(void *p);
int lib_call(void);

void *malloc(size_t bytes)
{
	return bytes <= sizeof(block) ? block : NULL;
}

void free(void *p)
{
	if (p != block)
		__builtin_trap();
}

int lib_call(void)
{
	void *volatile p = malloc(20);

	free(p);
	return 1;
}
