/* SPDX-License-Identifier: MIT */
/*
 * vestige atrace: Android's command, with the tags of vestige/atrace.h. The marks and events go
 * into an instance of ours, so the process's buffer keeps its size and settings. All changes are
 * undone at the end. A file beside the areas has the old values: for --async_stop, which ends the
 * run of --async_start, and after a run that was killed.
 * Tests: tests/cli/test_atrace.py.
 */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/signals.h"
#include "tools/base/time_ns.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/export/dat_file.h"
#include "tools/record/progress.h"
#include "tools/target/borrowed.h"
#include "tools/text/view.h"

#define INSTANCE	"atrace"
#define DEFAULT_KB	"2048" /* Android's */
#define MAX_SECONDS	1e6
#define DEFAULT_SECONDS 5
#define POLL_NS		50000000

static struct atrace {
	int pid;
	const char *session, *output;
	double seconds, sleep;
	const char *kb;
	bool list, compress, circular, async_start, async_dump, async_stop;
	char **words; /* the categories; NULL behind them */
	struct target *t, *instance;
	struct borrowed *borrowed;
	sigset_t signals;
} at;

/* Called with each category. Return: 0, or not 0 to stop. */
typedef int category_put(void *arg, const char *name, bool is_tag, bool on);

#define MAX_SYSTEMS 256u

/* Folders of events/: a target is not asked while it lists. */
struct systems {
	unsigned int nr;
	char *names[MAX_SYSTEMS];
};

static bool is_system(const char *name)
{
	struct target_file file;
	char path[128];

	return snprintf(path, sizeof(path), "events/%s/enable", name) < (int)sizeof(path) &&
	       !at.t->ops->find(at.t, path, &file);
}

static int keep_system(void *arg, const char *name, bool is_dir)
{
	struct systems *s = arg;

	if (is_dir && s->nr < MAX_SYSTEMS && (s->names[s->nr] = strdup(name)))
		s->nr++;
	return 0;
}

static int each_system(category_put *put, void *arg)
{
	struct systems s = {0};
	int err = at.t->ops->files(at.t, "events", keep_system, &s);

	for (unsigned int i = 0; i < s.nr; i++) {
		if (!err && is_system(s.names[i]))
			err = put(arg, s.names[i], false, false);
		free(s.names[i]);
	}
	return err;
}

/*
 * Tags first, then systems of events. Return: 0 or -errno with fail() set; or what @put returned.
 */
static int each_category(category_put *put, void *arg)
{
	struct target_text text;
	char *rest, *word;
	int err = target_read(at.t, "atrace_tags", &text);

	if (err)
		return err;
	word = strtok_r(text.at, " \n", &rest);
	for (; word && !err; word = strtok_r(NULL, " \n", &rest)) {
		bool on = *word == '[';

		word += on;
		word[strcspn(word, "]")] = '\0';
		err = put(arg, word, true, on);
	}
	free(text.at);
	return err ? err : each_system(put, arg);
}

static int count(void *arg, const char *name, bool is_dir)
{
	(void)name;
	*(unsigned int *)arg += is_dir;
	return 0;
}

static int print_category(void *arg, const char *name, bool is_tag, bool on)
{
	unsigned int nr = 0;
	char path[128];

	(void)arg;
	if (is_tag) {
		printf("%12s - tag of the program%s\n", name, on ? ", on" : "");
		return 0;
	}
	snprintf(path, sizeof(path), "events/%s", name);
	at.t->ops->files(at.t, path, count, &nr);
	printf("%12s - system of %u event%s\n", name, nr, nr == 1 ? "" : "s");
	return 0;
}

/* For the error of a wrong one. */
struct names {
	char tags[512], systems[512];
};

static int add_name(void *arg, const char *name, bool is_tag, bool on)
{
	struct names *n = arg;
	char *to = is_tag ? n->tags : n->systems;
	size_t used = strlen(to), room = sizeof(n->tags) - used;

	(void)on;
	if (room > strlen(name) + 2)
		snprintf(to + used, room, " %s", name);
	return 0;
}

static int no_category(const char *word)
{
	struct names n = {0};
	int err = each_category(add_name, &n);

	if (err)
		return err;
	if (!*n.tags)
		return fail(EINVAL,
			    "there is no category '%.64s': the program has no tag of "
			    "<vestige/atrace.h>, there are the systems of events%s",
			    word, n.systems);
	return fail(EINVAL,
		    "there is no category '%.64s': the program has the tags%s, and the systems of "
		    "events%s",
		    word, n.tags, n.systems);
}

/* Switches on what matches a word. */
struct chosen {
	const char *word;
	bool apply, any;
};

