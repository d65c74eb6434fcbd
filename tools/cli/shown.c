/* SPDX-License-Identifier: MIT */
/* See shown.h. Tests: tests/cli/test_view.py. */
#include "tools/cli/shown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/view_flags.h"
#include "tools/record/progress.h"

#define MAX_FILES SHOWN_MAX_FILES

const struct flag shown_flags[] = {
	{'P', NULL, "TARGET",
	 "a process that is traced, or a session, by its PID or name: what its ring holds now, "
	 "read "
	 "anew each second while it lives",
	 NULL, offsetof(struct shown_wish, target)},
	{0, "ts-offset", "LIST",
	 "add to the times of each FILE, in their order: 0,1.5ms,-3us (ns without a unit)", NULL,
	 offsetof(struct shown_wish, offsets)},
	{0, "align", NULL, "each FILE begins where the first one does", NULL,
	 offsetof(struct shown_wish, align)},
	FLAGS_END};

/* Read the whole recording. Ctrl-C ends the reading. */
static int read_columns(struct view *v, struct columns **out)
{
	struct progress p;
	int err;

	progress_begin(&p, v->path, "Ctrl-C ends this", false);
	progress_view(&p, v);
	err = columns_read(v, NULL, out);
	v->progress = NULL;
	v->r->stop = NULL;
	if (progress_end(&p) && err)
		err = fail(EINTR, "interrupted");
	return err;
}

/* The recording of a process or session, as of now. */
static int read_target(struct target *t, const struct shown_wish *opt, struct view *v,
		       struct columns **out)
{
	struct reader *r = NULL;
	int err = t->ops->records(t, &r);

	v->path = opt->target;
	if (!err)
		err = view_use(v, r);
	return err ? err : columns_read(v, NULL, out);
}

/* The same, once it has something. */
static int await_target(struct target *t, const struct shown_wish *opt, const struct view *plain,
			struct view *v, struct columns **out)
{
	static const struct timespec tick = {.tv_nsec = 100000000};
	bool noted = false;
	int err;

	for (;;) {
		/* its last records are read, too */
		bool lives = t->ops->grows || t->ops->lives(t);

		err = read_target(t, opt, v, out);
		if (err != -ENODATA || !lives)
			return err;
		if (!noted)
			note("%s has no records yet: waiting for them; Ctrl-C ends this",
			     opt->target);
		noted = true;
		view_close(v);
		*v = *plain;
		nanosleep(&tick, NULL);
	}
}

static bool has_changed(const struct columns *a, const struct columns *b)
{
	return a->first != b->first || a->last != b->last || a->nr_calls != b->nr_calls ||
	       a->events.nr != b->events.nr;
}

bool shown_refresh(struct shown *shown, struct columns **before)
{
	struct view *next = &shown->views[!shown->at];
	struct columns *c = NULL;

	shown->nr = 2;
	*next = shown->plain;
	if (read_target(shown->target, &shown->wish, next, &c) || !has_changed(shown->c, c)) {
		columns_free(c);
		view_close(next);
		return false;
	}
	*before = shown->c;
	shown->c = c;
	shown->at = !shown->at;
	return true;
}

void shown_forget(struct shown *shown, struct columns *before)
{
	columns_free(before);
	view_close(&shown->views[!shown->at]);
}

/* 1.5ms, -3us, 20: ns. */
static bool take_offset(const char **p, int64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1}};
	char *end;
	double n = strtod(*p, &end);
	size_t i = 0;

	if (end == *p)
		return false;
	while (strncmp(end, units[i].name, strlen(units[i].name)))
		i++;
	*p = end + strlen(units[i].name);
	n *= units[i].ns;
	/* also false of what is no number */
	if (!(n > -9e18 && n < 9e18))
		return false;
	*ns = (int64_t)n;
	return true;
}

static int offsets_of(const struct shown_wish *opt, struct columns *const *c, unsigned int nr,
		      int64_t *out)
{
	const char *p = opt->offsets;

	for (unsigned int i = 0; i < nr; i++)
		out[i] = opt->align ? (int64_t)(c[0]->first - c[i]->first) : 0;
	for (unsigned int i = 0; p && *p; i++) {
		int64_t ns;

		if (i == nr)
			return fail(EINVAL, "--ts-offset %s: there are only %u files", opt->offsets,
				    nr);
		if (!take_offset(&p, &ns) || (*p && *p++ != ','))
			return fail(EINVAL,
				    "--ts-offset %s: not times with commas between them, as "
				    "0,1.5ms,-3us",
				    opt->offsets);
		out[i] += ns;
	}
	return 0;
}

static int read_files(struct shown *shown)
{
	const struct shown_wish *opt = &shown->wish;
	struct columns *all[MAX_FILES] = {0};
	int64_t offsets[MAX_FILES] = {0};
	unsigned int nr = 0;
	int err = 0;

	for (; nr < shown->nr && !err; nr++) {
		err = view_open(&shown->views[nr]);
		if (!err)
			err = read_columns(&shown->views[nr], &all[nr]);
	}
	if (!err && nr > 1)
		err = columns_guests(all, nr);
	if (!err)
		err = offsets_of(opt, all, nr, offsets);
	if (!err && (nr > 1 || offsets[0]))
		return columns_join(all, nr, offsets, &shown->c);
	for (unsigned int i = err ? 0 : 1; i < nr; i++)
		columns_free(all[i]);
	shown->c = err ? NULL : all[0];
	return err;
}

int shown_parse(struct shown *shown, void *own, const struct command *c, int argc, char **argv)
{
	unsigned int nr = 1;
	int status = -1;

	for (unsigned int i = 0; status < 0 && i < nr; i++) {
		struct view *v = &shown->views[i];
		char **words = calloc((size_t)argc + 1, sizeof(*words)), **left = words;
		int n = argc;

		if (!words) {
			note("out of memory");
			return CMD_FAILURE;
		}
		memcpy(words, argv, (size_t)argc * sizeof(*words));
		view_init(v);
		shown->nr = i + 1;
		status = options_parse(c, (void *[]){v, &shown->wish, own}, &n, &left);
		nr = (unsigned int)n + (v->path ? 1 : 0);
		if (status < 0 && nr > MAX_FILES)
			status = options_wrong(c, "at most %u files", MAX_FILES);
		if (status < 0 && (!v->path || i))
			v->path = n ? left[v->path ? i - 1 : i] : NULL;
		free(words);
	}
	if (status < 0 && shown->wish.target && shown->views[0].path)
		return options_wrong(c, "-P or a file, not both");
	shown->plain = shown->views[0];
	return status;
}

struct view *shown_alone(struct shown *shown, bool *whole, int *err)
{
	struct view *v = &shown->views[0];

	*err = 0;
	if (shown->wish.target || shown->nr != 1 || shown->wish.offsets)
		return NULL;
	*whole = !view_has_filters(v) && !v->cpu_text && !v->srcline &&
		 v->demangle == DEMANGLE_SHORT;
	*err = view_open(v);
	return *err ? NULL : v;
}

int shown_read(struct shown *shown)
{
	int err = 0;

	if (!shown->wish.target)
		return read_files(shown);
	shown->target = target_get(shown->wish.target, NULL, &err);
	return shown->target ? await_target(shown->target, &shown->wish, &shown->plain,
					    &shown->views[0], &shown->c)
			     : err;
}

void shown_close(struct shown *shown)
{
	columns_free(shown->c);
	for (unsigned int i = 0; i < shown->nr; i++)
		view_close(&shown->views[i]);
	target_put(shown->target);
}
