/* SPDX-License-Identifier: MIT */
/*
 * vestige script: calls the functions of a Python script for the records of a recording or a live
 * process. tools/api/python/vestige_trace.py does the work; this finds it and checks the flags.
 * Tests: tests/cli/test_script.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/cli/view_flags.h"
#include "tools/record/launch.h"

#define MODULE	    "vestige_trace.py"
#define LIBRARY	    "libvestige-trace.so.1" /* as the module names it */
#define LIBRARY_ENV "VESTIGE_TRACE_LIBRARY"
#define FOLDER	    "lib/python3/dist-packages" /* below the prefix: pythondir of meson.build */

struct options {
	int pid;
	char **words; /* of the module, malloced */
	size_t nr, room;
};

/* Add a word. @word: malloced, owned by @o then; NULL: memory was short. */
static int add_word(struct options *o, char *word)
{
	if (!word || ARRAY_ROOM(o->words, o->nr, o->room, 16)) {
		free(word);
		return fail(ENOMEM, "out of memory");
	}
	o->words[o->nr++] = word;
	return 0;
}

static int add(struct options *o, const char *name, const char *value)
{
	char *word = NULL;

	return add_word(o, asprintf(&word, "--%s=%s", name, value) < 0 ? NULL : word);
}

static int take_event(const struct parsing *p, void *to, const char *value)
{
	if (!*value)
		return options_bad(p, "empty", value);
	return add(to, "events", value) ? cmd_end(-ENOMEM) : 0;
}

static int take_pid(const struct parsing *p, void *to, const char *value)
{
	return control_take_pid(p, &((struct options *)to)->pid, value);
}

static const struct flag flags[] = {
	{'P', "pid", "PID", "the records of a running process, as they come; they are consumed",
	 take_pid, 0},
	{'e', "event", "EVENT", "only events SYSTEM:NAME of this form (a glob; may be repeated)",
	 take_event, 0},
	FLAGS_END};

static int add_number(struct options *o, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return add(o, name, text);
}

/* The flags of all views, as the module's filters. */
static int add_wish(struct options *o, const struct view *v)
{
	const struct call_wish *w = &v->wish;
	bool relative = v->range_from_start || v->range_to_start;
	int err = 0;

	for (unsigned int i = 0; i < w->nr_under && !err; i++)
		err = add(o, "functions", w->under[i]);
	for (unsigned int i = 0; i < w->nr_not_under && !err; i++)
		err = add(o, "notrace", w->not_under[i]);
	for (unsigned int i = 0; i < w->nr_tids && !err; i++)
		err = add_number(o, "tids", (uint64_t)w->tids[i]);
	if (!err && w->max_depth)
		err = add_number(o, "max_depth", w->max_depth);
	if (!err && w->min_ns)
		err = add_number(o, "min_duration", w->min_ns);
	if (!err && v->cpu_text)
		err = add(o, "cpus", v->cpu_text);
	if (!err && w->from)
		err = add_number(o, "start", w->from);
	if (!err && w->to)
		err = add_number(o, "end", w->to);
	if (!err && relative)
		err = add(o, "relative", "1");
	return err;
}

static int check_flags(const struct command *c, const struct options *o, const struct view *v)
{
	const struct call_wish *w = &v->wish;

	if (o->pid && v->path)
		return options_wrong(c, "-P reads a process, -i a recording: name one of them");
	if (v->srcline)
		return options_wrong(c, "--srcline: a script calls trace.source(address)");
	if (v->demangle != DEMANGLE_SHORT)
		return options_wrong(c, "--demangle: a script gets the short names");
	if ((w->from && !v->range_from_start && v->range_to_start && w->to) ||
	    (w->from && v->range_from_start && !v->range_to_start && w->to))
		return options_wrong(c, "--time-range: count both ends from the start, or neither");
	return -1;
}

/* Find the module: in the build's folder beside this program, or where it is installed. */
static int find_module(char *path, size_t room)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		*strrchr(self, '/') = '\0';
		if ((size_t)snprintf(path, room, "%s/" MODULE, self) < room && !access(path, R_OK))
			return 0;
		/* PREFIX/bin and PREFIX/lib/python3/dist-packages, wherever PREFIX is */
		if ((size_t)snprintf(path, room, "%s/../" FOLDER "/" MODULE, self) < room &&
		    !access(path, R_OK))
			return 0;
	}
	return fail(ENOENT, "there is no " MODULE ": install the package python3-vestige");
}

/* Name the library of this program's own tree, which the loader may not know. */
static int name_library(void)
{
	const char *named = getenv(LIBRARY_ENV);
	char path[PATH_MAX];

	if ((named && *named) || launch_find_part(LIBRARY, path))
		return 0;
	return setenv(LIBRARY_ENV, path, 1) ? fail(ENOMEM, "out of memory") : 0;
}

static int execute(struct options *o, const char *input, int argc, char **argv)
{
	char module[2 * PATH_MAX], pid[16];
	int err = find_module(module, sizeof(module));

	snprintf(pid, sizeof(pid), "%d", o->pid);
	if (!err && access(argv[0], R_OK))
		err = fail_errno(errno, "cannot open '%s'", argv[0]);
	if (!err)
		err = o->pid ? add(o, "pid", pid) : add(o, "input", input);
	if (!err)
		err = name_library();
	if (!err)
		err = add_word(o, strdup("--"));
	for (int i = 0; i < argc && !err; i++)
		err = add_word(o, strdup(argv[i]));
	/* the first two are python3 and the module, the last is NULL */
	if (!err) {
		char **words = calloc(o->nr + 3, sizeof(*words));
		sigset_t interrupt, before;

		if (!words)
			return fail(ENOMEM, "out of memory");
		/* block Ctrl-C until the module can handle it */
		sigemptyset(&interrupt);
		sigaddset(&interrupt, SIGINT);
		sigprocmask(SIG_BLOCK, &interrupt, &before);
		words[0] = (char *)(uintptr_t) "python3";
		words[1] = module;
		memcpy(words + 2, o->words, o->nr * sizeof(*words));
		execvp(words[0], words);
		err = fail_errno(errno, "cannot run python3 (of the package python3)");
		sigprocmask(SIG_SETMASK, &before, NULL);
		free(words);
	}
	return err;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options o = {0};
	struct view v;
	int status, err;

	view_init(&v);
	status = options_parse(c, (void *[]){&o, &v}, &argc, &argv);
	if (status >= 0)
		return status;
	if (!argc)
		return options_wrong(c, "name a script");
	status = check_flags(c, &o, &v);
	if (status >= 0)
		return status;
	err = add_wish(&o, &v);
	if (!err)
		err = execute(&o, v.path ? v.path : "trace.dat", argc, argv);
	for (size_t i = 0; i < o.nr; i++)
		free(o.words[i]);
	free(o.words);
	return cmd_end(err);
}

const struct command command_script = {
	.name = "script",
	.words = "FILE.py [ARGS]",
	.what = "call a Python script's hooks with each record",
	.help = "Run FILE.py and call its functions with the records of a recording, or of a "
		"running\n"
		"process: uftrace_entry, uftrace_exit and uftrace_event with a dictionary, as "
		"uftrace\n"
		"script does; SYSTEM__EVENT with an event's fields, as perf script does. ARGS are "
		"the\n"
		"script's sys.argv. A call that is open at an end of --time-range is cut there. "
		"See\n"
		"vestige-script(1).\n",
	.flags = (const struct flag *const[]){flags, view_flags, NULL},
	.refused = (const char *const[]){"demangle", "no-demangle", "srcline", NULL},
	.runs_program = true,
	.run = run,
};
