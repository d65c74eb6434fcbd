/* SPDX-License-Identifier: MIT */
/*
 * Objects with events that come and go: `load PATH`, `round` (of each that is loaded), `unload
 * PATH`. Each line is answered with `done N`, N the events that were made if all were on.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static struct {
	char path[512];
	void *handle;
	int (*round)(int i);
} objects[8];

static int load(const char *path)
{
	for (int i = 0; i < 8; i++) {
		if (objects[i].handle)
			continue;
		objects[i].handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!objects[i].handle) {
			fprintf(stderr, "%s\n", dlerror());
			return -1;
		}
		snprintf(objects[i].path, sizeof(objects[i].path), "%s", path);
		*(void **)&objects[i].round = dlsym(objects[i].handle, "lib_round");
		return 0;
	}
	return -1;
}

static int unload(const char *path)
{
	for (int i = 0; i < 8; i++) {
		if (objects[i].handle && !strcmp(objects[i].path, path)) {
			int err = dlclose(objects[i].handle);

			objects[i].handle = NULL;
			return err;
		}
	}
	return -1;
}

int main(void)
{
	char line[300];
	int i, n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (n = 0; fgets(line, sizeof(line), stdin); n++) {
		int result = 0;

		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "load ", 5))
			result = load(line + 5);
		else if (!strncmp(line, "unload ", 7))
			result = unload(line + 7);
		else
			for (i = 0; i < 8; i++)
				if (objects[i].handle)
					result += objects[i].round(n);
		printf("done %d\n", result);
	}
	return 0;
}
