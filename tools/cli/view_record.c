/* SPDX-License-Identifier: MIT */
/*
 * See view_record.h. `vestige record` is a process of its own: it changes signals for good, and
 * runs once in a process.
 */
#include "tools/cli/view_record.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/child.h"
#include "tools/base/exit_status.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/signals.h"

static char **words_of(const char *file, char *const *program)
{
	static const char *const first[] = {"vestige", "record",	 "-q",
					    "-p",      "function_graph", "-o"};
	const size_t nr_first = sizeof(first) / sizeof(*first);
	size_t nr = 0;
	char **words;

	while (program[nr])
		nr++;
	words = calloc(nr_first + nr + 3, sizeof(*words));
	if (!words)
		return NULL;
	memcpy(words, first, sizeof(first));
	words[nr_first] = (char *)(uintptr_t)file;
	words[nr_first + 1] = (char *)(uintptr_t) "--";
	memcpy(words + nr_first + 2, program, nr * sizeof(*words));
	return words;
}

/* Return: its exit status, as a shell has it. */
static int run_words(char *const *words)
{
	sigset_t set, old;
	int status = 0;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, &old);
	pid = fork();
	if (!pid) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		execv("/proc/self/exe", words);
		_exit(CMD_OURS);
	}
	if (pid < 0)
		note("cannot start vestige record: %s", strerror(errno));
	else
		status = child_wait(pid);
	/* signals of the terminal were for the program */
	signals_drop(&set);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return CMD_OURS;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int view_record(const char *file, char *const *program)
{
	struct stat before = {0}, after;
	char **words = words_of(file, program);
	bool had = !stat(file, &before);
	int status;

	if (!words) {
		note("out of memory");
		return CMD_OURS;
	}
	status = run_words(words);
	free(words);
	/* a recording is a new file that replaces an older one */
	if (!stat(file, &after) &&
	    (!had || before.st_ino != after.st_ino || before.st_dev != after.st_dev ||
	     before.st_mtim.tv_sec != after.st_mtim.tv_sec ||
	     before.st_mtim.tv_nsec != after.st_mtim.tv_nsec))
		return 0;
	return status ? status : CMD_OURS;
}
