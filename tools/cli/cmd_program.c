/* SPDX-License-Identifier: MIT */
/*
 * `vestige ./prog args`: record it with function_graph into a temporary file, then show the graph,
 * on a terminal in a pager. The exit status is record's. Tests: tests/cli/test_views.py.
 */
#include "tools/cli/cmd.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/pager.h"
#include "tools/record/record.h"
#include "tools/text/replay.h"
#include "tools/text/view.h"

static bool is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

bool cmd_is_program(const char *word)
{
	const char *path = getenv("PATH"), *end;
	char full[4096];

	if (strchr(word, '/'))
		return true;
	for (; path && *word && *word != '-'; path = *end ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		if (snprintf(full, sizeof(full), "%.*s/%s", (int)(end - path), path, word) <
			    (int)sizeof(full) &&
		    end > path && is_executable(full))
			return true;
	}
	return false;
}

/* The graph of @path. Return: 0 or -errno with fail() set. */
static int show(const char *path)
{
	struct replay_options opt = {0};
	struct view v;
	bool no_pager;
	int ret;

	view_init(&v);
	v.path = path;
	ret = view_open_calls(&v);
	if (!ret) {
		pager_begin();
		ret = replay_print(&v, &opt);
		pager_end(&no_pager);
		if (no_pager && !ret)
			ret = -ENOENT;
	}
	view_close(&v);
	return ret;
}

static int record_and_show(char **argv, const char *path)
{
	static struct record_options opt;
	sigset_t mask;
	int status;

	opt = (struct record_options){.tracer = "function_graph",
				      .output = path,
				      .file_version = 7,
				      .native = true,
				      .no_summary = true,
				      .argv = argv};
	/* record handles signals for the program; the pager must not inherit that */
	sigprocmask(SIG_SETMASK, NULL, &mask);
	status = record(&opt);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	signal(SIGQUIT, SIG_DFL);
	if (!access(path, R_OK) && show(path)) {
		note("%s", fail_text());
		status = status ? status : CMD_OURS;
	}
	return status;
}

int cmd_program(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR");
	char dir[3072], path[4096];
	int status;

	(void)argc;
	snprintf(dir, sizeof(dir), "%s/vestige-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir)) {
		note("cannot make a folder for the recording in %s: set TMPDIR", dir);
		return CMD_OURS;
	}
	snprintf(path, sizeof(path), "%s/trace.dat", dir);
	status = record_and_show(argv, path);
	unlink(path);
	if (rmdir(dir))
		note("the recording is kept in %s", dir);
	return status;
}
