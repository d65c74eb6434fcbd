/* SPDX-License-Identifier: MIT */
/* See control.h. Tests: tests/cli/test_control.py. */
#include "tools/cli/control.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/area.h"
#include "tools/attach/attach.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/target/command_refusal.h"
#include "tools/target/suggest.h"

int control_take_pid(const struct parsing *p, void *to, const char *value)
{
	unsigned long long n;
	int status = options_take_number(p, value, 1, INT_MAX, "not a process id", &n);

	if (!status)
		*(int *)to = (int)n;
	return status;
}

const struct flag control_pid_flags[] = {
	{'P', "pid", "PID", "the same as PID", control_take_pid, 0}, FLAGS_END};

int control_pid(const struct command *c, int argc, char **argv, int *pid)
{
	unsigned long long n;

	if (*pid ? argc : argc != 1 || !options_number(argv[0], INT_MAX, &n))
		return options_wrong(c, "name one process by its number: vestige %s PID", c->name);
	if (!*pid)
		*pid = (int)n;
	return 0;
}

static int take_pid(const struct parsing *p, void *to, const char *value)
{
	struct control_which *w = to;

	return control_take_pid(p, &w->pid, value);
}

const struct flag control_flags[] = {
	{'P', NULL, "PID", "the process; default: the only traced one that lives", take_pid, 0},
	{'B', NULL, "NAME", "its instance NAME, in place of the process itself", NULL,
	 offsetof(struct control_which, instance)},
	{'k', NULL, NULL, "the kernel of this machine, in place of a process", NULL,
	 offsetof(struct control_which, kernel)},
	FLAGS_END};

static int take_buffer(const struct parsing *p, void *to, const char *value)
{
	struct control_buffers *b = to;

	if (b->nr == CONTROL_MAX_BUFFERS)
		return options_bad(p, "too many of them, the last is", value);
	for (unsigned int i = 0; i < b->nr; i++)
		if (!strcmp(b->names[i], value))
			return options_bad(p, "named twice", value);
	b->names[b->nr++] = value;
	return 0;
}

static int take_buffers_pid(const struct parsing *p, void *to, const char *value)
{
	return take_pid(p, &((struct control_buffers *)to)->which, value);
}

const struct flag control_buffers_flags[] = {
	{'P', NULL, "PID", "the process; default: the only traced one that lives", take_buffers_pid,
	 0},
	{'B', NULL, "NAME", "its instance NAME, in place of the process itself (may be repeated)",
	 take_buffer, 0},
	{'k', NULL, NULL, "the kernel of this machine, in place of a process", NULL,
	 offsetof(struct control_buffers, which) + offsetof(struct control_which, kernel)},
	FLAGS_END};

