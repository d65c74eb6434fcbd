/* SPDX-License-Identifier: MIT */
/* See other_text.h. Tests: tests/cli/test_export.py. */
#include "tools/text/other_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/text/event_text.h"
#include "tools/text/printk_text.h"

#define TEXT_BYTES (64u << 10)
#define NAME_BYTES 1024u

struct other_text {
	struct reader *r;
	struct event_text *events;
	struct out o;
	size_t nr;
	char name[NAME_BYTES];
	char text[TEXT_BYTES];
	char print[PRINTK_TEXT_BYTES];
};

/* A text that does not fit is cut. */
static int keep(void *arg, const char *text, size_t bytes)
{
	struct other_text *t = arg;
	size_t room = TEXT_BYTES - 1 - t->nr;

	memcpy(t->text + t->nr, text, bytes < room ? bytes : room);
	t->nr += bytes < room ? bytes : room;
	return 0;
}

struct other_text *other_text_new(struct reader *r)
{
	struct other_text *t = calloc(1, sizeof(*t));

	if (t) {
		t->r = r;
		t->events = event_text_new(r);
	}
	if (t && t->events && !out_init_sink(&t->o, keep, t))
		return t;
	if (t)
		event_text_free(t->events);
	free(t);
	fail(ENOMEM, "out of memory");
	return NULL;
}

void other_text_free(struct other_text *t)
{
	if (!t)
		return;
	out_end(&t->o);
	event_text_free(t->events);
	free(t);
}

static void put_event(struct other_text *t, const struct record *rec)
{
	struct tep_event *ev = t->r->tep ? tep_find_event(t->r->tep, rec->event) : NULL;
	const struct symbol *sym;
	size_t n;

	if (!ev) {
		snprintf(t->name, sizeof(t->name), "event %u", rec->event);
		return;
	}
	snprintf(t->name, sizeof(t->name), "%s:%s", ev->system, ev->name);
	event_text_body(t->events, &t->o, rec);
	out_flush(&t->o);
	/* a line a frame */
	for (n = 0; event_text_is_stack(t->events, rec) && n < t->nr; n++)
		if (t->text[n] == '\n')
			t->text[n] = ' ';
	/* The text begins with the event's name, which the caller has already. */
	n = strlen(ev->name);
	if (rec->ip && (sym = symbols_find(t->r->symbols, rec->ip)))
		snprintf(t->name, sizeof(t->name), "%s", sym->name);
	if (t->nr > n + 1 && !strncmp(t->text, ev->name, n) && t->text[n] == ':') {
		n += t->text[n + 1] == ' ' ? 2 : 1;
		memmove(t->text, t->text + n, t->nr - n);
		t->nr -= n;
	}
}

int other_text_take(struct other_text *t, const struct record *rec, const char **name,
		    const char **text)
{
	const struct symbol *sym = NULL;
	struct record print = *rec;

	t->nr = 0;
	if (t->r->prints_are_events && rec->kind == RECORD_PRINT)
		sym = symbols_find(t->r->symbols, rec->ip);
	if (rec->kind == RECORD_EVENT && printk_text_take(t->r, &print, t->print))
		rec = &print;
	if (rec->kind == RECORD_PRINT) {
		snprintf(t->name, sizeof(t->name), "%s",
			 sym && sym->addr == rec->ip ? sym->name : "print");
		keep(t, rec->data, rec->data_bytes);
	} else if (rec->kind == RECORD_FUNCTION) {
		place_put(t->r, &t->o, rec->ip);
		out_flush(&t->o);
		if (t->nr >= NAME_BYTES)
			t->nr = NAME_BYTES - 1;
		memcpy(t->name, t->text, t->nr);
		t->name[t->nr] = '\0';
		t->nr = 0;
		if (rec->parent_ip)
			place_put(t->r, &t->o, rec->parent_ip);
	} else {
		put_event(t, rec);
	}
	out_flush(&t->o);
	t->text[t->nr] = '\0';
	*name = t->name;
	*text = t->text;
	return t->o.err;
}
