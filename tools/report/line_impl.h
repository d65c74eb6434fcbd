/* SPDX-License-Identifier: MIT */
/* What line.c and line_graph.c share. */
#ifndef VESTIGE_TOOLS_REPORT_LINE_IMPL_H
#define VESTIGE_TOOLS_REPORT_LINE_IMPL_H

#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>

#include "tools/code/symbols.h"
#include "tools/report/line.h"
#include "tools/report/line_fast.h"
#include "tools/text/name_slots.h"

#define LINE_NR_EVENTS	65536u
#define LINE_COMM_SLOTS 1024u /* a power of two */

enum body { BODY_TEP, BODY_FAST, BODY_ENTRY, BODY_EXIT, BODY_STACK, BODY_RAW_DATA };

/* A kind of event. */
struct line_event {
	struct tep_event *ev;
	enum body body;
	char *name; /* ` name: `, padded */
	unsigned int name_bytes;
	uint32_t min_bytes;   /* of a record that has all its fields */
	uint32_t whole_bytes; /* the same with its arrays, which may be cut */
	bool dynamic;	      /* some have a length of their own */
	bool ends_call;	      /* ftrace:funcgraph_exit */
	struct line_fast *fast;
	unsigned int compared; /* records that were printed both ways */
	struct dat_field func, depth, calltime, rettime, caller, id, buf;
};

/* The text at the start of a line: a thread's name and pid. */
struct comm {
	int32_t pid;
	uint8_t bytes, known;
	char text[42];
};

struct line {
	struct dat_reader *d;
	const struct line_options *opt;
	struct tep_handle *tep;
	struct tep_plugin_list *plugins;
	uint64_t end; /* of all functions */
	struct trace_seq seq;
	struct line_event *events[LINE_NR_EVENTS];
	char *copy;
	size_t room;
	struct tep_record tr;
	struct comm comms[LINE_COMM_SLOTS];
	uint64_t seconds; /* of the last time, */
	char second_text[24];
	unsigned int second_bytes; /* and as text, with a blank and a point; 0: none yet */
	struct name_slots names;   /* of calls; those without control bytes */
};

/* Make the row of an event. Return: NULL: memory is short. */
struct line_event *line_event_new(struct line *l, uint16_t id);

static inline struct line_event *line_event_of(struct line *l, const struct record *rec)
{
	struct line_event *e = l->events[rec->event];

	return e ? e : line_event_new(l, rec->event);
}

/* A number of a record; 0 if the record has it not, or the event. */
static inline uint64_t line_field_value(const struct line *l, const struct record *rec,
					struct dat_field f)
{
	return formats_field_value(f, rec->data, rec->data_bytes, l->d->layout.swap);
}

/* The function at an address. The table's last one is where they end. */
static inline const struct symbol *line_function_at(const struct line *l, uint64_t addr)
{
	const struct symbol *s = symbols_find(l->d->head.symbols, addr);

	return s && s->addr < l->end ? s : NULL;
}

static inline char *line_put_blanks(char *p, int n)
{
	for (; n > 0; n--)
		*p++ = ' ';
	return p;
}

/* The texts of BODY_ENTRY and BODY_EXIT, as line_body(). */
bool line_graph_entry(struct line *l, struct out *o, const struct line_event *e,
		      const struct record *rec, const struct record *next);
void line_graph_exit(struct line *l, struct out *o, const struct line_event *e,
		     const struct record *rec);

#endif
