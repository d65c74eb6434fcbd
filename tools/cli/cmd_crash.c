/* SPDX-License-Identifier: MIT */
/*
 * vestige crash: how a process died, and its last records, from its area or a core. The engine runs
 * it with --records when a process with ftrace_dump_on_oops dies.
 * Tests: tests/engine/fire/crash.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/area.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/target/oops.h"
#include "tools/target/image.h"

#define LINES 1000

struct flags {
	const char *records, *lines;
	bool all;
};

static const struct flag flag_rows[] = {
	{'n', "lines", "N", "print at most the last N lines of the trace (1000; 0: all)", NULL,
	 offsetof(struct flags, lines)},
	{'r', "records", "all|TID|none",
	 "print the records alone: of all threads, or of one; none: print no records", NULL,
	 offsetof(struct flags, records)},
	{'a', "all", NULL, "for a core: the stacks of all threads", NULL,
	 offsetof(struct flags, all)},
	FLAGS_END};

static int number(const char *text, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(text, &end, 10);
	return *text < '0' || *text > '9' || *end || errno ? -EINVAL : 0;
}

/* Find the area with the latest oops. */
static int find_last(char path[PATH_MAX])
{
	struct areas_dir dir;
	struct timespec last = {0};
	struct dirent *e;
	char one[PATH_MAX];
	DIR *d;
	int err = areas_dir_find(&dir, geteuid()), found = 0;

	if (err)
		return err == -ENOENT ? fail(ENOENT, "no process has left an area") : err;
	d = opendir(dir.path);
	while (d && (e = readdir(d))) {
		unsigned long long start;
		bool is_socket;
		struct stat st;
		int pid;

		if (!image_parse_name(e->d_name, &pid, &start, &is_socket) || is_socket ||
		    snprintf(one, sizeof(one), "%s/%s", dir.path, e->d_name) >= (int)sizeof(one) ||
		    stat(one, &st) || !oops_is_there(one))
			continue;
		if (found &&
		    (st.st_mtim.tv_sec < last.tv_sec ||
		     (st.st_mtim.tv_sec == last.tv_sec && st.st_mtim.tv_nsec < last.tv_nsec)))
			continue;
		last = st.st_mtim;
		strcpy(path, one);
		found = 1;
	}
	if (d)
		closedir(d);
	areas_dir_close(&dir);
	return found ? 0
		     : fail(ENOENT, "no process that died has left a call trace: set "
				    "VESTIGE_BOOT=ftrace_dump_on_oops to get one");
}

static int find_pid(int pid, char path[PATH_MAX])
{
	struct image t;
	int err = image_open(&t, pid);

	if (err)
		return err;
	snprintf(path, PATH_MAX, "%.*s", PATH_MAX - 1, t.path);
	image_close(&t);
	return 0;
}

static int print_core(const char *path, const struct flags *f, uint64_t lines, uint64_t tid,
		      struct out *o)
{
	char area[PATH_MAX];
	int pid = 0, err = core_print(path, f->all, o, &pid);

	if (err || (f->records && !strcmp(f->records, "none")))
		return err;
	if (!pid || find_pid(pid, area)) {
		out_printf(o, "No records: process %d has no area any more.\n", pid);
		return 0;
	}
	return oops_records(area, (int)tid, lines, o);
}

/* @pid: 0: @word is a core or an area; NULL: the last process that died with an oops. */
static int print(int pid, const char *word, const struct flags *f, uint64_t lines, uint64_t tid,
		 struct out *o)
{
	char path[PATH_MAX];
	int err = 0, found, of = 0;

	if (pid)
		err = find_pid(pid, path);
	else if (!word)
		err = find_last(path);
	else if (core_is(word))
		return print_core(word, f, lines, tid, o);
	else
		snprintf(path, sizeof(path), "%s", word);
	if (err)
		return err;
	if (!f->records || !strcmp(f->records, "none")) {
		found = oops_print(path, o, &of);
		if (found < 0)
			return found;
		if (!found)
			out_text(o, "No call trace: ftrace_dump_on_oops was 0 in this process, or "
				    "it did not die of a signal.\n");
	}
	if (f->records && !strcmp(f->records, "none"))
		return 0;
	return oops_records(path, (int)tid, lines, o);
}

static int run(const struct command *c, int argc, char **argv)
{
	struct flags flags = {0};
	uint64_t lines = LINES, tid = 0;
	unsigned long long n;
	int pid = 0, status = options_parse(c, (void *[]){&pid, &flags}, &argc, &argv), err;
	struct out o;

	if (status >= 0)
		return status;
	if (argc > !pid)
		return options_wrong(c, "name one process, core or area");
	if (flags.lines && (number(flags.lines, &lines) || lines > 100000000))
		return options_wrong(c, "-n takes a number of lines");
	if (flags.records && strcmp(flags.records, "all") && strcmp(flags.records, "none") &&
	    (number(flags.records, &tid) || !tid || tid > INT_MAX))
		return options_wrong(c, "-r takes all, none or the id of a thread");
	if (out_init(&o, STDOUT_FILENO)) {
		note("out of memory");
		return CMD_FAILURE;
	}
	if (argc && !core_is(argv[0]) && options_number(argv[0], INT_MAX, &n))
		pid = (int)n;
	err = print(pid, argc ? argv[0] : NULL, &flags, lines, tid, &o);
	err = out_end_stdout(&o, err, "the call trace");
	return cmd_end(err);
}

const struct command command_crash = {
	.name = "crash",
	.words = "[PID|CORE|AREA]",
	.what = "show how a process died, and what it did last",
	.help = "Show how a process died: its signal, registers and stack, then its last "
		"records.\nWithout an argument: the last process that died and left a call "
		"trace.\n",
	.more = "A process leaves a call trace if ftrace_dump_on_oops is 1 or 2 in "
		"it:\nVESTIGE_BOOT=ftrace_dump_on_oops. A core of any program has one.\n",
	.flags = (const struct flag *const[]){control_pid_flags, flag_rows, NULL},
	.run = run,
};
