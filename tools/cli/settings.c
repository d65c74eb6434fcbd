/* SPDX-License-Identifier: MIT */
/* See settings.h. Tests: tests/cli/test_settings.py. */
#include "tools/cli/settings.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/child.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/record/event_rules.h"
#include "tools/target/event_names.h"

static int add(const struct parsing *p, struct settings *s, enum setting_kind kind,
	       const char *text)
{
	if (s->nr == SETTINGS_MAX)
		return options_bad(p, "too many of them, the last is", text ? text : "");
	s->at[s->nr++] = (struct setting){kind, text, s->negate};
	return 0;
}

/* The row's offset is the kind. */
static int take(const struct parsing *p, void *to, const char *value)
{
	return add(p, to, (enum setting_kind)p->flag->offset, value);
}

static int take_behind_event(const struct parsing *p, void *to, const char *value)
{
	const struct settings *s = to;
	unsigned int i = s->nr;

	while (i && (s->at[i - 1].kind == SET_FILTER || s->at[i - 1].kind == SET_TRIGGER))
		i--;
	if (!i || s->at[i - 1].kind != SET_EVENT)
		return options_bad(p, "it must come after its -e", value);
	return take(p, to, value);
}

static int take_negate(const struct parsing *p, void *to, const char *value)
{
	(void)p;
	(void)value;
	((struct settings *)to)->negate = true;
	return 0;
}

/* Take -B. It ends the effect of -v on later flags, unless -v removes this instance. */
static int take_instance(const struct parsing *p, void *to, const char *value)
{
	struct settings *s = to;
	int status = take(p, to, value);

	s->negate = false;
	return status;
}

static int take_whole_number(const struct parsing *p, void *to, const char *value)
{
	unsigned long long n;
	int status = options_take_number(p, value, 1, UINT32_MAX, "not a number", &n);

	return status ? status : take(p, to, value);
}

static int take_mask(const struct parsing *p, void *to, const char *value)
{
	if (strcmp(value, "-1") && (!*value || value[strspn(value, "0123456789abcdefABCDEF,")]))
		return options_bad(p, "not a mask of CPUs in hexadecimal", value);
	return take(p, to, value);
}

static int take_pid(const struct parsing *p, void *to, const char *value)
{
	return control_take_pid(p, &((struct settings *)to)->which.pid, value);
}

const struct flag settings_target_flags[] = {
	{'P', NULL, "PID",
	 "the process; default: the only traced one that lives. With -k: only what it does",
	 take_pid, 0},
	{'k', NULL, NULL, "the kernel of this machine, in place of a process", NULL,
	 offsetof(struct settings, which) + offsetof(struct control_which, kernel)},
	{'c', NULL, NULL, "with -k and -P: what its children do, too", NULL,
	 offsetof(struct settings, children)},
	FLAGS_END};

const struct flag settings_flags[] = {
	{'B', NULL, "NAME",
	 "what follows is about the instance NAME, which is made if it is not there; behind -v it "
	 "is "
	 "removed (may be repeated)",
	 take_instance, SET_INSTANCE},
	{'p', NULL, "TRACER",
	 "function, function_graph (entries and exits) or another of available_tracers", take,
	 SET_TRACER},
	{'l', NULL, "FUNC",
	 "trace only functions that match FUNC (may be repeated); without -l the filter stays as "
	 "it is",
	 take, SET_FUNCTION},
	{'n', NULL, "FUNC",
	 "do not trace functions that match FUNC (may be repeated); without -n that filter stays, "
	 "too",
	 take, SET_NOTRACE},
	{'g', NULL, "FUNC", "function_graph: only FUNC and what it calls (may be repeated)", take,
	 SET_GRAPH},
	{0, "module", "OBJECT", "-l and -n are about the functions of OBJECT; alone: all of them",
	 take, SET_MODULE},
	{0, "max-graph-depth", "N", "function_graph: only N levels of calls", take_whole_number,
	 SET_DEPTH},
	{'e', NULL, "EVENT",
	 "record EVENT, too: SYSTEM:NAME, SYSTEM or NAME, with *, ? and [], or all (may be "
	 "repeated)",
	 take, SET_EVENT},
	{'f', NULL, "FILTER", "for the -e before it: only records that match FILTER",
	 take_behind_event, SET_FILTER},
	{'R', NULL, "TRIGGER", "for the -e before it: add a trigger", take_behind_event,
	 SET_TRIGGER},
	{'v', NULL, NULL, "each -e behind it switches off, and -B removes", take_negate, 0},
	{'i', NULL, NULL, "an event of -e that is not there is left out", NULL,
	 offsetof(struct settings, missing_ok)},
	{'O', NULL, "OPTION",
	 "set an option of trace_options (func-args), noOPTION clears it (may be repeated)", take,
	 SET_OPTION},
	{'T', NULL, NULL, "a stack trace with each event", take, SET_STACKS},
	{0, "func-stack", NULL, "function: a stack trace with each call", take,
	 SET_FUNCTION_STACKS},
	{'d', NULL, NULL, "latency tracers do not record calls", take, SET_NO_FUNCTIONS},
	{'D', NULL, NULL, "the same; with -k kernel.ftrace_enabled is switched off, too", take,
	 SET_NO_FUNCTIONS_AT_ALL},
	{'C', NULL, "CLOCK", "a clock of `vestige list -C`", take, SET_CLOCK},
	{'b', NULL, "KB", "size of the ring buffer, for each CPU", take_whole_number,
	 SET_BUFFER_KB},
	{'M', NULL, "MASK", "record on these CPUs alone, in hexadecimal (-1: all)", take_mask,
	 SET_CPUS},
	{0, "cmdlines-size", "N", "keep the names of N tasks", take_whole_number, SET_NAMES},
	{'q', "quiet", NULL, "print errors alone", NULL, offsetof(struct settings, quiet)},
	FLAGS_END};

