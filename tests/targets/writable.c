/* SPDX-License-Identifier: MIT */
/*
 * Stores into the segments in which its functions are: a section "awx" makes the program's data one
 * of these, and the linker's -N the whole of the library (writable_lib.c, its argument). Says
 * `ready`, goes on with each byte of its input, and prints its calls.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "target.h"

static int *lib_stored;
static int (*lib_add)(int n);
static volatile int stored = 1;

__attribute__((noipa, section("own_text,\"awx\",@progbits#"))) static int add(int n)
{
	COUNTED;
	stored += n;
	return stored;
}

static NOTRACE void add_all(void)
{
	int i;

	for (i = 0; i < 500; i++) {
		add(1);
		lib_add(1);
		stored++;
		++*lib_stored;
	}
}

int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	char c = 0;

	COUNTED;
	if (!lib)
		return 1;
	lib_stored = dlsym(lib, "lib_stored");
	lib_add = (int (*)(int))dlsym(lib, "lib_add");
	add_all();
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1) {
		add_all();
		puts("went on");
		fflush(stdout);
	}
	print_counts();
	printf("stored %d %d\n", stored, *lib_stored);
	return 0;
}
