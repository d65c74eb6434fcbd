/* SPDX-License-Identifier: MIT */
/* See launch_process.h. Tests: tests/cli/test_flight.py, tests/cli/test_stream.py. */
#include "tools/record/launch_process.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/child.h"
#include "tools/base/fail.h"
#include "tools/record/program_objects.h"
#include "tools/target/process.h"
#include "tools/target/session.h"

int launch_process(struct launch_process *p, char **argv, bool unmodified, bool built_only,
		   const sigset_t *mask)
{
	const char *boot = getenv("VESTIGE_BOOT");
	struct launch *l = &p->launch;
	int err;

	*p = (struct launch_process){.dir.fd = -1};
	err = areas_dir_open(&p->dir);
	if (err)
		return err;
	l->areas_dir = p->dir.path;
	l->boot = boot ? boot : "";
	err = launch_find(l, argv[0]);
	if (err)
		return err;
	l->mask = *mask;
	if (unmodified)
		l->unmodified = "1";
	else if (!built_only && program_is_as_it_is(l))
		l->unmodified = LAUNCH_THIS_PROCESS ",1";
	launch_ignore();
	err = launch_start(l, argv, true);
	if (!err && l->ended)
		err = fail(ESRCH, "%s ended before its main()", l->path);
	if (err)
		l->pid = 0;
	return err;
}

static void ended(struct launch_process *p, int status)
{
	p->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	p->launch.pid = 0;
}

bool launch_process_runs(struct launch_process *p)
{
	int status;

	if (p->launch.pid && waitpid(p->launch.pid, &status, WNOHANG) == p->launch.pid)
		ended(p, status);
	return p->launch.pid;
}

void launch_process_wait(struct launch_process *p)
{
	if (p->launch.pid)
		ended(p, child_wait(p->launch.pid));
}

/* Remove the area of a process and of its instances, NAME@INSTANCE. */
static void remove_area(const struct areas_dir *dir, const struct image *image)
{
	char pattern[PATH_MAX];
	glob_t found;

	if (snprintf(pattern, sizeof(pattern), "%s/%s@*", dir->path, image->name) <
		    (int)sizeof(pattern) &&
	    !glob(pattern, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			unlink(found.gl_pathv[i]);
		globfree(&found);
	}
	areas_dir_remove(image->dir.fd, image->name, true);
}

/* Remove the areas of processes that have ended, whose records have been read. */
static void remove_areas(struct launch_process *p)
{
	struct process **members;
	struct session *s;
	unsigned int nr;
	int err = 0;

	s = session_get(p->launch.session, NULL, &err);
	if (!s)
		return;
	session_look(s, true);
	nr = session_members(s, &members);
	for (unsigned int i = 0; i < nr; i++) {
		if (!process_lives(members[i]))
			remove_area(&p->dir, &members[i]->image);
		process_put(members[i]);
	}
	free(members);
	session_put(s);
}

void launch_process_end(struct launch_process *p)
{
	char why[1024];

	snprintf(why, sizeof(why), "%s", fail_text());
	if (p->launch.pid && p->launch.at_entry)
		launch_kill(&p->launch);
	if (p->launch.session[0])
		remove_areas(p);
	/* restore the error text of the caller */
	fail(EIO, "%s", why);
	areas_dir_close(&p->dir);
}
