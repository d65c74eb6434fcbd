/* SPDX-License-Identifier: MIT */
/*
 * See debuginfod.h. The client is elfutils' library, which is loaded when it is first needed: it
 * brings a client for HTTP with it. Tests: tests/cli/test_names.py.
 */
#include "tools/code/debuginfod.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tools/base/note.h"

/* As elfutils' debuginfod.h has them. */
struct debuginfod_client;

static struct {
	bool tried;
	struct debuginfod_client *client;
	int (*find)(struct debuginfod_client *client, const unsigned char *build_id, int n,
		    char **path);
} servers;

static void load(void)
{
	void *lib = dlopen("libdebuginfod.so.1", RTLD_NOW);
	struct debuginfod_client *(*begin)(void);

	servers.tried = true;
	if (!lib) {
		note("DEBUGINFOD_URLS is set, but libdebuginfod is not installed: no debug files "
		     "are "
		     "fetched");
		return;
	}
	*(void **)&begin = dlsym(lib, "debuginfod_begin");
	*(void **)&servers.find = dlsym(lib, "debuginfod_find_debuginfo");
	if (begin && servers.find)
		servers.client = begin();
}

int debuginfod_open(const unsigned char *build_id, size_t n)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	int fd;

	/* 0 would mean text */
	if (!urls || !*urls || !n || n > INT_MAX)
		return -1;
	if (!servers.tried)
		load();
	if (!servers.client)
		return -1;
	fd = servers.find(servers.client, build_id, (int)n, NULL);
	return fd < 0 ? -1 : fd;
}
