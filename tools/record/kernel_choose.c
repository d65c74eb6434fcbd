/* SPDX-License-Identifier: MIT */
/*
 * See kernel_choose.h. Threads are filtered by set_event_pid and set_ftrace_pid; the options
 * event-fork and function-fork add those that are made later. The options come first, so a thread
 * that is made while the others are listed is added by the kernel, or is in the next listing.
 * Tests: tests/cli/test_record_kernel.py.
 */
#include "tools/record/kernel_choose.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/record/event_rules.h"
#include "tools/target/event_names.h"
#include "tools/target/suggest.h"

#define FIRST_PID_NS "pid:[4026531836]"

struct enabling {
	struct target *at;
	bool off;
};

static int write_event(const struct enabling *e, const char *name)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "%s%s", e->off ? "!" : "", name);

	if (n >= (int)sizeof(text))
		return -EINVAL;
	return target_write(e->at, "set_event", text, (size_t)n, false);
}

static int enable_one(void *arg, const char *system, const char *event)
{
	char text[512];

	snprintf(text, sizeof(text), "%s:%s", system, event);
	return write_event(arg, text);
}

static int enable(struct target *top, struct target *at, const struct kernel_event_wish *wish,
		  bool ignore_missing)
{
	const char *event = wish->name;
	struct enabling e = {at, wish->negated};
	char near[128];
	int err = strpbrk(event, "*?[") ? event_names_each(top, event, enable_one, &e)
					: write_event(&e, event_names_word(event));

	if (err != -EINVAL)
		return err;
	if (ignore_missing) {
		note("-e %s: the kernel has no such event, it is left out", event);
		return 0;
	}
	if (suggest(top, "available_events", event, near, sizeof(near)))
		return fail(EINVAL, "-e %s: the kernel has no such event, did you mean %s?", event,
			    near);
	return fail(EINVAL,
		    "-e %s: the kernel has no such event (`vestige get -k available_events` shows "
		    "its own; the program's are named prog:EVENT)",
		    event);
}

/* Fail if flags have removed all events again. */
static int check_events(struct target *at, const struct kernel_wish *wish)
{
	struct target_text text;
	int err = target_read(at, "set_event", &text);
	bool any = !err && text.at[0];

	if (err)
		return err;
	free(text.at);
	if (any)
		return 0;
	if (!wish->ignore_missing)
		return fail(EINVAL, "no event of the kernel is left by -e and -v: name one with -e "
				    "in front of -v");
	note("no event of the kernel is recorded: none that -e names is left");
	return 0;
}

/* Has a list of the kernel, words in one line, this word? */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; *at; at += strcspn(at, " \n"), at += *at != '\0')
		if (strcspn(at, " \n") == n && !memcmp(at, word, n))
			return true;
	return false;
}

static int set_tracer(struct target *top, struct target *at, const char *tracer)
{
	struct target_text text;
	char near[128];
	int err = target_set(at, "current_tracer", tracer);

	if (!err || target_read(top, "available_tracers", &text))
		return err;
	text.at[strcspn(text.at, "\n")] = '\0';
	if (has_word(text.at, tracer) && err == -EINVAL)
		err = fail(
			EINVAL,
			"--kernel-tracer %s: the kernel has this tracer in its own buffer alone, "
			"not in an instance: `vestige start -k -p %s` sets it there. It has: %s",
			tracer, tracer, text.at);
	else if (has_word(text.at, tracer))
		err = fail(-err,
			   "--kernel-tracer %s: the kernel refuses this tracer: %s. It has: %s; -e "
			   "records its events",
			   tracer, strerror(-err), text.at);
	else if (suggest(top, "available_tracers", tracer, near, sizeof(near)))
		err = fail(-err,
			   "--kernel-tracer %s: the kernel has no such tracer, did you mean "
			   "%s? It has: %s",
			   tracer, near, text.at);
	else
		err = fail(-err, "--kernel-tracer %s: the kernel has no such tracer. It has: %s",
			   tracer, text.at);
	free(text.at);
	return err;
}

int kernel_choose(struct target *top, struct target *at, const struct kernel_wish *wish)
{
	int err = event_rules_write(top, at, wish->rules, wish->nr_rules);

	for (unsigned int i = 0; i < wish->nr_events && !err; i++)
		err = enable(top, at, &wish->events[i], wish->ignore_missing);
	if (!err && wish->nr_events)
		err = check_events(at, wish);
	return err || !wish->tracer ? err : set_tracer(top, at, wish->tracer);
}

struct threads {
	int *at;
	size_t nr, room;
};

static int add_thread(struct threads *t, int tid)
{
	for (size_t i = t->nr; i > 0; i--)
		if (t->at[i - 1] == tid)
			return 0;
	if (ARRAY_ROOM(t->at, t->nr, t->room, 64))
		return fail(ENOMEM, "out of memory");
	t->at[t->nr++] = tid;
	return 0;
}

/* Add the threads of a process; one that has ended has none. */
static int list_threads(struct threads *t, int pid)
{
	struct dirent *e;
	char path[64];
	int err = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && !err && (e = readdir(d)))
		if (*e->d_name != '.')
			err = add_thread(t, (int)strtol(e->d_name, NULL, 10));
	if (d)
		closedir(d);
	return err;
}

static int check_namespace(void)
{
	char name[64] = "";
	ssize_t n = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);

	if (n < 0 || !strcmp(name, FIRST_PID_NS))
		return 0;
	return fail(ENOTSUP, "the kernel's events cannot be limited to a process here: this is a "
			     "PID namespace, and the kernel's filter has the numbers of the "
			     "machine. Run it outside of the container");
}

static int add_to_filter(struct target *at, const char *file, const struct threads *t, size_t from)
{
	char text[32];
	int err = 0;

	for (size_t i = from; i < t->nr && !err; i++)
		err = target_write(at, file, text,
				   (size_t)snprintf(text, sizeof(text), "%d\n", t->at[i]), false);
	return err;
}

/* @fork: the option by which threads that come later are added. */
static int limit(struct target *at, const char *file, const char *fork, const int *pids,
		 unsigned int nr)
{
	struct threads t = {0};
	size_t had;
	int err = target_set(at, "trace_options", fork);

	if (err)
		return fail(-err,
			    "this kernel has no option %s: the threads that come later "
			    "would not be recorded",
			    fork);
	do {
		had = t.nr;
		for (unsigned int i = 0; i < nr && !err; i++)
			err = list_threads(&t, pids[i]);
		if (!err && !t.nr)
			err = fail(ESRCH, "process %d has ended", pids[0]);
		if (!err)
			err = add_to_filter(at, file, &t, had);
	} while (!err && t.nr > had);
	free(t.at);
	return err;
}

int kernel_choose_threads(struct target *at, const int *pids, unsigned int nr)
{
	struct target_text tracer;
	int err = check_namespace();

	if (!err)
		err = limit(at, "set_event_pid", "event-fork", pids, nr);
	if (!err)
		err = target_read(at, "current_tracer", &tracer);
	if (err)
		return err;
	/* a kernel that is locked down refuses to open it */
	if (strcmp(tracer.at, "nop\n") != 0)
		err = limit(at, "set_ftrace_pid", "function-fork", pids, nr);
	free(tracer.at);
	return err;
}
