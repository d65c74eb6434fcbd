/* SPDX-License-Identifier: MIT */
/* See writes.h. Tests: tests/tracefs/test_sessions.py. */
#include "tools/target/writes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"

#define MAX_WRITES 4096u

bool writes_keep(const char *path)
{
	/* these act on the present state alone */
	static const char *const now[] = {"trace",     "trace_marker", "trace_marker_raw",
					  "error_log", "snapshot",     "free_buffer"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(now) / sizeof(*now); i++)
		if (!strcmp(name, now[i]))
			return false;
	return true;
}

/* Whether a write to it adds to earlier ones, when it is not truncated. */
static bool is_list(const char *path)
{
	return !strncmp(path, "set_", 4) || !strcmp(path, "trace_options") ||
	       !strcmp(path, "atrace_tags") || !strcmp(path, "stack_trace_filter") ||
	       strstr(path, "_events") || strstr(path, "trigger");
}

void writes_free_meanings(struct written *w)
{
	for (unsigned int i = 0; i < w->nr_meanings; i++)
		free(w->meanings[i].text);
	free(w->meanings);
	w->meanings = NULL;
	w->nr_meanings = 0;
}

static void forget(struct writes *w, unsigned int i)
{
	writes_free_meanings(&w->at[i]);
	free(w->at[i].path);
	free(w->at[i].text);
	memmove(&w->at[i], &w->at[i + 1], (--w->nr - i) * sizeof(*w->at));
}

static int make_room(struct writes *w)
{
	if (w->nr == w->room && w->room * 2 > MAX_WRITES)
		return -ENOSPC;
	return ARRAY_ROOM(w->at, w->nr, w->room, 16);
}

static int add(struct writes *w, const struct written *new)
{
	struct written *kept;
	int err;

	for (unsigned int i = 0; new->text &&i < w->nr; i++) {
		if (!w->at[i].text || strcmp(w->at[i].path, new->path) ||
		    (is_list(new->path) && !new->truncate))
			continue;
		forget(w, i--);
	}
	err = make_room(w);
	if (err)
		return err;
	kept = &w->at[w->nr];
	*kept = *new;
	kept->path = strdup(new->path);
	kept->text = new->text ? malloc(new->n + 1) : NULL;
	if (!kept->path || (new->text && !kept->text)) {
		free(kept->path);
		free(kept->text);
		return -ENOMEM;
	}
	if (new->text)
		memcpy(kept->text, new->text, new->n);
	w->nr++;
	return 0;
}

int writes_add(struct writes *w, struct written *new)
{
	int err = add(w, new);

	if (err)
		writes_free_meanings(new);
	return err;
}

void writes_forget_instance(struct writes *w, const char *name)
{
	for (unsigned int i = 0; i < w->nr;) {
		if (!w->at[i].text && !strcmp(w->at[i].path, name))
			forget(w, i);
		else
			i++;
	}
}

void writes_free(struct writes *w)
{
	while (w->nr)
		forget(w, w->nr - 1);
	free(w->at);
	*w = (struct writes){0};
}
