/* SPDX-License-Identifier: MIT */
/* See process_env.h. The program may have overwritten this memory, so any byte may be there. */
#include "tools/target/process_env.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/proc_pid.h"

char *process_env(int pid, const char *name)
{
	size_t n = strlen(name), room = 0;
	char path[64], *text = NULL, *value = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	f = fopen(path, "re");
	while (f && !value && getdelim(&text, &room, '\0', f) > 0)
		if (!strncmp(text, name, n) && text[n] == '=')
			value = strdup(text + n + 1);
	free(text);
	if (f)
		fclose(f);
	return value;
}

/* Is a file of /proc/PID empty? No, if it cannot be read. */
static bool is_empty(int pid, const char *name)
{
	char path[64], byte;
	bool empty;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	empty = fd >= 0 && !read(fd, &byte, 1);
	if (fd >= 0)
		close(fd);
	return empty;
}

bool process_is_bare(int pid)
{
	struct proc_status s;

	return is_empty(pid, "environ") && !proc_status(pid, &s) && s.has_memory;
}

bool process_executes(int pid)
{
	return process_is_bare(pid) && is_empty(pid, "cmdline");
}