const struct flag settings_run_flags[] = {
	{0, "user", "USER", "run PROG as this user", NULL, offsetof(struct settings, user)},
	{0, "fork", NULL, "do not wait for PROG", NULL, offsetof(struct settings, fork)},
	FLAGS_END};

bool settings_any(const struct settings *s)
{
	return s->nr || s->missing_ok || s->children;
}

/* One buffer's settings: from @from to @to of the list. */
struct part {
	const struct settings *s;
	const struct settings_writer *w;
	struct target *t;
	unsigned int from, to;
};

static int put(const struct part *p, const char *path, const char *text, bool truncate)
{
	return p->w ? p->w->write(p->w->arg, p->t, path, text, truncate)
		    : control_write(p->t, path, text, truncate);
}

static const char *last_of(const struct part *p, enum setting_kind kind)
{
	for (unsigned int i = p->to; i > p->from; i--)
		if (p->s->at[i - 1].kind == kind)
			return p->s->at[i - 1].text ? p->s->at[i - 1].text : "";
	return NULL;
}

/* Write the last text of a kind, if there is one. */
static int put_last(const struct part *p, enum setting_kind kind, const char *path)
{
	const char *text = last_of(p, kind);

	return text ? put(p, path, text, true) : 0;
}

const char *settings_all_cpus(char all[CPU_MASK_BYTES])
{
	long nr = sysconf(_SC_NPROCESSORS_CONF);

	return cpu_mask_all(all, nr < 1 || nr > CPU_MASK_MAX ? CPU_MASK_MAX : (unsigned int)nr);
}

static int put_cpus(const struct part *p)
{
	const char *text = last_of(p, SET_CPUS);
	char all[CPU_MASK_BYTES];

	if (!text)
		return 0;
	return put(p, "tracing_cpumask", strcmp(text, "-1") ? text : settings_all_cpus(all), true);
}

/* The first pattern of a kind replaces the list. */
static int put_list(const struct part *p, enum setting_kind kind, const char *file)
{
	const char *object = kind == SET_GRAPH ? NULL : last_of(p, SET_MODULE);
	bool first = true;
	char text[512];
	int err = 0;

	for (unsigned int i = p->from; i < p->to && !err; i++) {
		const char *func = p->s->at[i].text;

		if (p->s->at[i].kind != kind)
			continue;
		if (object && !strstr(func, ":mod:")) {
			if (snprintf(text, sizeof(text), "%s:mod:%s", func, object) >=
			    (int)sizeof(text))
				return fail(E2BIG, "%s: a pattern of more than 500 bytes", file);
			func = text;
		}
		err = put(p, file, func, first);
		first = false;
	}
	return err;
}

static int put_functions(const struct part *p)
{
	const char *object = last_of(p, SET_MODULE);
	char text[512];
	int err = 0;

	if (object && !last_of(p, SET_FUNCTION) && !last_of(p, SET_NOTRACE)) {
		if (snprintf(text, sizeof(text), "*:mod:%s", object) >= (int)sizeof(text))
			return fail(E2BIG, "--module: a name of more than 500 bytes");
		err = put(p, "set_ftrace_filter", text, true);
	}
	if (!err)
		err = put_list(p, SET_FUNCTION, "set_ftrace_filter");
	if (!err)
		err = put_list(p, SET_NOTRACE, "set_ftrace_notrace");
	return err ? err : put_list(p, SET_GRAPH, "set_graph_function");
}

