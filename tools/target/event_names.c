/* SPDX-License-Identifier: MIT */
/* See event_names.h. Tests: tests/cli/test_settings.py, tests/cli/test_record_kernel.py. */
#include "tools/target/event_names.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"

const char *event_names_word(const char *word)
{
	return strcmp(word, "all") && strcmp(word, "*") ? word : "*:*";
}

static bool matches(const char *pattern, const char *system, const char *event)
{
	const char *colon = strchr(pattern, ':');
	char of_system[256];

	if (!strcmp(pattern, "all"))
		return true;
	if (!colon)
		return !fnmatch(pattern, system, 0) || !fnmatch(pattern, event, 0);
	if ((size_t)(colon - pattern) >= sizeof(of_system))
		return false;
	snprintf(of_system, sizeof(of_system), "%.*s", (int)(colon - pattern), pattern);
	return !fnmatch(of_system, system, 0) && !fnmatch(colon + 1, event, 0);
}

struct walk {
	struct target *t;
	const char *system;
	int (*act)(void *arg, const char *system, const char *event);
	void *arg;
	int err;
};

static int walk_event(void *arg, const char *name, bool is_dir)
{
	struct walk *w = arg;

	if (is_dir)
		w->err = w->act(w->arg, w->system, name);
	return w->err;
}

static int walk_system(void *arg, const char *name, bool is_dir)
{
	struct walk *w = arg;
	char dir[300];
	int err;

	/* the tracers' own events are in no available_events */
	if (!is_dir || !strcmp(name, "ftrace"))
		return 0;
	w->system = name;
	snprintf(dir, sizeof(dir), "events/%s", name);
	err = w->t->ops->files(w->t, dir, walk_event, w);
	w->err = w->err ? w->err : err;
	return w->err;
}

/* The kernel's instances have no available_events. */
static int walk_folders(struct target *t,
			int (*act)(void *arg, const char *system, const char *event), void *arg)
{
	struct walk w = {.t = t, .act = act, .arg = arg};
	int err = t->ops->files(t, "events", walk_system, &w);

	return w.err ? w.err : err;
}

int event_names_all(struct target *t, int (*act)(void *arg, const char *system, const char *event),
		    void *arg)
{
	struct target_text list;
	int err = target_read(t, "available_events", &list);
	char *rest, *event;

	if (err == -ENOENT)
		return walk_folders(t, act, arg);
	if (err)
		return err;
	for (char *line = strtok_r(list.at, "\n", &rest); line && !err;
	     line = strtok_r(NULL, "\n", &rest)) {
		event = strchr(line, ':');
		if (!event)
			continue;
		*event++ = '\0';
		err = act(arg, line, event);
	}
	free(list.at);
	return err;
}

struct each {
	const char *pattern;
	int (*act)(void *arg, const char *system, const char *event);
	void *arg;
	unsigned int nr;
};

static int act_if_named(void *arg, const char *system, const char *event)
{
	struct each *e = arg;

	if (!matches(e->pattern, system, event))
		return 0;
	e->nr++;
	return e->act(e->arg, system, event);
}

int event_names_each(struct target *t, const char *pattern,
		     int (*act)(void *arg, const char *system, const char *event), void *arg)
{
	struct each e = {pattern, act, arg, 0};
	int err = event_names_all(t, act_if_named, &e);

	return err || e.nr ? err : fail(EINVAL, "no event matches '%.100s'", pattern);
}
