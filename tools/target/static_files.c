/* SPDX-License-Identifier: MIT */
/*
 * See static_files.h. The table of events is dat_events.h's, so trace_pipe_raw and a trace.dat have
 * the same formats. Tests: tests/tracefs/.
 */
#include "tools/target/static_files.h"

#include <stdio.h>
#include <string.h>

#include "tools/export/dat_events.h"
#include "tools/export/dat_sections.h"

#define EVENTS "events/ftrace/"

enum leaf {
	NOT,
	FOLDER,
	HEADER_PAGE,
	HEADER_EVENT,
	FORMAT,
	ID,
	EMPTY,
	TIMESTAMP_MODE,
};

static const struct {
	const char *path;
	enum leaf leaf;
} fixed[] = {
	{"events", FOLDER},
	{"events/header_page", HEADER_PAGE},
	{"events/header_event", HEADER_EVENT},
	{"events/ftrace", FOLDER},
	{"printk_formats", EMPTY},
	{"timestamp_mode", TIMESTAMP_MODE},
};

#define NR_FIXED (sizeof(fixed) / sizeof(*fixed))

static const struct dat_event *event_named(const char *name, size_t n)
{
	for (unsigned int i = 0; i < dat_nr_events; i++)
		if (dat_events[i].format && strlen(dat_events[i].name) == n &&
		    !strncmp(dat_events[i].name, name, n))
			return &dat_events[i];
	return NULL;
}

/* The kernel gives a file id to the events that perf may use. */
static bool has_id(const struct dat_event *ev)
{
	return !strcmp(ev->name, "function") || !strcmp(ev->name, "print");
}

static enum leaf find(const char *path, const struct dat_event **ev)
{
	size_t n;

	for (size_t i = 0; i < NR_FIXED; i++)
		if (!strcmp(fixed[i].path, path))
			return fixed[i].leaf;
	if (strncmp(path, EVENTS, strlen(EVENTS)))
		return NOT;
	path += strlen(EVENTS);
	n = strcspn(path, "/");
	*ev = event_named(path, n);
	if (!*ev)
		return NOT;
	if (!path[n])
		return FOLDER;
	if (!strcmp(path + n, "/format"))
		return FORMAT;
	return !strcmp(path + n, "/id") && has_id(*ev) ? ID : NOT;
}

bool static_file_find(const char *path, bool *dir)
{
	const struct dat_event *ev;
	enum leaf leaf = find(path, &ev);

	*dir = leaf == FOLDER;
	return leaf != NOT;
}

bool static_file_print(const char *path, struct out *o)
{
	const struct dat_event *ev = NULL;

	switch (find(path, &ev)) {
	case HEADER_PAGE:
		out_text(o, dat_header_page);
		return true;
	case HEADER_EVENT:
		out_text(o, dat_header_event);
		return true;
	case FORMAT:
		out_text(o, ev->format);
		return true;
	case ID:
		out_printf(o, "%u\n", ev->id);
		return true;
	case TIMESTAMP_MODE: /* as dat_pages.c stamps */
		out_text(o, "[delta] absolute\n");
		return true;
	case EMPTY:
		return true;
	default:
		return false;
	}
}

void static_file_list(const char *dir, int (*put)(void *arg, const char *name, bool dir), void *arg)
{
	size_t n = strlen(dir);
	const struct dat_event *ev = NULL;
	int stop = 0;

	for (size_t i = 0; i < NR_FIXED && !stop; i++) {
		const char *path = fixed[i].path, *slash = strrchr(path, '/');
		size_t parent = slash ? (size_t)(slash - path) : 0;

		if (parent == n && !strncmp(path, dir, n))
			stop = put(arg, slash ? slash + 1 : path, fixed[i].leaf == FOLDER);
	}
	if (!strcmp(dir, "events/ftrace")) {
		for (unsigned int i = 0; i < dat_nr_events && !stop; i++)
			if (dat_events[i].format)
				stop = put(arg, dat_events[i].name, true);
	} else if (find(dir, &ev) == FOLDER && ev) {
		stop = put(arg, "format", false);
		if (!stop && has_id(ev))
			put(arg, "id", false);
	}
}