/* An option by its name, on unless it begins with "no". */
static int put_options(const struct part *p)
{
	static const struct {
		enum setting_kind kind;
		const char *text;
	} named[] = {{SET_STACKS, "stacktrace"},
		     {SET_NO_FUNCTIONS, "nofunction-trace"},
		     {SET_NO_FUNCTIONS_AT_ALL, "nofunction-trace"}};
	int err = 0;

	for (unsigned int i = p->from; i < p->to && !err; i++) {
		const struct setting *s = &p->s->at[i];

		if (s->kind == SET_OPTION)
			err = put(p, "trace_options", s->text, true);
		for (size_t k = 0; k < sizeof(named) / sizeof(*named) && !err; k++)
			if (s->kind == named[k].kind)
				err = put(p, "trace_options", named[k].text, true);
	}
	return err;
}

/* An event of -e, with the filters and triggers that follow it, and whether it is switched on. */
struct event {
	const struct part *p;
	unsigned int at; /* of its -e */
	bool met;	 /* there is such an event */
};

/* Join @first, which is freed, and @second; NULL: @second alone. Return: NULL: no memory. */
static char *both_filters(char *first, const char *second)
{
	char *both = first ? event_filter_join(first, second) : strdup(second);

	free(first);
	return both;
}

static int put_event(void *arg, const char *system, const char *name)
{
	struct event *e = arg;
	const struct settings *s = e->p->s;
	bool triggers = false;
	char path[600], *filter = NULL;
	int err = 0;

	e->met = true;
	for (unsigned int i = e->at + 1; i < e->p->to && !err; i++) {
		if (s->at[i].kind != SET_FILTER && s->at[i].kind != SET_TRIGGER)
			break;
		if (s->at[i].kind == SET_FILTER) {
			filter = both_filters(filter, s->at[i].text);
			if (!filter)
				return fail(ENOMEM, "out of memory");
			continue;
		}
		triggers = true;
		snprintf(path, sizeof(path), "events/%s/%s/trigger", system, name);
		err = put(e->p, path, s->at[i].text, false);
	}
	if (!err && filter) {
		snprintf(path, sizeof(path), "events/%s/%s/filter", system, name);
		err = put(e->p, path, filter, true);
	}
	free(filter);
	snprintf(path, sizeof(path), "events/%s/%s/enable", system, name);
	/* -v -e EVENT -R TRIGGER: the trigger alone, as trace-cmd has it */
	if (!err && !(s->at[e->at].negated && triggers))
		err = put(e->p, path, s->at[e->at].negated ? "0" : "1", true);
	return err;
}

static int put_events(const struct part *p)
{
	int err = 0;

	for (unsigned int i = p->from; i < p->to && !err; i++) {
		const struct setting *s = &p->s->at[i];
		struct event e = {p, i, false};
		bool more = i + 1 < p->to && (p->s->at[i + 1].kind == SET_FILTER ||
					      p->s->at[i + 1].kind == SET_TRIGGER);

		if (s->kind != SET_EVENT)
			continue;
		/*
		 * the file set_event knows events that available_events does not list yet, and a
		 * process's takes patterns at once; the kernel's takes names alone
		 */
		if (!more && !s->negated && (!p->s->which.kernel || !strpbrk(s->text, "*?["))) {
			err = put(p, "set_event", event_names_word(s->text), false);
			if (err == -ENOENT && p->s->missing_ok)
				err = -EINVAL;
		} else {
			err = event_names_each(p->t, s->text, put_event, &e);
		}
		/* not of a refused filter or trigger */
		if (err == -EINVAL && p->s->missing_ok && !e.met)
			err = 0;
	}
	return err;
}

/*
 * Write a file if it exists. A kernel that is locked down has no files for functions, only for
 * events.
 */
static int put_if_there(const struct part *p, const char *path, const char *text)
{
	int err = put(p, path, text, true);

	return err == -ENOENT || err == -EPERM ? 0 : err;
}

/* -k -P: the kernel's records of one process, and with -c of its children. */
static int put_pid(const struct part *p)
{
	char pid[16];
	int err = 0;

	if (!p->s->which.kernel || !p->s->which.pid)
		return 0;
	snprintf(pid, sizeof(pid), "%d", p->s->which.pid);
	if (p->s->children) {
		err = put_if_there(p, "options/event-fork", "1");
		if (!err)
			err = put_if_there(p, "options/function-fork", "1");
	}
	if (!err)
		err = put(p, "set_event_pid", pid, true);
	return err ? err : put_if_there(p, "set_ftrace_pid", pid);
}