int control_print(struct target *t, int (*print)(struct target *t, const char *file, struct out *o),
		  const char *file)
{
	struct out o;
	int err;

	fflush(stdout);
	if (out_init(&o, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	err = print(t, file, &o);
	return out_end_stdout(&o, err, "to stdout");
}

static int get(struct target **t, const char *name, const char *instance)
{
	int err = 0;

	*t = target_get(name, instance, &err);
	return *t ? 0 : err;
}

/* Make an instance in @top and open it. @top is released. */
static int make_instance(struct target **t, struct target *top, const char *instance)
{
	int err = top->ops->mkdir(top, instance);

	if (!err)
		err = get(t, top->name, instance);
	target_put(top);
	return err;
}

static int get_kernel(struct target **t, const char *instance)
{
	int err = 0;

	*t = target_kernel(instance, &err);
	return *t ? 0 : err;
}

static int open_kernel(struct target **t, const char *instance, bool make)
{
	struct target *top;
	int err = get_kernel(t, instance);

	if (err != -ENOENT || !make)
		return err;
	err = get_kernel(&top, NULL);
	if (err)
		return err;
	err = top->ops->mkdir(top, instance);
	target_put(top);
	return err ? err : get_kernel(t, instance);
}

static int open_instance(struct target **t, const struct control_which *w, const char *instance,
			 bool make)
{
	char number[16];
	const char *name = w->pid ? number : NULL;
	struct target *top;
	int err;

	if (w->kernel && w->pid)
		return fail(EINVAL, "-k is the kernel and -P a process: name one of them");
	if (w->kernel)
		return open_kernel(t, instance, make);
	snprintf(number, sizeof(number), "%d", w->pid);
	err = get(t, name, instance);
	if (err != -ENOENT || !make)
		return err;
	err = get(&top, name, NULL);
	return err ? err : make_instance(t, top, instance);
}

int control_open(struct target **t, const struct control_which *w, bool make)
{
	return open_instance(t, w, w->instance, make && w->instance);
}

int control_open_attached(struct target **t, const struct control_which *w)
{
	struct attach_result r;
	int err = control_open(t, w, true);

	if (err != -ESRCH || !w->pid || w->kernel)
		return err;
	err = attach_process(w->pid, ATTACH_WAIT_S, &r);
	if (err)
		return err;
	if (!r.was_there)
		note("the engine was loaded into process %d", w->pid);
	return control_open(t, w, true);
}

int control_open_file(struct target **t, const struct control_which *w, const char **file)
{
	static const char prefix[] = "instances/";
	char name[AREA_INSTANCE_BYTES];
	const char *end;

	if (w->instance || strncmp(*file, prefix, sizeof(prefix) - 1))
		return control_open(t, w, false);
	end = strchr(*file + sizeof(prefix) - 1, '/');
	if (!end || end - (*file + sizeof(prefix) - 1) >= (ptrdiff_t)sizeof(name))
		return fail_errno(ENOENT, "%s", *file);
	snprintf(name, sizeof(name), "%.*s", (int)(end - (*file + sizeof(prefix) - 1)),
		 *file + sizeof(prefix) - 1);
	*file = end + 1;
	return open_instance(t, w, name, false);
}

struct all {
	const struct control_buffers *of;
	int (*act)(struct target *t, const char *name, void *arg);
	void *arg;
	int err;
};

static int act_on(struct all *a, const char *name)
{
	struct control_which which = a->of->which;
	struct target *t;

	which.instance = name;
	a->err = control_open(&t, &which, false);
	if (a->err)
		return a->err;
	a->err = a->act(t, name, a->arg);
	target_put(t);
	return a->err;
}

static int act_on_instance(void *arg, const char *name, bool is_dir)
{
	return is_dir ? act_on(arg, name) : 0;
}

static int act_on_all(struct all *a)
{
	struct target *t;
	int err = control_open(&t, &a->of->which, false);

	if (err)
		return err;
	err = t->ops->files(t, "instances", act_on_instance, a);
	target_put(t);
	return a->err ? a->err : err;
}

int control_buffers_run(const struct control_buffers *b,
			int (*act)(struct target *t, const char *name, void *arg), void *arg)
{
	struct all a = {b, act, arg, 0};

	if (b->top || (!b->all && !b->nr))
		act_on(&a, NULL);
	for (unsigned int i = 0; i < b->nr && !b->all && !a.err; i++)
		act_on(&a, b->names[i]);
	return cmd_end(a.err || !b->all ? a.err : act_on_all(&a));
}

/* Files whose words must be in the list of another file; by the end of their paths. */
static const struct {
	const char *file, *wrong, *list;
} lists[] = {
	{"current_tracer", "there is no tracer", "available_tracers"},
	{"set_ftrace_filter", "no function matches", "available_filter_functions"},
	{"set_ftrace_notrace", "no function matches", "available_filter_functions"},
	{"set_graph_function", "no function matches", "available_filter_functions"},
	{"set_graph_notrace", "no function matches", "available_filter_functions"},
	{"set_event", "no event matches", "available_events"},
	{"trace_options", "there is no option", "trace_options"},
	{"trace_clock", "there is no clock", "trace_clock"},
};

const char *control_words(const struct target *t, const char *list, char *to, size_t bytes)
{
	bool pid = t->name[0] && strspn(t->name, "0123456789") == strlen(t->name);

	snprintf(to, bytes, "vestige get %s%s%s%s", strcmp(t->name, "kernel") ? "" : "-k ",
		 pid ? "-P " : "", pid ? t->name : "", pid ? " " : "");
	snprintf(to + strlen(to), bytes - strlen(to), "%s", list);
	return to;
}

bool control_is_empty(struct target *t, const char *file)
{
	char line[2];

	return !target_first_line(t, file, line, sizeof(line)) && !line[0];
}

/*
 * Whether @text is `FUNC:COMMAND` with a command that the target does not have; README lists those
 * that it has. @said: what is wrong. Then the error is set.
 */
static bool no_such_command(struct target *t, const char *text, const char *said)
{
	static const char label[] = "Commands of set_ftrace_filter: ";
	const char *command = strchr(text, ':'), *names;
	struct target_text readme;
	bool found = false;
	int n, left, bytes;

	if (!command || !strncmp(command, ":mod:", 5) || strpbrk(text, " \t\n") ||
	    target_read(t, "README", &readme))
		return false;
	n = (int)strcspn(++command, ":");
	names = strstr(readme.at, label);
	left = names ? (int)strcspn(names += sizeof(label) - 1, "\n") : 0;
	for (const char *at = names; left && !found && *at && *at != '\n';
	     at += bytes + (at[bytes] == ' ')) {
		bytes = (int)strcspn(at, " \n");
		found = bytes == n && !strncmp(at, command, (size_t)n);
	}
	if (left && !found)
		fail(EINVAL, "%s: there is no command '%.*s' (there are %.*s)", said,
		     n < 64 ? n : 64, command, left, names);
	free(readme.at);
	return left && !found;
}

int control_write(struct target *t, const char *path, const char *text, bool truncate)
{
	int err = target_write(t, path, text, strlen(text), truncate);
	const char *file = strrchr(path, '/');
	char said[256], near[128], words[128];

	file = file ? file + 1 : path;
	if (err && (!strcmp(file, "filter") || !strcmp(file, "trigger")))
		return command_refused(t, path, text, err);
	if (err != -EINVAL)
		return err;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strcmp(file, lists[i].file) != 0)
			continue;
		snprintf(said, sizeof(said), "%s", fail_text());
		if (!strcmp(file, "set_ftrace_filter") && no_such_command(t, text, said))
			return -EINVAL;
		if (suggest(t, lists[i].list, text, near, sizeof(near)))
			return fail(EINVAL, "%s: %s '%.64s', did you mean %s?", said,
				    lists[i].wrong, text, near);
		if (control_is_empty(t, lists[i].list))
			return fail(EINVAL,
				    "%s: the process has no function that can be traced; start a "
				    "program that was built without a flag with `vestige run "
				    "--unmodified`",
				    said);
		return fail(EINVAL, "%s: %s '%.64s' (see `%s`)", said, lists[i].wrong, text,
			    control_words(t, lists[i].list, words, sizeof(words)));
	}
	return err;
}
