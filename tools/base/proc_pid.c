/* SPDX-License-Identifier: MIT */
/*
 * See proc_pid.h. A name may have blanks and parentheses: in stat, it ends at the last one. Cost of
 * proc_stat_at(), which is called for each image again and again: one read, and no scanf().
 * Tests: tests/cli/test_attach_children.py, tests/cli/test_attach.py, tests/cli/test_hang.py.
 */
#include "tools/base/proc_pid.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE = 3, PARENT = 4, THREADS = 20, START = 22, CODE = 26, CPU = 39, ENV = 50 };

static const struct {
	const char *name;
	size_t at; /* an int of struct proc_status */
} NUMBERS[] = {
	{"Tgid:", offsetof(struct proc_status, tgid)},
	{"PPid:", offsetof(struct proc_status, parent)},
	{"TracerPid:", offsetof(struct proc_status, tracer)},
	{"Seccomp:", offsetof(struct proc_status, seccomp)},
	{"Kthread:", offsetof(struct proc_status, kernel_thread)},
};

int proc_stat_open(int pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool proc_stat_at(int fd, struct proc_stat *s)
{
	char text[1024], *name, *at;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	unsigned long long env = 0;
	int field = STATE - 1;

	if (n <= 0)
		return false;
	text[n] = '\0';
	name = strchr(text, '(');
	at = strrchr(text, ')');
	if (!name || !at || at < name)
		return false;
	*s = (struct proc_stat){.cpu = 0};
	snprintf(s->comm, sizeof(s->comm), "%.*s", (int)(at - name - 1), name + 1);
	while (field <= ENV && (at = strchr(at, ' '))) {
		at++;
		field++;
		if (field == STATE)
			s->state = *at;
		else if (field == PARENT)
			s->parent = atoi(at);
		else if (field == THREADS)
			s->threads = atol(at);
		else if (field == START)
			s->start = strtoull(at, NULL, 10);
		else if (field == CODE)
			s->has_code = strtoull(at, NULL, 10) != 0;
		else if (field == CPU)
			s->cpu = atoi(at);
		else if (field == ENV)
			env = strtoull(at, NULL, 10);
		else if (field == ENV + 1)
			s->has_environ = strtoull(at, NULL, 10) > env;
	}
	return field >= START;
}

bool proc_stat(int pid, struct proc_stat *s)
{
	int fd = proc_stat_open(pid);
	bool found = fd >= 0 && proc_stat_at(fd, s);

	if (fd >= 0)
		close(fd);
	return found;
}

/* The text behind @name; NULL: the line has another name. */
static const char *value_of(const char *line, const char *name)
{
	size_t n = strlen(name);

	return strncmp(line, name, n) ? NULL : line + n;
}

/* Some sixty lines a thread, of which few are wanted: scanf() only where the name is right. */
static void take_status(const char *line, struct proc_status *s)
{
	const char *v;

	for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(*NUMBERS); i++)
		if ((v = value_of(line, NUMBERS[i].name)))
			*(int *)((char *)s + NUMBERS[i].at) = (int)strtol(v, NULL, 10);
	if ((v = value_of(line, "Name:")))
		sscanf(v, " %15[^\n]", s->comm);
	else if ((v = value_of(line, "State:")))
		sscanf(v, " %c", &s->state);
	else if ((v = value_of(line, "Uid:")))
		sscanf(v, "%u %u %u", &s->uid, &s->euid, &s->suid);
	else if ((v = value_of(line, "CapEff:")))
		sscanf(v, "%" SCNx64, &s->effective_caps);
	/* one number for each namespace, ours first */
	else if ((v = value_of(line, "NSpid:")) && (v = strrchr(v, '\t')))
		s->inner_pid = (int)strtol(v + 1, NULL, 10);
	else if (value_of(line, "VmSize:"))
		s->has_memory = true;
}

int proc_status(int pid, struct proc_status *s)
{
	char path[64], line[256];
	int err;
	FILE *f;

	*s = (struct proc_status){.tgid = 0};
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	/* The line of groups may be longer than @line: no part of it has a name. */
	while (fgets(line, sizeof(line), f))
		take_status(line, s);
	err = ferror(f) ? -errno : s->tgid ? 0 : -ESRCH;
	fclose(f);
	return err;
}

bool proc_comm(int pid, char *comm, size_t room)
{
	char path[64];
	bool found;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	found = f && fgets(comm, (int)room, f);
	if (found)
		comm[strcspn(comm, "\n")] = '\0';
	if (f)
		fclose(f);
	return found;
}
