/* SPDX-License-Identifier: MIT */
/* `vestige attach PID`: the command; tools/attach/ does it. Tests: tests/cli/test_attach.py. */
#include "tools/cli/cmd.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "tools/attach/attach.h"
#include "tools/base/note.h"
#include "tools/cli/control.h"

struct attach_flags {
	bool quiet;
	bool verbose;
};

static const struct flag flags[] = {
	{'q', "quiet", NULL, "print nothing on success", NULL,
	 offsetof(struct attach_flags, quiet)},
	{'v', NULL, NULL, "say which thread loaded it, and how long that thread stood still", NULL,
	 offsetof(struct attach_flags, verbose)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct attach_flags f = {0};
	struct attach_result r;
	unsigned long long pid;
	int status = options_parse(c, (void *[]){&f}, &argc, &argv), err;

	if (status >= 0)
		return status;
	if (argc != 1 || !options_number(argv[0], INT_MAX, &pid) || !pid)
		return options_wrong(c, "one process is named by its number: vestige attach PID");
	err = attach_process((int)pid, &r);
	if (err)
		return control_end(err);
	if (f.verbose && !r.was_there)
		note("thread %d loaded the engine at attempt %u and stood still for %.1f ms", r.tid,
		     r.tries, (double)r.still_ns / 1e6);
	if (!f.quiet)
		note(r.slept ? "the engine in process %llu is awake again: vestige start -P %llu "
			       "traces it"
		     : r.was_there ? "the engine was in process %llu already"
				   : "the engine is in process %llu: vestige start -P %llu traces "
				     "it",
		     pid, pid);
	return 0;
}

const struct command command_attach = {
	.name = "attach",
	.words = "PID",
	.what = "load the engine into a process that runs without it",
	.help = "Load libvestige.so into process PID, which was started without it. The program "
		"goes on\nas before, and nothing is traced until that is switched on: `vestige "
		"start "
		"-P PID`,\n`vestige set -P PID`, the mount. It needs the right to ptrace() the "
		"process.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
