/* SPDX-License-Identifier: MIT */
/*
 * See debuginfod.h. The client is elfutils' library, which is loaded when it is first needed: it
 * brings a client for HTTP with it. Tests: tests/cli/test_names.py.
 */
#include "tools/code/debuginfod.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tools/base/fail.h"
#include "tools/base/late_library.h"
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
	struct debuginfod_client *(*begin)(void);
	const struct late_function functions[] = {
		{"debuginfod_begin", &begin},
		{"debuginfod_find_debuginfo", &servers.find},
	};

	servers.tried = true;
	if (late_library("libdebuginfod.so.1", functions, 2, NULL))
		note("DEBUGINFOD_URLS is set, but no debug files are fetched: %s", fail_text());
	else
		servers.client = begin();
}

int debuginfod_open(const unsigned char *build_id, size_t n)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	int fd;

	/* for the library, length 0 means that the build-id is a text */
	if (!urls || !*urls || !n || n > INT_MAX)
		return -1;
	if (!servers.tried)
		load();
	if (!servers.client)
		return -1;
	fd = servers.find(servers.client, build_id, (int)n, NULL);
	return fd < 0 ? -1 : fd;
}
