/* SPDX-License-Identifier: MIT */
/*
 * A program that stays in dlopen(), and so has the loader's lock, until it reads a line; then it
 * loads another object from there. With -DLIBRARY: the object, whose constructor does that.
 *
 *	loader_lock LIBRARY OTHER
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef LIBRARY
__attribute__((constructor)) static void stay(void)
{
	char c;

	if (!getenv("OTHER"))
		return;
	if (write(1, "inside\n", 7) != 7 || read(0, &c, 1) != 1)
		_exit(2);
	if (!dlopen(getenv("OTHER"), RTLD_NOW))
		_exit(3);
}
#else
int main(int argc, char **argv)
{
	if (argc != 3)
		return 1;
	setenv("OTHER", argv[2], 1);
	if (!dlopen(argv[1], RTLD_NOW)) {
		puts(dlerror());
		return 1;
	}
	puts("done");
	return 0;
}
#endif
