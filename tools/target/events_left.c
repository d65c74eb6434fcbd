/* SPDX-License-Identifier: MIT */
/* See events_left.h. Tests: tests/engine/events/hist, tests/tracefs/test_sessions.py. */
#include "tools/target/events_left.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/reader/area.h"

#define NAME_BYTES 256

static int load(const struct target *t, struct meta **m)
{
	uint64_t bytes;
	int fd = area_open(t->dir.fd, t->name, O_RDONLY, &bytes), err;

	if (fd < 0)
		return fd;
	err = meta_load(fd, 0, bytes, t->path, m);
	close(fd);
	return err;
}

static const char *system_of(const struct meta *m, uint32_t i)
{
	return meta_string(m, m->events[i].system);
}

static const char *name_of(const struct meta *m, uint32_t i)
{
	return meta_string(m, m->events[i].name);
}

/* Names that may stand in a path; an area may say anything. */
static bool is_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) < NAME_BYTES;
}

static bool is_event(const struct meta *m, uint32_t i, const char *system, const char *name)
{
	return !strcmp(system_of(m, i), system) && (!name || !strcmp(name_of(m, i), name));
}

/* Those that stand for what is in a folder: each system once. */
static bool is_listed(const struct meta *m, uint32_t i, const char *system)
{
	if (!is_name(system_of(m, i)) || !is_name(name_of(m, i)))
		return false;
	for (uint32_t k = 0; k < i; k++)
		if (is_event(m, k, system_of(m, i), system ? name_of(m, i) : NULL))
			return false;
	return !system || !strcmp(system_of(m, i), system);
}

int events_left_list(const struct target *t, const char *dir,
		     int (*put)(void *arg, const char *name, bool is_dir), void *arg)
{
	static const char *const files[] = {"format", "hist", "id"};
	char system[NAME_BYTES] = "", name[NAME_BYTES] = "", end;
	struct meta *m;
	int parts, err = 0;
	bool found = false;

	parts = sscanf(dir, "events/%255[^/]/%255[^/]%c", system, name, &end);
	if (parts > 2 || (parts <= 0 && strcmp(dir, "events") != 0))
		return -ENOENT;
	err = load(t, &m);
	if (err)
		return err;
	for (uint32_t i = 0; i < m->nr_events && !err; i++) {
		if (parts == 2 && is_event(m, i, system, name)) {
			for (size_t k = 0; k < sizeof(files) / sizeof(*files) && !err; k++)
				err = put(arg, files[k], false);
			found = true;
			break;
		}
		if (parts < 2 && is_listed(m, i, parts == 1 ? system : NULL)) {
			err = put(arg, parts == 1 ? name_of(m, i) : system_of(m, i), true);
			found = true;
		}
	}
	meta_free(m);
	return found || parts <= 0 ? 0 : -ENOENT;
}

int events_left_print(const struct target *t, const char *file, struct out *o)
{
	char system[NAME_BYTES], name[NAME_BYTES], what[16], end;
	int err = -ENOENT;
	struct meta *m;

	if (sscanf(file, "events/%255[^/]/%255[^/]/%15[^/]%c", system, name, what, &end) != 3 ||
	    (strcmp(what, "id") != 0 && strcmp(what, "format") != 0))
		return -ENOENT;
	err = load(t, &m);
	if (err)
		return err;
	err = -ENOENT;
	for (uint32_t i = 0; i < m->nr_events && err; i++) {
		const struct area_event *e = &m->events[i];

		if (!is_event(m, i, system, name))
			continue;
		if (!strcmp(what, "id"))
			out_printf(o, "%u\n", e->id);
		else if (e->format < m->format_bytes)
			out_text(o, m->formats + e->format);
		err = 0;
	}
	meta_free(m);
	return err;
}
