/* SPDX-License-Identifier: MIT */
/*
 * `vestige attach PID`: the command; tools/attach/ does it. Tests: tests/cli/test_attach.py,
 * tests/cli/test_attach_children.py.
 */
#include "tools/cli/cmd.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/attach/attach.h"
#include "tools/base/note.h"
#include "tools/cli/control.h"

#define MAX_WAIT_S 86400

struct attach_flags {
	bool quiet;
	bool verbose;
	bool children;
	const char *cgroup;
	unsigned long long wait_s; /* 0: the usual */
};

static int take_wait(const struct parsing *p, void *to, const char *value)
{
	return options_take_number(p, value, 1, MAX_WAIT_S, "not a number of seconds to wait",
				   &((struct attach_flags *)to)->wait_s);
}

static const struct flag flags[] = {
	{'q', "quiet", NULL, "print nothing on success", NULL,
	 offsetof(struct attach_flags, quiet)},
	{'v', NULL, NULL, "say which thread was stopped, and how long it stood still", NULL,
	 offsetof(struct attach_flags, verbose)},
	{0, "cgroup", "GROUP",
	 "all processes of a control group: its folder, a systemd unit, or a container's id", NULL,
	 offsetof(struct attach_flags, cgroup)},
	{'c', "children", NULL,
	 "stay, and attach to its children, too, and again to a process that executes another "
	 "program",
	 NULL, offsetof(struct attach_flags, children)},
	{0, "wait", "SECONDS",
	 "how long to look for a thread that holds no lock which the engine needs (10)", take_wait,
	 0},
	FLAGS_END};

static int attach(int pid, const struct attach_flags *f)
{
	struct attach_result r;
	int err = attach_process(pid, f->wait_s ? (unsigned int)f->wait_s : ATTACH_WAIT_S, &r);

	if (err)
		return err;
	if (f->verbose && !r.was_there)
		note("thread %d, at attempt %u, stood still for %.1f ms, %.1f of them to be looked "
		     "at",
		     r.tid, r.tries, (double)r.still_ns / 1e6, (double)r.held_ns / 1e6);
	if (!f->quiet)
		note(r.slept	   ? "the engine in process %d is awake again: vestige start -P %d "
				     "traces it"
		     : r.was_there ? "the engine was in process %d already"
				   : "the engine is in process %d: vestige start -P %d traces it",
		     pid, pid);
	return 0;
}

static void refused(void *arg)
{
	*(int *)arg = CMD_FAILURE;
}

/* Return: the exit status. */
static int follow(const int *pids, size_t nr, const struct attach_flags *f)
{
	int status = 0;
	struct attach_children how = {.wait_s = f->wait_s ? (unsigned int)f->wait_s : ATTACH_WAIT_S,
				      .quiet = f->quiet,
				      .refused = refused,
				      .arg = &status};
	int err = attach_children(pids, nr, &how);

	return err ? cmd_end(err) : status;
}

/* Attach to all processes that allow it; print the others. */
static int attach_all(const struct attach_flags *f)
{
	int *pids = NULL, status = 0;
	size_t nr = 0, there = 0;

	if (cmd_end(attach_cgroup(f->cgroup, &pids, &nr)))
		status = CMD_FAILURE;
	for (size_t i = 0; i < nr; i++)
		if (cmd_end(attach(pids[i], f)))
			status = CMD_FAILURE;
		else
			pids[there++] = pids[i];
	if (f->children && there && follow(pids, there, f))
		status = CMD_FAILURE;
	free(pids);
	return status;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct attach_flags f = {0};
	int pid = 0, status = options_parse(c, (void *[]){&pid, &f}, &argc, &argv);

	if (status >= 0)
		return status;
	if (f.cgroup && !argc && !pid)
		return attach_all(&f);
	if (f.cgroup)
		return options_wrong(c, "--cgroup and a process: name one of them");
	status = control_pid(c, argc, argv, &pid);
	status = status ? status : cmd_end(attach(pid, &f));
	return status || !f.children ? status : follow(&pid, 1, &f);
}

const struct command command_attach = {
	.name = "attach",
	.words = "PID | --cgroup GROUP",
	.what = "load the engine into a process that runs without it",
	.help = "Load libvestige.so into process PID, which was started without it. The program "
		"goes on\nas before, and nothing is traced until that is switched on: `vestige "
		"start "
		"-P PID`,\n`vestige set -P PID`, the mount. It needs the right to ptrace() the "
		"process.\n",
	.flags = (const struct flag *const[]){control_pid_flags, flags, NULL},
	.run = run,
};
