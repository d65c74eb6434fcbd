/* SPDX-License-Identifier: MIT */
/* See inspect.h. Tests: tests/cli/test_doctor.py. */
#include "tools/record/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/area/area.h"
#include "tools/base/fail.h"
#include "tools/record/program_objects.h"
#include "tools/target/areas_dir.h"

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
#define NR_ENDING (sizeof(ending) / sizeof(*ending))

/* The program that is inspected, and the signal that came meanwhile: for the handler. */
static struct launch *volatile inspected;
static volatile sig_atomic_t caught;

/* Handler of a signal: kill the program, so that the inspection ends and removes its area. */
static void end_program(int sig)
{
	struct launch *l = inspected;

	caught = sig;
	/* before the child has executed the program, its pid is not set */
	if (l && l->pid > 0 && !l->ended)
		kill(l->pid, SIGKILL);
}

static void signals_begin(struct launch *l, struct sigaction before[NR_ENDING])
{
	struct sigaction ours = {.sa_handler = end_program, .sa_flags = SA_RESTART};

	l->pid = 0;
	l->ended = false;
	inspected = l;
	for (size_t i = 0; i < NR_ENDING; i++) {
		sigaction(ending[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(ending[i], &ours, NULL);
	}
}

/* If a signal came meanwhile, let it end this process now. */
static void signals_end(const struct sigaction before[NR_ENDING])
{
	inspected = NULL;
	for (size_t i = 0; i < NR_ENDING; i++)
		sigaction(ending[i], &before[i], NULL);
	if (caught)
		raise(caught);
}

/* The tables of a program that is held. Return: as inspect_program(). */
static int inspect_tables(const struct areas_dir *dir, const struct launch *l, struct meta **out)
{
	uint64_t bytes;
	char name[64];
	int fd, err;

	launch_area_name(l, name);
	fd = area_open(dir->fd, name, O_RDONLY, &bytes);
	err = fd < 0 ? fd : meta_load(fd, 0, bytes, name, out);
	if (fd >= 0)
		close(fd);
	if (fd == -ENOENT)
		return launch_no_engine(l);
	if (err)
		err = fail(ENOTSUP, "the engine did not start in %s: %s", l->image, fail_text());
	return err;
}

/* End it, and remove its area. */
static void inspect_end(const struct areas_dir *dir, struct launch *l)
{
	char name[64];

	launch_kill(l);
	launch_area_name(l, name);
	areas_dir_remove(dir->fd, name, true);
}

/* Behind launch_find(). */
static int inspect_found(struct launch *l, char **argv, struct meta **out)
{
	struct sigaction before[NR_ENDING];
	struct areas_dir dir;
	int err = areas_dir_open(&dir);

	if (err)
		return err;
	l->areas_dir = dir.path;
	l->boot = "ftrace=nop";
	l->silent = true;
	l->no_agent = true;
	signals_begin(l, before);
	err = launch_start(l, argv, true);
	if (!err && l->ended)
		err = fail(ENOEXEC,
			   "%s ended before its main(), with %s %d: does it run without vestige?",
			   l->path, WIFEXITED(l->status) ? "status" : "signal",
			   WIFEXITED(l->status) ? WEXITSTATUS(l->status) : WTERMSIG(l->status));
	if (!err)
		err = inspect_tables(&dir, l, out);
	if (l->pid > 0)
		inspect_end(&dir, l);
	areas_dir_close(&dir);
	signals_end(before);
	return err;
}

int inspect_program(struct launch *l, char **argv, struct meta **out)
{
	int err = launch_find(l, argv[0]);

	return err ? err : inspect_found(l, argv, out);
}

int inspect_recorded(struct launch *l, char **argv, bool unmodified, struct meta **out)
{
	int err = launch_find(l, argv[0]);

	if (err)
		return err;
	if (unmodified)
		l->unmodified = "1";
	else if (program_is_as_it_is(l))
		l->unmodified = LAUNCH_THIS_PROCESS ",1";
	return inspect_found(l, argv, out);
}
