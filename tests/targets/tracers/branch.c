/* SPDX-License-Identifier: MIT */
/*
 * branch: for each line `go` 1000 rounds of places whose rate of misses is known, then `done`; for
 * `load` it loads the library beside it, for `unload` it lets it go, for `lib` it calls it. With
 * VESTIGE_BRANCH_ALL its `if`s are counted, too.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <vestige/branch.h>

static volatile int sink;

static __attribute__((noinline)) void often(int i)
{
	if (likely(i % 4)) /* MISS 25 */
		sink++;
}

static __attribute__((noinline)) void seldom(int i)
{
	if (unlikely(i % 10 == 0)) /* MISS 10 */
		sink++;
}

static inline int within(int i)
{
	return unlikely(i < 0); /* MISS 0 */
}

static __attribute__((noinline)) int never(int i)
{
	return likely(i); /* never called */
}

static __attribute__((noinline)) int known(int i)
{
	return i + !unlikely(sizeof(i) == 4); /* constant */
}

int main(void)
{
	void *library = NULL;
	void (*call)(int) = NULL;
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "go\n")) {
			for (int n = 0; n < 1000; n++) {
				int i = n;

				/* else the compiler knows that it is not negative */
				__asm__("" : "+r"(i));
				often(i);
				seldom(i);
				sink += within(i) + within(i + 1) + known(i);
			}
		} else if (!strcmp(line, "load\n")) {
			library = dlopen("./branch_lib.so", RTLD_NOW);
			if (library)
				*(void **)&call = dlsym(library, "branch_lib");
		} else if (!strcmp(line, "lib\n")) {
			for (int i = 0; i < 100; i++)
				call(i);
		} else if (!strcmp(line, "unload\n")) {
			dlclose(library);
		} else if (!strcmp(line, "never\n")) {
			sink += never(1);
		}
		puts("done 0");
		fflush(stdout);
	}
	return 0;
}
