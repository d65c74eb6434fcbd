/* SPDX-License-Identifier: MIT */
/* See import_events.h. Tests: tests/cli/test_import_events.py, tests/fuzz/import.c. */
#include "tools/import/import_events.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/base/fail.h"
#include "tools/code/symbols.h"

#define SYSTEM	    FORMATS_IMPORTED
#define FIRST_ID    1000u
#define MAX_EVENTS  8192u
#define NO_EVENT    1u /* no event: this is an id of the system ftrace */
#define MAX_NAME    128u
#define MAX_TEXT    4000u /* in a trace.dat a record is in one sub-buffer */
#define LOC_AT	    8u
#define TEXT_OFFSET FORMATS_IMPORTED_TEXT

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

static size_t word_bytes(const char *p)
{
	size_t n = 0;

	if (isdigit((unsigned char)*p))
		return 0;
	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n;
}

/* NAME or SYSTEM:NAME. Return: NAME; NULL: it is neither. */
static const char *event_name(const char *name)
{
	size_t n = word_bytes(name);

	if (n && name[n] == ':') {
		if (!strncmp(name, "ftrace:", 7))
			return NULL;
		name += n + 1;
		n = word_bytes(name);
	}
	if (!n || n > MAX_NAME || name[n] || !strcmp(name, "print") ||
	    !strcmp(name, SYMBOLS_MARK_NAME))
		return NULL;
	return name;
}

/* Make the format of the events of that name. @id: gets their id; NO_EVENT: they stay texts. */
static int make_event(struct import_events *e, struct reader *r, const char *name, uint16_t *id)
{
	struct dat_layout unused = {0};
	char *text;
	int bytes;

	*id = NO_EVENT;
	if (!name || e->formats.nr == MAX_EVENTS)
		return 0;
	bytes = asprintf(
		&text,
		"name: %s\nID: %u\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:__data_loc char[] text;\toffset:8;\tsize:4;\tsigned:0;\n\n"
		"print fmt: \"%%s\", __get_str(text)\n",
		name, FIRST_ID + (unsigned int)e->formats.nr);
	if (bytes < 0)
		return no_memory();
	if (!r->tep)
		r->tep = formats_handle_new(r->symbols, 8, false);
	/* this is safe for libtraceevent: only the name in the format comes from the file */
	if (!r->tep || tep_parse_event(r->tep, text, (unsigned long)bytes, SYSTEM)) {
		free(text);
		return no_memory();
	}
	*id = (uint16_t)(FIRST_ID + e->formats.nr);
	return formats_add(&e->formats, &unused, SYSTEM, text, (size_t)bytes) ? no_memory() : 0;
}

static void put_head(struct record *rec, uint16_t id)
{
	uint32_t n = rec->data_bytes < MAX_TEXT ? rec->data_bytes : MAX_TEXT;
	char *payload = (char *)(uintptr_t)rec->data - IMPORT_EVENT_HEAD;
	uint32_t loc = (n + 1) << 16 | TEXT_OFFSET;

	memset(payload, 0, IMPORT_EVENT_HEAD);
	memcpy(payload, &id, sizeof(id));
	memcpy(payload + 4, &rec->pid, sizeof(rec->pid));
	memcpy(payload + LOC_AT, &loc, sizeof(loc));
	payload[TEXT_OFFSET + n] = '\0';
	rec->kind = RECORD_EVENT;
	rec->event = id;
	rec->data = payload;
	rec->data_bytes = TEXT_OFFSET + n + 1;
}

int import_events_begin(struct import_events *e, struct reader *r, uint64_t first, uint64_t step,
			size_t nr_functions)
{
	e->ids = calloc(nr_functions ? nr_functions : 1, sizeof(*e->ids));
	if (!e->ids)
		return no_memory();
	e->nr = nr_functions;
	e->first = first;
	e->step = step;
	r->formats = &e->formats;
	return 0;
}

int import_events_make(struct import_events *e, struct reader *r, struct record *rec)
{
	uint64_t number = (rec->ip - e->first) / e->step;

	if (number >= e->nr)
		return 0;
	if (!e->ids[number]) {
		const struct symbol *sym = symbols_find(r->symbols, rec->ip);
		int err = make_event(e, r, sym ? event_name(sym->name) : NULL, &e->ids[number]);

		if (err)
			return err;
	}
	if (e->ids[number] != NO_EVENT)
		put_head(rec, e->ids[number]);
	return 0;
}

void import_events_free(struct import_events *e)
{
	formats_free(&e->formats);
	free(e->ids);
}