static int choose(void *arg, const char *name, bool is_tag, bool on)
{
	struct chosen *c = arg;
	char path[128], undo[80];

	if (fnmatch(c->word, name, 0))
		return 0;
	c->any = true;
	if (!c->apply)
		return 0;
	if (!is_tag) {
		snprintf(path, sizeof(path), "events/%s/enable", name);
		return target_set(at.instance, path, "1");
	}
	if (on)
		return 0;
	snprintf(undo, sizeof(undo), "!%s", name);
	return borrowed_add(at.borrowed, at.t, "atrace_tags", name, undo);
}

static int categories(bool apply)
{
	int err = 0;

	for (char **word = at.words; *word && !err; word++) {
		struct chosen c = {.word = *word, .apply = apply};

		err = each_category(choose, &c);
		if (!err && !c.any)
			err = no_category(*word);
	}
	return err;
}

static int open_target(void)
{
	const struct control_which which = {.pid = at.pid};
	int err = 0;

	if (!at.session)
		return control_open_attached(&at.t, &which);
	at.t = target_get(at.session, NULL, &err);
	return at.t ? 0 : err;
}

static int open_instance(void)
{
	int err = 0;

	at.instance = target_get(at.t->name, INSTANCE, &err);
	return at.instance ? 0 : err;
}

static int must_live(void)
{
	return at.t->ops->lives(at.t) ? 0
				      : fail(ESRCH,
					     "%s has ended: `vestige show -P` and `vestige "
					     "extract -P` have what it recorded",
					     at.t->name);
}

/* The name of the file with the old values, by which --async_stop finds it. */
static void name_left(char *name, size_t bytes)
{
	snprintf(name, bytes, "atrace-%s", at.t->name);
}

static int switch_on(void)
{
	const struct {
		const char *path, *text;
	} settings[] = {{"buffer_size_kb", at.kb},
			{"options/overwrite", at.circular ? "1" : "0"},
			{"options/markers", "1"},
			{"options/copy_trace_marker", "1"},
			{"tracing_on", "1"}};
	char name[80];
	int err;

	if (!open_instance())
		return fail(EEXIST,
			    "%s has an instance " INSTANCE ": another `vestige atrace` runs, or "
			    "one waits for --async_stop",
			    at.t->name);
	err = categories(false);
	name_left(name, sizeof(name));
	if (!err)
		err = borrowed_new(name, &at.borrowed);
	if (!err)
		err = borrowed_mkdir(at.borrowed, at.t, INSTANCE);
	if (!err)
		err = open_instance();
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings) && !err; i++)
		err = target_set(at.instance, settings[i].path, settings[i].text);
	return err ? err : categories(true);
}

/* Until @seconds are over, a signal comes or the target ends. Return: whether a signal came. */
static bool wait_for(double seconds)
{
	const struct timespec step = {0, POLL_NS};
	uint64_t begun = time_ns(CLOCK_MONOTONIC), ns = (uint64_t)(seconds * 1e9);

	while (time_ns(CLOCK_MONOTONIC) - begun < ns && (!at.t || at.t->ops->lives(at.t)))
		if (sigtimedwait(&at.signals, NULL, &step) > 0)
			return true;
	return false;
}

/* The output behind "TRACE:", deflated with -z. */
struct text {
	struct out o;
	z_stream z;
};

static int put_text(void *arg, const char *text, size_t bytes)
{
	struct text *to = arg;

	if (at.compress)
		out_deflate(&to->o, &to->z, text, bytes, Z_NO_FLUSH);
	else
		out_write(&to->o, text, bytes);
	return to->o.err;
}

static int export(struct text *to)
{
	struct reader *r = NULL;
	struct progress p;
	struct view v;
	int err;

	view_init(&v);
	v.path = at.t->name;
	progress_begin(&p, "the trace", "Ctrl-C ends the output", false);
	p.sink = put_text;
	p.sink_arg = to;
	p.view = &v;
	err = at.instance->ops->records(at.instance, &r);
	if (!err) {
		err = view_use(&v, r);
		if (!err)
			err = progress_write(&p, exporter_find("systrace"), false, v.r);
		view_close(&v);
	}
	if (progress_end(&p) && err)
		err = fail(EINTR, "interrupted: the trace is not whole");
	if (err == -ENODATA) {
		note("nothing was recorded: no call of these categories came");
		err = 0;
	}
	return err;
}

