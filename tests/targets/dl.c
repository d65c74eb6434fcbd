/* SPDX-License-Identifier: MIT */
/* dl FOLDER: loads and unloads two libraries in turn, 20 times; prints how often each was used. */
#include <dlfcn.h>
#include <stdio.h>

#include "target.h"

NOTRACE int main(int argc, char **argv)
{
	char path[4096];
	int i, sum = 0;

	for (i = 0; i < 20; i++) {
		int (*work)(int);
		void *lib;

		snprintf(path, sizeof(path), "%s/lib%s.so", argc > 1 ? argv[1] : ".",
			 i & 1 ? "two" : "one");
		lib = dlopen(path, RTLD_NOW);
		if (!lib) {
			printf("%s\n", dlerror());
			return 1;
		}
		*(void **)&work = dlsym(lib, i & 1 ? "work_two" : "work_one");
		sum += work(100);
		dlclose(lib);
	}
	printf("sum %d\n", sum);
	return 0;
}
