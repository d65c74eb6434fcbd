/* SPDX-License-Identifier: MIT */
/*
 * The end of `record -- PROG` for processes that PROG has started and that still live: tracing is
 * switched off in them, and they are reported. See record_impl.h. Tests:
 * tests/cli/test_record_process.py.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/note.h"
#include "tools/base/proc_pid.h"
#include "tools/record/record_impl.h"
#include "tools/target/process_env.h"
#include "tools/target/target.h"

#define LEAVE_NAP_NS 10000000
#define LEAVE_NAPS   10u
#define COME_NAPS    50u /* of waiting for areas of processes that PROG has just started */
#define MAX_COMERS   64u

/* Processes without an area that PROG has started. */
struct comers {
	unsigned long long since; /* only those that began then or later, in ticks as proc_stat */
	int pids[MAX_COMERS];
	unsigned int nr;
	bool hidden; /* in the last look, a process may have been one of them */
	char list[128];
};

/*
 * Has PROG started this process? Its environment shows it. In the middle of execve() a process has
 * none, and it may execute a program with another one: then earlier looks count. Without these, it
 * is looked at again.
 */
static bool is_comer(struct comers *c, int pid, const char *session)
{
	enum process_env_state env = process_env_is(pid, "VESTIGE_SESSION", session);
	bool before = false;

	for (unsigned int i = 0; i < c->nr && !before; i++)
		before = c->pids[i] == pid;
	if (env == PROCESS_ENV_SAME && !before && c->nr < MAX_COMERS)
		c->pids[c->nr++] = pid;
	if (env == PROCESS_ENV_EXECUTES && !before)
		c->hidden = true;
	return env == PROCESS_ENV_SAME || (before && env != PROCESS_ENV_NONE);
}

/*
 * Find processes that PROG has started and that have no area yet: it is made a moment after fork or
 * exec, perhaps after PROG's end. Its PID may be lower than PROG's: the kernel begins anew at
 * pid_max.
 * @pids: @nr processes that have an area. Return: how many others, which c->list names.
 */
static int coming(const struct record_run *run, const int *pids, int nr, struct comers *c)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	size_t used = 0;
	int found = 0;

	c->list[0] = '\0';
	c->hidden = false;
	while (dir && (e = readdir(dir))) {
		int pid = atoi(e->d_name);
		bool known = pid <= 0 || pid == run->launch.pid;
		struct proc_stat stat;

		for (int i = 0; i < nr && !known; i++)
			known = pids[i] == pid;
		if (known || !proc_stat(pid, &stat) || stat.start < c->since ||
		    !is_comer(c, pid, run->launch.session))
			continue;
		found++;
		if (used < sizeof(c->list) - 16)
			used += (size_t)snprintf(c->list + used, sizeof(c->list) - used, " %d",
						 pid);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Wait until all processes that PROG has started have areas; after a while report those without. */
static void await_areas(struct record_run *run)
{
	const struct timespec nap = {.tv_nsec = LEAVE_NAP_NS};
	struct comers c = {.nr = 0};
	int nr_coming = 0;
	struct proc_stat own;

	if (proc_stat(getpid(), &own))
		c.since = own.start;
	for (unsigned int i = 0; i <= COME_NAPS; i++) {
		int *pids = NULL, nr = recorder_living(run->recorder, &pids);

		nr_coming = coming(run, pids, nr, &c);
		free(pids);
		if ((!nr_coming && !c.hidden) || i == COME_NAPS)
			break;
		nanosleep(&nap, NULL);
		/* drain records during the wait */
		recorder_tick(run->recorder);
	}
	if (nr_coming)
		note("what %s has started goes on without the engine, and is not recorded: "
		     "process%s%s; "
		     "a static program, or one that is not executed yet: `vestige record -P PID` "
		     "records it",
		     run->launch.path, nr_coming > 1 ? "es" : "", c.list);
}

/*
 * The processes of the recording that still live, without those that end a moment after PROG.
 * Return: how many; @pids is freed by the caller.
 */
static int living(struct record_run *run, int **pids)
{
	const struct timespec nap = {.tv_nsec = LEAVE_NAP_NS};
	int nr = recorder_living(run->recorder, pids);

	for (unsigned int i = 0; nr > 0 && i < LEAVE_NAPS; i++) {
		nanosleep(&nap, NULL);
		free(*pids);
		nr = recorder_living(run->recorder, pids);
	}
	return nr;
}

void record_leave(struct record_run *run)
{
	char list[128] = "";
	size_t used = 0;
	int *pids = NULL, nr;

	await_areas(run);
	nr = living(run, &pids);

	for (int i = 0; i < nr; i++) {
		char name[16];
		struct target *t;
		int err = 0;

		if (used < sizeof(list) - 16)
			used += (size_t)snprintf(list + used, sizeof(list) - used, " %d", pids[i]);
		else if (list[used - 1] != '.')
			used += (size_t)snprintf(list + used, sizeof(list) - used, " ...");
		snprintf(name, sizeof(name), "%d", pids[i]);
		t = target_get(name, NULL, &err);
		if (!t)
			continue;
		target_set(t, "current_tracer", "nop");
		target_set(t, "set_event", "");
		target_put(t);
	}
	if (nr > 0)
		note("what %s has started goes on, and is not recorded any more: process%s%s; "
		     "`vestige "
		     "record -P PID` records it",
		     run->launch.path, nr > 1 ? "es" : "", list);
	free(pids);
}