/* Print the records of the instance. */
static int print(void)
{
	struct dat_file file;
	struct text to = {0};
	int fd = STDOUT_FILENO, err = 0, failed;

	if (at.output) {
		err = dat_file_create(&file, at.output);
		fd = file.fd;
	}
	if (err)
		return err;
	if (out_init(&to.o, fd) || (at.compress && deflateInit(&to.z, Z_DEFAULT_COMPRESSION))) {
		err = fail(ENOMEM, "out of memory");
		goto out;
	}
	out_text(&to.o, "TRACE:\n");
	err = export(&to);
	if (at.compress) {
		out_deflate(&to.o, &to.z, "", 0, Z_FINISH);
		deflateEnd(&to.z);
	}
	if (!at.output)
		return out_end_stdout(&to.o, to.o.err == -EPIPE ? 0 : err, "the trace");
	failed = out_end(&to.o);
	if (!err && failed)
		err = dat_file_failed(&file, failed);
	if (!err)
		return dat_file_commit(&file);
out:
	if (at.output)
		dat_file_abort(&file);
	return err;
}

/* No more records, and the trace. */
static int stop_and_print(void)
{
	borrowed_undo(at.borrowed, "atrace_tags");
	if (at.t->ops->lives(at.t))
		target_set(at.instance, "tracing_on", "0");
	return print();
}

static int trace(void)
{
	int err;

	if (at.sleep > 0 && wait_for(at.sleep))
		return fail(EINTR, "interrupted before it began");
	err = must_live();
	if (!err)
		err = switch_on();
	if (err)
		return err;
	if (at.async_start) {
		borrowed_leave(at.borrowed);
		at.borrowed = NULL;
		return 0;
	}
	wait_for(at.seconds < 0 ? DEFAULT_SECONDS : at.seconds);
	if (!at.t->ops->lives(at.t))
		note("%s has ended, this is what it recorded", at.t->name);
	return stop_and_print();
}

/* --async_dump and --async_stop. */
static int take_up(void)
{
	char name[80];
	int err;

	if (open_instance())
		return fail(ENOENT,
			    "no trace of `vestige atrace` runs in %s: --async_start begins one",
			    at.t->name);
	if (at.async_dump)
		return print();
	name_left(name, sizeof(name));
	err = borrowed_take(name, &at.borrowed);
	if (err == -EBUSY)
		return fail(EBUSY, "a `vestige atrace` of %s still runs: Ctrl-C ends it",
			    at.t->name);
	if (err == -ENOENT)
		return fail(ENOENT,
			    "the instance " INSTANCE
			    " of %s is not of `vestige atrace`: `vestige get` and "
			    "`set` have its files",
			    at.t->name);
	return err ? err : stop_and_print();
}

static int run_atrace(void)
{
	int err = open_target();

	if (err)
		return err;
	if (at.list)
		return each_category(print_category, NULL);
	return at.async_dump || at.async_stop ? take_up() : trace();
}

static int take_seconds(const struct parsing *p, void *to, const char *value)
{
	char *end;
	double d = strtod(value, &end);

	(void)to;
	if (*end || end == value || !isfinite(d) || d < 0 || d > MAX_SECONDS)
		return options_bad(p, "not seconds from 0 to 1000000", value);
	if (p->flag->letter == 's')
		at.sleep = d;
	else
		at.seconds = d;
	return 0;
}

static int take_kb(const struct parsing *p, void *to, const char *value)
{
	unsigned long long n;
	int status = options_take_number(p, value, 1, UINT32_MAX, "not a number of KB", &n);

	((struct atrace *)to)->kb = value;
	return status;
}

/* Refuse Android's flags that have another form here, or no meaning for a process. */
static int refuse(const struct parsing *p, void *to, const char *value)
{
	static const struct {
		char letter;
		const char *why;
	} why[] = {
		{'a',
		 "-a is Android's for programs by name: -P names the process, --session several"},
		{'f',
		 "-f is Android's for a file of categories: they are words here, as in `vestige "
		 "atrace $(cat FILE)`"},
		{'k', "-k is Android's for functions of the kernel, which are not in a process: "
		      "`vestige record -k -p function -l FUNC` has them"},
		{'n',
		 "-n is Android's for ignoring signals: here Ctrl-C ends the wait and the trace is "
		 "printed; `nohup` and `setsid` keep a terminal's signals away"},
	};

	(void)to;
	(void)value;
	for (size_t i = 0; i < sizeof(why) / sizeof(*why); i++)
		if (p->flag->letter == why[i].letter)
			return options_wrong(p->command, "%s", why[i].why);
	return -1;
}

