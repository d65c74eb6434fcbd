/* SPDX-License-Identifier: MIT */
/*
 * dl_full FOLDER: libtwo.so comes and goes until the engine has no row for an object any more,
 * then, while one without a row is there, libone.so goes, which was there before, and the tracer is
 * switched off and on. Prints `done`.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "target.h"
#include "vestige/vestige.h"

#define ROUNDS 8300

static NOTRACE void *get(const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return dlopen(path, RTLD_NOW);
}

NOTRACE int main(int argc, char **argv)
{
	void *one = argc > 1 ? get(argv[1], "libone.so") : NULL;

	for (int i = 0; one && i < ROUNDS; i++) {
		void *two = get(argv[1], "libtwo.so");

		if (!two || dlclose(two))
			return 1;
	}
	if (!one || !get(argv[1], "libtwo.so") || dlclose(one))
		return 1;
	vestige_write("current_tracer", "nop", 3);
	vestige_write("current_tracer", "function", 8);
	puts("done");
	return 0;
}
