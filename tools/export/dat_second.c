/* SPDX-License-Identifier: MIT */
/*
 * See dat_second.h. A trace.dat has one table of events for all its buffers. An event of the second
 * reader keeps its id if both have it with the same format, or if we write it with our own format.
 * Other ids are increased by the greatest id of the first reader. Tests:
 * tests/cli/test_record_kernel.py.
 */
#include "tools/export/dat_second.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/export/dat_events.h"
#include "tools/export/dat_sections.h"
#include "tools/reader/tasks.h"

static bool is_ftrace(const struct format *f)
{
	return !strcmp(f->system, "ftrace");
}

static int max_id(const struct formats *fs)
{
	int max = 0;

	for (size_t i = 0; fs && i < fs->nr; i++)
		if (fs->at[i].id > max)
			max = fs->at[i].id;
	return max;
}

/* The format's text with @id after `ID: `. Malloced; NULL: out of memory, or there is no `ID: `. */
static char *with_id(const struct format *f, int id, size_t *bytes)
{
	const char *at = strstr(f->text, "\nID: "), *rest;
	char *text = NULL;

	if (!at)
		return NULL;
	at += strlen("\nID: ");
	rest = at + strspn(at, "0123456789");
	*bytes = 0;
	if (asprintf(&text, "%.*s%d%s", (int)(at - f->text), f->text, id, rest) < 0)
		return NULL;
	*bytes = strlen(text);
	return text;
}

static int add(struct dat_second *s, const struct format *f, int shift)
{
	struct format *to = &s->both.at[s->both.nr];

	*to = *f;
	to->id = f->id + shift;
	to->text = with_id(f, to->id, &to->bytes);
	to->system = strdup(f->system);
	s->both.nr++;
	return to->text && to->system ? 0 : -ENOMEM;
}

/* Whether we write the event with our own format in a file of @r: function, print, calls. */
static bool is_built_in(const struct reader *r, const struct format *f)
{
	for (uint32_t i = 0; is_ftrace(f) && i < dat_nr_events; i++)
		if (dat_events[i].id == f->id && dat_has_event(r, &dat_events[i]))
			return true;
	return false;
}

/* Whether @fs has the same event with the same id, as in two instances of one process. */
static bool has_same(const struct formats *fs, const struct format *f)
{
	for (size_t i = 0; fs && i < fs->nr; i++)
		if (fs->at[i].id == f->id)
			return fs->at[i].bytes == f->bytes &&
			       !memcmp(fs->at[i].text, f->text, f->bytes) &&
			       !strcmp(fs->at[i].system, f->system);
	return false;
}

static int join_formats(struct dat_second *s)
{
	const struct formats *own = s->r->formats, *more = s->second->formats;
	size_t nr = (own ? own->nr : 0) + (more ? more->nr : 0);
	int max = max_id(own), err = 0;

	if (max + max_id(more) >= 65536)
		return fail(ERANGE, "the buffers have too many events together");
	s->shift = (uint16_t)max;
	s->both.at = calloc(nr + 1, sizeof(*s->both.at));
	if (!s->both.at)
		return fail(ENOMEM, "out of memory");
	s->both.room = nr + 1;
	for (size_t i = 0; own && i < own->nr && !err; i++)
		err = add(s, &own->at[i], 0);
	for (size_t i = 0; more && i < more->nr && !err; i++) {
		if (is_built_in(s->r, &more->at[i]) || has_same(own, &more->at[i]))
			continue;
		err = add(s, &more->at[i], s->shift);
		s->is_shifted[more->at[i].id] = true;
	}
	return err ? fail(-err, "out of memory") : 0;
}

static int join_tasks(struct dat_second *s)
{
	for (size_t i = 0; s->second->tasks && i < tasks_count(s->second->tasks); i++) {
		const struct task *t = tasks_at(s->second->tasks, i);

		if (t->comm[0] && !strcmp(tasks_comm(s->r->tasks, t->pid), "<...>") &&
		    tasks_set(s->r->tasks, t->pid, 0, t->comm))
			return fail(ENOMEM, "out of memory");
	}
	return 0;
}

struct dat_second *dat_second_join(struct reader *r, struct reader *second)
{
	struct dat_second *s = calloc(1, sizeof(*s));

	if (!s) {
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	s->r = r;
	s->second = second;
	s->own = r->formats;
	if (join_formats(s) || join_tasks(s)) {
		dat_second_leave(s);
		return NULL;
	}
	r->formats = &s->both;
	return s;
}

bool dat_second_shifts(const struct dat_second *s)
{
	for (size_t i = 0; i < sizeof(s->is_shifted) / sizeof(*s->is_shifted); i++)
		if (s->is_shifted[i])
			return true;
	return false;
}

void dat_second_shift(const struct dat_second *s, struct record *rec, unsigned int nr)
{
	for (; nr--; rec++)
		if (rec->kind == RECORD_EVENT && s->is_shifted[rec->event])
			rec->event = (uint16_t)(rec->event + s->shift);
}

void dat_second_leave(struct dat_second *s)
{
	if (!s)
		return;
	s->r->formats = s->own;
	formats_free(&s->both);
	free(s);
}
