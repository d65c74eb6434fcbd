/* SPDX-License-Identifier: MIT */
/*
 * How reads of a session combine the members' texts: see session_print(). A table has the method
 * for each file. Any thread; no lock is held while members are asked. Tests:
 * tests/tracefs/test_sessions.py.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/target/session.h"
#include "tools/target/hist_file.h"
#include "tools/target/render.h"

enum how_to_read {
	READ_FIRST,
	READ_UNION,
	READ_SUM,
	READ_DEEPEST,
};

static enum how_to_read how_to_read(const char *path)
{
	static const struct {
		const char *name;
		enum how_to_read how;
	} rows[] = {
		{"available_filter_functions", READ_UNION},
		{"available_filter_functions_addrs", READ_UNION},
		{"atrace_tags", READ_UNION},
		{"available_events", READ_UNION},
		{"enabled_functions", READ_UNION},
		{"saved_cmdlines", READ_UNION},
		{"saved_tgids", READ_UNION},
		{"set_event", READ_UNION},
		{"set_ftrace_filter", READ_UNION},
		{"set_ftrace_notrace", READ_UNION},
		{"set_graph_function", READ_UNION},
		{"set_graph_notrace", READ_UNION},
		{"vestige_absent", READ_UNION},
		{"vestige_status", READ_UNION},
		{"error_log", READ_UNION},
		{"printk_formats", READ_UNION},
		{"stack_trace_filter", READ_UNION},
		{"touched_functions", READ_UNION},
		{"stack_max_size", READ_DEEPEST},
		{"stack_trace", READ_DEEPEST},
		{"buffer_total_size_kb", READ_SUM},
		{"stats", READ_SUM},
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].name, name))
			return rows[i].how;
	return READ_FIRST;
}

struct text_of {
	char *text;
	size_t n, room;
};

static int append(void *arg, const char *text, size_t bytes)
{
	struct text_of *t = arg;

	if (t->room - t->n <= bytes) {
		size_t room = (t->n + bytes) * 2 + 64;
		char *more = realloc(t->text, room);

		if (!more)
			return -ENOMEM;
		t->text = more;
		t->room = room;
	}
	memcpy(t->text + t->n, text, bytes);
	t->n += bytes;
	t->text[t->n] = '\0';
	return 0;
}

/* One member's text. Return: 0 or -errno; @t->text may be NULL when it is empty. */
static int member_text(struct process *p, const char *path, struct text_of *t)
{
	struct out o;
	int err, end;

	if (out_init_sink(&o, append, t))
		return -ENOMEM;
	o.terminal = out_is_terminal();
	err = process_print(p, path, &o);
	end = out_end(&o);
	return err ? err : end;
}

/* Add the lines of @text that are not in @all. */
static int add_lines(struct text_of *all, char *text)
{
	char *line, *next;
	int err = 0;

	for (line = strtok_r(text, "\n", &next); line && !err; line = strtok_r(NULL, "\n", &next)) {
		size_t n = strlen(line);
		const char *at = all->text;
		bool there = false;

		while (at && !there && (at = strstr(at, line))) {
			there = (at == all->text || at[-1] == '\n') && at[n] == '\n';
			at++;
		}
		if (!there)
			err = append(all, line, n) || append(all, "\n", 1) ? -ENOMEM : 0;
	}
	return err;
}

/* Add up `name: number` and single numbers; of lines with a time the first member's stays. */
static int add_numbers(struct text_of *all, char *text)
{
	struct text_of sum = {0};
	char *line, *next, *mine = all->text, *mine_next, *value, out[128];
	int err = 0;

	if (!all->text)
		return append(all, text, strlen(text));
	mine = strtok_r(mine, "\n", &mine_next);
	for (line = strtok_r(text, "\n", &next); line && mine && !err;
	     line = strtok_r(NULL, "\n", &next), mine = strtok_r(NULL, "\n", &mine_next)) {
		value = strrchr(line, ' ');
		value = value ? value + 1 : line;
		/* stamps are not added up, with or without a point */
		if (strchr(value, '.') || strstr(line, " ts: ") ||
		    strncmp(mine, line, (size_t)(value - line)))
			snprintf(out, sizeof(out), "%s\n", mine);
		else
			snprintf(out, sizeof(out), "%.*s%llu\n", (int)(value - line), line,
				 strtoull(value, NULL, 10) +
					 strtoull(mine + (value - line), NULL, 10));
		err = append(&sum, out, strlen(out));
	}
	free(all->text);
	*all = sum;
	return err;
}

