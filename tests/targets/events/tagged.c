/* SPDX-License-Identifier: MIT */
/*
 * Calls with tags, a round for each line read; says how often an argument was computed. C and C++.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vestige/atrace.h>

static int computed;

static const char *name_of(const char *name)
{
	computed++;
	return name;
}

/* Twice in one function, and in a branch: each place is its own. */
static void round_of(int i)
{
	vestige_begin(gfx, name_of("frame"));
	if (i & 1)
		vestige_counter(db, "rows", (int64_t)i - 2);
	vestige_async_begin(net, "request", 7);
	vestige_async_end(net, "request", 7);
	vestige_end(gfx);
}

static void *other(void *arg)
{
	vestige_begin(gfx, "other thread");
	vestige_end(gfx);
	return arg;
}

static void run(const char *line)
{
	void (*call)(void);
	pthread_t t;
	void *lib;

	if (!strncmp(line, "load ", 5)) {
		lib = dlopen(line + 5, RTLD_NOW);
		*(void **)&call = lib ? dlsym(lib, "tagged_call") : NULL;
		if (call)
			call();
		if (lib)
			dlclose(lib);
	} else if (!strcmp(line, "thread")) {
		if (!pthread_create(&t, NULL, other, NULL))
			pthread_join(t, NULL);
	} else if (!strcmp(line, "fork")) {
		pid_t pid = fork();

		if (!pid) {
			vestige_begin(gfx, "child");
			vestige_end(gfx);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	} else {
		for (int i = 0; i < 4; i++)
			round_of(i);
	}
}

int main(void)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		computed = 0;
		run(line);
		printf("done %d\n", computed);
		fflush(stdout);
	}
	return vestige_tag_enabled(gfx);
}
