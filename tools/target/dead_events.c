/* SPDX-License-Identifier: MIT */
/*
 * See dead_events.h. The table AREA_EVENTS has the events that were on; the file available_events
 * has all that were known. The events' state is the text of the folder events/ in the table of
 * control files (abi/area.h, struct area_files). All of it is untrusted. Tests:
 * tests/engine/events/hist, tests/tracefs/test_hung.py.
 */
#include "tools/target/dead_events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/area/area.h"
#include "tools/base/fail.h"
#include "tools/target/file_tree.h"

#define NAME_BYTES 256
#define MAX_EVENTS 65536u
#define NR_STATE   3u /* an event's first files: in its state; others: in AREA_EVENTS */

struct name {
	const char *system, *name;
	const struct area_event *row; /* NULL: it was never on */
};

struct left {
	struct meta *m;
	struct file_tree tree;
	struct name *names;
	uint32_t nr;
	char *text; /* of names */
};

/* The contents of events/SYSTEM/NAME/... */
struct state {
	bool on, soft;
	const char *filter, *trigger;
	size_t filter_bytes, trigger_bytes;
};

/* Is it a name that may be a part of a path? An area is untrusted. */
static bool is_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) < NAME_BYTES;
}

static const struct name *find(const struct left *l, const char *system, const char *name)
{
	for (uint32_t i = 0; i < l->nr; i++)
		if (!strcmp(l->names[i].system, system) &&
		    (!name || !strcmp(l->names[i].name, name)))
			return &l->names[i];
	return NULL;
}

static void add(struct left *l, const char *system, const char *name, const struct area_event *row)
{
	if (is_name(system) && is_name(name) && l->nr < MAX_EVENTS && !find(l, system, name))
		l->names[l->nr++] = (struct name){system, name, row};
}