static const struct flag flags[] = {
	{'P', "pid", "PID",
	 "the process; default: the only traced one that lives. One without the engine gets it",
	 control_take_pid, offsetof(struct atrace, pid)},
	{0, "session", "NAME", "the processes of this session", NULL,
	 offsetof(struct atrace, session)},
	{'t', NULL, "SECONDS", "trace for so long (default: 5)", take_seconds, 0},
	{'s', NULL, "SECONDS", "wait so long before", take_seconds, 0},
	{'b', NULL, "KB", "size of the buffer, for each CPU (default: " DEFAULT_KB ")", take_kb, 0},
	{'c', NULL, NULL, "a circular buffer: when it is full, the oldest records are overwritten",
	 NULL, offsetof(struct atrace, circular)},
	{'z', NULL, NULL, "the text is compressed by zlib, behind the line TRACE:", NULL,
	 offsetof(struct atrace, compress)},
	{'o', NULL, "FILE", "print into FILE", NULL, offsetof(struct atrace, output)},
	{'l', "list_categories", NULL, "list the categories, and what each is", NULL,
	 offsetof(struct atrace, list)},
	{0, "async_start", NULL, "switch on and return", NULL,
	 offsetof(struct atrace, async_start)},
	{0, "async_dump", NULL, "print what is recorded since; it goes on", NULL,
	 offsetof(struct atrace, async_dump)},
	{0, "async_stop", NULL, "switch off and print", NULL, offsetof(struct atrace, async_stop)},
	{'a', NULL, "APP,APP", "refused: programs by name, here -P", refuse, 0},
	{'f', NULL, "FILE", "refused: a file of categories, here words", refuse, 0},
	{'k', NULL, "FUNC,FUNC", "refused: functions of the kernel", refuse, 0},
	{'n', NULL, NULL, "refused: ignore signals", refuse, 0},
	FLAGS_END};

static int check(const struct command *c)
{
	bool takes_up = at.async_dump || at.async_stop;
	struct stat st;

	if (at.list + at.async_start + at.async_dump + at.async_stop > 1)
		return options_wrong(
			c, "-l, --async_start, --async_dump and --async_stop: one at a time");
	if (at.pid && at.session)
		return options_wrong(c, "-P is a process and --session several: name one of them");
	if (*at.words && (at.list || takes_up))
		return options_wrong(c, "%s: leave out the category %s",
				     at.list	     ? "-l"
				     : at.async_dump ? "--async_dump"
						     : "--async_stop",
				     at.words[0]);
	if (!*at.words && !at.list && !takes_up)
		return options_wrong(c, "name a category, `vestige atrace -l` lists them");
	if (at.async_start && (at.output || at.compress))
		return options_wrong(c, "--async_start prints nothing: -o and -z go with "
					"--async_dump and --async_stop");
	if (at.list && (at.seconds >= 0 || at.sleep > 0 || at.output || at.compress))
		return options_wrong(c, "-l goes without -t, -s, -o and -z");
	if (at.sleep > 0 && takes_up)
		return options_wrong(c, "-s goes without --async_dump and --async_stop: they wait "
					"for nothing");
	if (at.seconds >= 0 && (at.async_start || takes_up))
		return options_wrong(c, "-t goes without --async_start, --async_dump and "
					"--async_stop: nothing is waited for");
	if (at.output && !stat(at.output, &st) && !S_ISREG(st.st_mode))
		return options_wrong(c,
				     "-o %s is no file: name one, or leave -o out, then stdout "
				     "has the text",
				     at.output);
	if (at.compress && !at.output && isatty(STDOUT_FILENO))
		return options_wrong(c, "-z is not for a terminal: name a file with -o");
	return -1;
}

static int run(const struct command *c, int argc, char **argv)
{
	sigset_t old;
	int status;

	at = (struct atrace){.seconds = -1, .kb = DEFAULT_KB};
	status = options_parse(c, (void *[]){&at}, &argc, &argv);
	if (status >= 0)
		return status;
	at.words = argv;
	status = check(c);
	if (status >= 0)
		return status;
	signals_ending(&at.signals);
	sigprocmask(SIG_BLOCK, &at.signals, &old);
	signal(SIGPIPE, SIG_IGN); /* so that settings are restored */
	status = run_atrace();
	target_put(at.instance);
	borrowed_end(at.borrowed);
	target_put(at.t);
	signals_drop(&at.signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return cmd_end(status);
}

const struct command command_atrace = {
	.name = "atrace",
	.words = "CATEGORY...",
	.what = "trace sections and counters of a process, as Android's atrace",
	.help = "Switch categories on, wait, switch them off, and print the trace as systrace's "
		"text. A\nCATEGORY is a tag of <vestige/atrace.h> or a system of events (sched); "
		"it may be a\npattern. Ctrl-C ends the wait.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