/* How deep a stack is, of stack_trace or of stack_max_size. */
static unsigned long long depth_of(const char *text)
{
	const char *first = strstr(text, " 0) ");

	return strtoull(first ? first + 4 : text, NULL, 10);
}

/* The deepest stack of a member stays; its text no longer belongs to @t. */
static int take_deeper(struct text_of *all, struct text_of *t)
{
	if (all->text && depth_of(t->text) <= depth_of(all->text))
		return 0;
	free(all->text);
	*all = *t;
	*t = (struct text_of){0};
	return 0;
}

static int put_together(enum how_to_read how, struct text_of *all, struct text_of *t)
{
	if (how == READ_DEEPEST)
		return take_deeper(all, t);
	return how == READ_SUM ? add_numbers(all, t->text) : add_lines(all, t->text);
}

/* List the members, including those that have come, or come and gone, since the last look. */
static unsigned int look_and_list(struct session *s, struct process ***members)
{
	session_look(s, true);
	return session_members(s, members);
}

/* The counts of all members are one histogram. */
static int print_hists(struct session *s, const char *path, struct out *o)
{
	struct process **members;
	unsigned int nr = look_and_list(s, &members);
	struct image *now = calloc(nr + 1u, sizeof(*now)), **at = calloc(nr + 1u, sizeof(*at));
	unsigned int nr_at = 0;
	int err = now && at ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < nr && !err; i++) {
		/* keep at least one: it shows whether there is such an event */
		if (!process_has_hists(members[i]) && (nr_at || i + 1 < nr))
			continue;
		now[nr_at] = members[i]->image;
		now[nr_at].alive = process_lives(members[i]);
		at[nr_at] = &now[nr_at];
		nr_at++;
	}
	if (!err)
		err = hist_file_print(at, nr_at, path, o);
	for (unsigned int i = 0; i < nr; i++)
		process_put(members[i]);
	free(members);
	free(now);
	free(at);
	return err;
}

static int print_snapshots(struct session *s, const char *path, struct out *o)
{
	struct process **members;
	unsigned int nr = look_and_list(s, &members);
	const char **paths = calloc(nr + 1u, sizeof(*paths));
	int err = paths && nr ? 0 : -ENOENT;

	for (unsigned int i = 0; i < nr && !err; i++) {
		paths[i] = members[i]->image.path;
		image_drain(&members[i]->image);
	}
	if (!err)
		err = render_snapshots(paths, nr, path, o);
	for (unsigned int i = 0; i < nr; i++)
		process_put(members[i]);
	free(members);
	free(paths);
	return err;
}

int session_print(struct session *s, const char *path, struct out *o)
{
	enum how_to_read how = how_to_read(path);
	struct text_of all = {0};
	struct process **members, *first;
	unsigned int nr;
	int err = -ENOENT;

	if (hist_file_is(path))
		return print_hists(s, path, o);
	if (render_is_snapshot(path))
		return print_snapshots(s, path, o);
	if (how == READ_FIRST) {
		first = session_first(s);
		if (!first)
			return -ENOENT;
		err = member_text(first, path, &all);
		process_put(first);
		nr = 0;
		members = NULL;
	} else {
		nr = session_members(s, &members);
	}
	for (unsigned int i = 0; i < nr; i++) {
		struct text_of t = {0};
		int one = member_text(members[i], path, &t);

		if (!one && t.text)
			one = put_together(how, &all, &t);
		free(t.text);
		process_put(members[i]);
		if (err)
			err = one;
	}
	free(members);
	if (!err && all.text)
		out_write(o, all.text, all.n);
	free(all.text);
	return err;
}
