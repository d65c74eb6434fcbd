/* SPDX-License-Identifier: MIT */
/* See process_env.h. The program may have overwritten this memory, so any byte may be there. */
#include "tools/target/process_env.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/proc_pid.h"

#define LOOKS	    20 /* at a process that executes */
#define FIRST_BYTES 65536u
#define MOST_BYTES  (64u << 20)

/*
 * Read a file of /proc/PID by one read(), which the kernel serves from one program's memory.
 * Return: the text with a NUL behind it, to be freed; NULL: it cannot be read.
 */
static char *snapshot(int pid, const char *file, size_t *bytes)
{
	char path[64], *text = NULL;
	ssize_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	for (size_t room = FIRST_BYTES; room <= MOST_BYTES; room *= 2) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		free(text);
		text = malloc(room + 1);
		n = text && fd >= 0 ? read(fd, text, room) : -1;
		if (fd >= 0)
			close(fd);
		if (n < (ssize_t)room)
			break;
	}
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	*bytes = (size_t)n;
	return text;
}

/* The value of a variable in an environment; NULL: it is not set. */
static const char *value_in(const char *text, size_t bytes, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = text; at < text + bytes; at += strlen(at) + 1)
		if (!strncmp(at, name, n) && at[n] == '=')
			return at + n + 1;
	return NULL;
}

bool process_is_secure(int pid)
{
	size_t bytes = 0;
	char *text = snapshot(pid, "auxv", &bytes);
	bool secure = false;
	Elf64_auxv_t v;

	for (size_t at = 0; text && at + sizeof(v) <= bytes; at += sizeof(v)) {
		memcpy(&v, text + at, sizeof(v));
		secure |= v.a_type == AT_SECURE && v.a_un.a_val;
	}
	free(text);
	return secure;
}

char *process_env(int pid, const char *name)
{
	size_t bytes = 0;
	char *text = snapshot(pid, "environ", &bytes);
	const char *value = text ? value_in(text, bytes, name) : NULL;
	char *copy = value ? strdup(value) : NULL;

	free(text);
	return copy;
}

/*
 * In execve() a program gets its memory first, then its arguments, then its environment. The kernel
 * notes the place of its code last (fs/binfmt_elf.c). If the environment is empty and that place is
 * set, the program has no environment. A program that executes another one all the time may have
 * its environment by now and lack it again in the next look: reading it waits for a lock that
 * execve() gives up just before it sets the environment.
 */
static enum process_env_state without_environment(int pid)
{
	struct proc_status status;
	struct proc_stat stat;

	if (!proc_stat(pid, &stat) || proc_status(pid, &status) || !status.has_memory)
		return PROCESS_ENV_NONE;
	return stat.has_code && !stat.has_environ ? PROCESS_ENV_OTHER : PROCESS_ENV_EXECUTES;
}

enum process_env_state process_env_is(int pid, const char *name, const char *value)
{
	enum process_env_state state = PROCESS_ENV_EXECUTES;

	for (int i = 0; i < LOOKS && state == PROCESS_ENV_EXECUTES; i++) {
		size_t bytes = 0;
		char *text = snapshot(pid, "environ", &bytes);
		const char *its = text ? value_in(text, bytes, name) : NULL;
		bool same = its && !strcmp(its, value);

		free(text);
		if (!text)
			return PROCESS_ENV_NONE;
		if (bytes)
			return same ? PROCESS_ENV_SAME : PROCESS_ENV_OTHER;
		state = without_environment(pid);
	}
	return state;
}