/* Add the events of available_events, whose text is cut up. */
static void add_listed(struct left *l)
{
	char *line, *next, *colon;

	for (line = strtok_r(l->text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		add(l, line, colon + 1, NULL);
	}
}

static void unload(struct left *l)
{
	file_tree_free(&l->tree);
	meta_free(l->m);
	free(l->names);
	free(l->text);
}

/* The tables of an area, and the tree of its files, of which it may have none. */
static int load_area(const struct image *t, const char *name, struct meta **m,
		     struct file_tree *tree)
{
	uint64_t bytes;
	int fd = area_open(t->dir.fd, name, O_RDONLY, &bytes), err;

	if (fd < 0)
		return fd;
	err = meta_load(fd, 0, bytes, t->path, m);
	if (!err)
		file_tree_load(fd, &(*m)->head, tree);
	close(fd);
	return err;
}

/* The text of available_events, of the process for an instance too; freed by the caller. */
static char *listed_events(const struct image *t, const struct left *l)
{
	struct file_tree top = {0};
	const struct file_row *row;
	struct meta *m = NULL;
	char *text;

	if (t->instance[0] && load_area(t, t->process, &m, &top))
		return strdup("");
	row = file_tree_row(t->instance[0] ? &top : &l->tree, "available_events");
	text = row && row->text ? strndup(row->text, row->bytes) : strdup("");
	file_tree_free(&top);
	meta_free(m);
	return text;
}

static int load(const struct image *t, struct left *l)
{
	int err;

	*l = (struct left){0};
	err = load_area(t, t->name, &l->m, &l->tree);
	if (err)
		return err;
	l->text = listed_events(t, l);
	l->names = calloc(MAX_EVENTS, sizeof(*l->names));
	if (!l->text || !l->names) {
		unload(l);
		return fail(ENOMEM, "out of memory for events");
	}
	for (uint32_t i = 0; i < l->m->nr_events; i++)
		add(l, meta_string(l->m, l->m->events[i].system),
		    meta_string(l->m, l->m->events[i].name), &l->m->events[i]);
	add_listed(l);
	/* it has a filter and triggers, but available_events does not list it */
	add(l, "ftrace", "print", NULL);
	return 0;
}

/*
 * The state behind @p, which has @left bytes, of event @name. Return: bytes that it takes, 0 none.
 */
static size_t parse_state(const char *p, size_t left, char name[2 * NAME_BYTES], struct state *s)
{
	const char *end = memchr(p, '\n', left);
	unsigned int filter, trigger;
	size_t line = end ? (size_t)(end - p) + 1 : 0;
	char copy[2 * NAME_BYTES + 32], on, soft;

	if (!line || line >= sizeof(copy))
		return 0;
	memcpy(copy, p, line);
	copy[line] = '\0';
	if (sscanf(copy, "%511[^ ] %c%c %5u %5u", name, &on, &soft, &filter, &trigger) != 5 ||
	    filter + trigger > left - line)
		return 0;
	*s = (struct state){.on = on == '1',
			    .soft = soft == '*',
			    .filter = p + line,
			    .filter_bytes = filter,
			    .trigger = p + line + filter,
			    .trigger_bytes = trigger};
	return line + filter + trigger;
}

/* The state of an event. Return: false: the area does not have it. */
static bool state_of(const struct left *l, const struct name *of, struct state *s)
{
	const struct file_row *row = file_tree_row(&l->tree, "events");
	char wanted[2 * NAME_BYTES + 2], name[2 * NAME_BYTES];
	size_t at = 0, n;
	struct state each;
	bool found = false;

	if (!row || !row->text)
		return false;
	snprintf(wanted, sizeof(wanted), "%s:%s", of->system, of->name);
	while ((n = parse_state(row->text + at, row->bytes - at, name, &each))) {
		if (!strcmp(name, ":")) {
			*s = each;
			found = true;
		} else if (!strcmp(name, wanted)) {
			*s = each;
			return true;
		}
		at += n;
	}
	return found;
}

/* `0`, `1` or `X` for the events of @system; NULL: all. Return: as dead_events_print(). */
static int print_mixed(const struct left *l, const char *system, struct out *o)
{
	bool on = false, off = false;
	struct state s;

	for (uint32_t i = 0; i < l->nr; i++) {
		if ((system && strcmp(l->names[i].system, system) != 0) ||
		    !state_of(l, &l->names[i], &s))
			continue;
		on |= s.on;
		off |= !s.on;
	}
	if (!on && !off)
		return -ENOENT;
	out_text(o, on && off ? "X\n" : on ? "1\n" : "0\n");
	return 0;
}

static int print_of(const struct left *l, const struct name *e, const char *what, struct out *o)
{
	bool is_state = true;
	struct state s;

	if (e->row && !strcmp(what, "id")) {
		out_printf(o, "%u\n", e->row->id);
		return 0;
	}
	if (e->row && !strcmp(what, "format") && e->row->format < l->m->format_bytes) {
		out_text(o, l->m->formats + e->row->format);
		return 0;
	}
	if (!state_of(l, e, &s))
		return -ENOENT;
	if (!strcmp(what, "enable"))
		out_printf(o, "%d%s\n", s.on, s.soft ? "*" : "");
	else if (!strcmp(what, "filter"))
		out_write(o, s.filter, s.filter_bytes);
	else if (!strcmp(what, "trigger"))
		out_write(o, s.trigger, s.trigger_bytes);
	else
		is_state = false;
	return is_state ? 0 : -ENOENT;
}

/*
 * Split a path in events/ into SYSTEM, NAME and the file, "" where the path is shorter. Return: the
 * number of parts behind events/; -1: the path is not in events/.
 */
static int split(const char *path, char *system, char *name, char *what)
{
	char end;
	int parts;

	*system = *name = *what = '\0';
	if (!strcmp(path, "events"))
		return 0;
	parts = sscanf(path, "events/%255[^/]/%255[^/]/%15[^/]%c", system, name, what, &end);
	return parts > 0 && parts < 4 ? parts : -1;
}

static int list_names(const struct left *l, const char *system,
		      int (*put)(void *arg, const char *name, bool is_dir), void *arg)
{
	int err = 0;

	for (uint32_t i = 0; i < l->nr && !err; i++) {
		const struct name *e = &l->names[i];

		if (system && !strcmp(e->system, system))
			err = put(arg, e->name, true);
		else if (!system && find(l, e->system, NULL) == e)
			err = put(arg, e->system, true);
	}
	return err;
}

int dead_events_list(const struct image *t, const char *dir,
		     int (*put)(void *arg, const char *name, bool is_dir), void *arg)
{
	static const char *const files[] = {"enable", "filter", "trigger", "hist", "format", "id"};
	char system[NAME_BYTES], name[NAME_BYTES], what[16];
	int parts = split(dir, system, name, what), err;
	const struct name *e;
	struct state s;
	struct left l;

	if (parts < 0 || parts > 2)
		return -ENOENT;
	err = load(t, &l);
	if (err)
		return err;
	e = parts ? find(&l, system, parts == 2 ? name : NULL) : NULL;
	if (parts && !e) {
		err = -ENOENT;
	} else if (parts < 2) {
		if (strcmp(system, "ftrace") != 0 && l.nr && state_of(&l, &l.names[0], &s))
			put(arg, "enable", false);
		list_names(&l, parts ? system : NULL, put, arg);
	} else {
		bool known = state_of(&l, e, &s);

		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
			if ((i || strcmp(system, "ftrace") != 0) &&
			    (i < NR_STATE ? known : e->row != NULL) && put(arg, files[i], false))
				break;
	}
	unload(&l);
	return err;
}

int dead_events_print(const struct image *t, const char *file, struct out *o)
{
	char system[NAME_BYTES], name[NAME_BYTES], what[16];
	int parts = split(file, system, name, what), err;
	const struct name *e;
	struct left l;

	if (parts < 1)
		return -ENOENT;
	err = load(t, &l);
	if (err)
		return err;
	if (parts == 1)
		err = strcmp(system, "enable") ? -ENOENT : print_mixed(&l, NULL, o);
	else if (parts == 2)
		err = strcmp(name, "enable") ? -ENOENT : print_mixed(&l, system, o);
	else
		err = (e = find(&l, system, name)) ? print_of(&l, e, what, o) : -ENOENT;
	unload(&l);
	return err;
}

char *dead_events_names(const struct image *t)
{
	char *text = NULL;
	struct left l;
	size_t n;
	FILE *f;

	if (load(t, &l))
		return NULL;
	f = open_memstream(&text, &n);
	for (size_t i = 0; f && i < l.nr; i++)
		fprintf(f, "%s:%s\n", l.names[i].system, l.names[i].name);
	unload(&l);
	if (f && !fclose(f))
		return text;
	fail(ENOMEM, "out of memory for events");
	return NULL;
}