/* --cmdlines-size, -D: of the machine, or not in instances. */
static int put_machine(const struct part *p)
{
	FILE *f;

	if (!last_of(p, SET_NO_FUNCTIONS_AT_ALL) || !p->s->which.kernel)
		return 0;
	f = fopen("/proc/sys/kernel/ftrace_enabled", "we");
	if (!f || fputs("0\n", f) < 0 || fclose(f))
		return fail_errno(errno, "-D: /proc/sys/kernel/ftrace_enabled");
	return 0;
}

/* Filters come before the tracer, so that nothing else is recorded in between. */
static int put_part(const struct part *p)
{
	int err = put_last(p, SET_CLOCK, "trace_clock");

	if (!err)
		err = put_last(p, SET_BUFFER_KB, "buffer_size_kb");
	if (!err)
		err = put_cpus(p);
	if (!err)
		err = put_last(p, SET_NAMES, "saved_cmdlines_size");
	if (!err)
		err = put_last(p, SET_DEPTH, "max_graph_depth");
	if (!err)
		err = put_machine(p);
	if (!err)
		err = put_pid(p);
	if (!err)
		err = put_functions(p);
	if (!err)
		err = put_last(p, SET_TRACER, "current_tracer");
	if (!err)
		err = put_options(p);
	/* an option of the tracer, which exists with it */
	if (!err && last_of(p, SET_FUNCTION_STACKS))
		err = put(p, "trace_options", "func_stack_trace", true);
	return err ? err : put_events(p);
}

static int apply_part(const struct settings *s, const struct settings_writer *w, const char *name,
		      unsigned int from, unsigned int to)
{
	struct control_which which = s->which;
	struct part p = {s, w, NULL, from, to};
	int err;

	if (which.kernel)
		which.pid = 0;
	which.instance = name;
	err = control_open_attached(&p.t, &which);
	if (err)
		return err;
	err = put_part(&p);
	if (!err && w && w->done)
		err = w->done(w->arg, p.t);
	target_put(p.t);
	return err;
}

static int remove_instance(const struct settings *s, const char *name)
{
	struct control_which which = s->which;
	struct target *t;
	int err;

	if (which.kernel)
		which.pid = 0;
	err = control_open(&t, &which, false);
	if (err)
		return err;
	err = t->ops->rmdir(t, name);
	target_put(t);
	return err;
}

static unsigned int next_instance(const struct settings *s, unsigned int i)
{
	while (i < s->nr && s->at[i].kind != SET_INSTANCE)
		i++;
	return i;
}

int settings_apply(const struct settings *s, const struct settings_writer *w)
{
	unsigned int i = next_instance(s, 0), end;
	int err = 0;

	if (i || !s->nr)
		err = apply_part(s, w, NULL, 0, i);
	for (; i < s->nr && !err; i = end) {
		end = next_instance(s, i + 1);
		if (!s->at[i].negated)
			err = apply_part(s, w, s->at[i].text, i + 1, end);
		else if (end > i + 1)
			err = fail(EINVAL, "-v -B %s removes it: no flag for it may follow",
				   s->at[i].text);
		else
			err = remove_instance(s, s->at[i].text);
	}
	return err;
}

static int become(const char *user)
{
	const struct passwd *pw = user ? getpwnam(user) : NULL;

	if (!user)
		return 0;
	if (!pw) {
		note("--user: there is no user %s", user);
		return CMD_OURS;
	}
	if (initgroups(user, pw->pw_gid) || setgid(pw->pw_gid) || setuid(pw->pw_uid)) {
		note("--user %s: %s", user, strerror(errno));
		return CMD_OURS;
	}
	setenv("HOME", pw->pw_dir, 1);
	setenv("USER", pw->pw_name, 1);
	setenv("LOGNAME", pw->pw_name, 1);
	return 0;
}

int settings_run(const struct settings *s, char **argv)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		note("cannot start %s: %s", argv[0], strerror(errno));
		return CMD_OURS;
	}
	if (!pid) {
		status = become(s->user);
		if (status)
			_exit(status);
		execvp(argv[0], argv);
		note("%s: %s", argv[0], strerror(errno));
		_exit(errno == ENOENT ? CMD_NOT_FOUND : CMD_CANNOT_EXEC);
	}
	if (s->fork)
		return 0;
	status = child_wait(pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
