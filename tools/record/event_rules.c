/* SPDX-License-Identifier: MIT */
/* See event_rules.h. Tests: tests/cli/test_record_filter.py. */
#include "tools/record/event_rules.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/target/command_refusal.h"
#include "tools/target/event_names.h"

struct acting {
	struct target *t;
	const struct event_rule *rule;
	unsigned int nr; /* events that were met */
	unsigned int
		*done; /* write_one(): files that were written; undo_one(): those left to undo */
};

static void path_of(const struct event_rule *r, const char *system, const char *event,
		    char path[512])
{
	snprintf(path, 512, "events/%s/%s/%s", system, event, r->trigger ? "trigger" : "filter");
}

static int refuse(const struct acting *a, const char *system, const char *event, int err)
{
	const struct event_rule *r = a->rule;
	char where[512], words[64];

	if (err == -EEXIST)
		return fail(EEXIST, "-R '%s': %s:%s has this trigger already", r->text, system,
			    event);
	snprintf(words, sizeof(words), "%s", strerror(-err));
	fail(-err, "-%c '%.300s': %s:%s refuses it: %s%s", r->trigger ? 'R' : 'f', r->text, system,
	     event, words, r->trigger ? "; vestige-events(7) has the triggers" : "");
	snprintf(where, sizeof(where), "-%c of %s:%s", r->trigger ? 'R' : 'f', system, event);
	return command_refused(a->t, where, r->text, err);
}

static int write_one(void *arg, const char *system, const char *event)
{
	struct acting *a = arg;
	char path[512];
	int err;

	a->nr++;
	path_of(a->rule, system, event, path);
	err = target_write(a->t, path, a->rule->text, strlen(a->rule->text), !a->rule->trigger);
	/* the file shows a refused filter, with its error */
	*a->done += !err || !a->rule->trigger;
	return err ? refuse(a, system, event, err) : 0;
}

static int check_one(void *arg, const char *system, const char *event)
{
	struct acting *a = arg;
	struct target_text text;
	char path[512];
	bool none;
	int err;

	a->nr++;
	if (a->rule->trigger)
		return 0;
	path_of(a->rule, system, event, path);
	err = target_read(a->t, path, &text);
	if (err)
		return err;
	none = !strcmp(text.at, "none\n");
	free(text.at);
	return none ? 0
		    : fail(EBUSY,
			   "process %s has a filter in %s already: `vestige set -P %s %s 0` clears "
			   "it",
			   a->t->name, path, a->t->name, path);
}

static int undo_one(void *arg, const char *system, const char *event)
{
	struct acting *a = arg;
	char path[512], *text;

	/* the rest is not ours: a trigger may be the user's */
	if (!*a->done)
		return 0;
	--*a->done;
	path_of(a->rule, system, event, path);
	if (!a->rule->trigger)
		target_write(a->t, path, "0", 1, true);
	else if (asprintf(&text, "!%s", a->rule->text) >= 0) {
		target_write(a->t, path, text, strlen(text), false);
		free(text);
	}
	return 0;
}

/* Call @act for each event of a rule. */
static int each(struct target *names, struct acting *a,
		int (*act)(void *arg, const char *system, const char *event))
{
	char *words = strdup(a->rule->events), *rest, *word;
	int err = words ? 0 : fail(ENOMEM, "out of memory");

	for (word = words ? strtok_r(words, ",", &rest) : NULL; word && !err;
	     word = strtok_r(NULL, ",", &rest)) {
		a->nr = 0;
		err = event_names_each(names, word, act, a);
		if (err == -EINVAL && !a->nr && !a->rule->alone)
			err = 0;
	}
	free(words);
	return err;
}

char *event_filter_join(const char *first, const char *second)
{
	char *both;

	return asprintf(&both, "(%s)&&(%s)", first, second) < 0 ? NULL : both;
}

int event_rules_check(struct target *t, const struct event_rule *rules, unsigned int nr)
{
	int err = 0;

	for (unsigned int i = 0; i < nr && !err; i++)
		err = each(t, &(struct acting){t, &rules[i], 0, NULL}, check_one);
	return err;
}

int event_rules_write(struct target *names, struct target *t, const struct event_rule *rules,
		      unsigned int nr)
{
	unsigned int done = 0;
	char why[1024];
	int err = 0;

	for (unsigned int i = 0; i < nr && !err; i++)
		err = each(names, &(struct acting){t, &rules[i], 0, &done}, write_one);
	if (!err)
		return 0;
	snprintf(why, sizeof(why), "%s", fail_text());
	for (unsigned int i = 0; i < nr && done; i++)
		each(names, &(struct acting){t, &rules[i], 0, &done}, undo_one);
	return fail(-err, "%s", why);
}

void event_rules_undo(struct target *t, const struct event_rule *rules, unsigned int nr)
{
	unsigned int all = UINT_MAX;

	for (unsigned int i = 0; i < nr; i++)
		each(t, &(struct acting){t, &rules[i], 0, &all}, undo_one);
}
