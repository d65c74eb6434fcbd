/* SPDX-License-Identifier: MIT */
/*
 * initcall: constructors and destructors of a program, its library and one that it loads, each of
 * which takes a known time; for each line `load` it loads ./initcall_lib.so, for `unload` it lets
 * it go. What they measured themselves goes to the file MEASURED: lines `NAME NS`. As a library
 * (LIBRARY): its part alone.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void take(const char *name, long ms)
{
	const struct timespec pause = {0, ms * 1000000};
	const char *path = getenv("MEASURED");
	struct timespec a, b;
	FILE *f;

	clock_gettime(CLOCK_MONOTONIC, &a);
	nanosleep(&pause, NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	f = path ? fopen(path, "a") : NULL;
	if (f) {
		fprintf(f, "%s %ld\n", name,
			(b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec);
		fclose(f);
	}
}

#ifdef LIBRARY
__attribute__((constructor)) static void library_slow(void)
{
	take("library_slow", 40);
}

__attribute__((destructor)) static void library_end(void)
{
	take("library_end", 15);
}
#else
__attribute__((constructor(200))) static void first(void)
{
	take("first", 5);
}

__attribute__((constructor(300))) static void slow(int argc, char **argv, char **env)
{
	/* the loader's arguments */
	take(argc > 0 && argv[0] && env ? "slow" : "wrong", 30);
}

__attribute__((destructor)) static void last(void)
{
	take("last", 20);
}

int main(void)
{
	void *library = NULL;
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "load\n"))
			library = dlopen("./initcall_lib.so", RTLD_NOW);
		else if (!strcmp(line, "unload\n"))
			dlclose(library);
		printf("done %d\n", !library);
		fflush(stdout);
	}
	return 0;
}
#endif
