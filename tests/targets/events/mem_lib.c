/* SPDX-License-Identifier: MIT */
/* What mem.c loads: two pairs of malloc() and free(), one of them in its constructor, one more when
 * it is called. */
#include <stdlib.h>
#include <string.h>

static void *volatile kept;

__attribute__((constructor)) static void begin(void)
{
	kept = malloc(10);
	free(kept);
	kept = strdup("b");
}

/* Return: how often free() was called. */
int lib_call(void)
{
	void *volatile p = __atomic_exchange_n(&kept, NULL, __ATOMIC_SEQ_CST);

	free(p);
	p = malloc(20);
	free(p);
	return 3;
}
