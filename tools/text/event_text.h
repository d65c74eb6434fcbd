/* SPDX-License-Identifier: MIT */
/*
 * The text behind the time stamp of a RECORD_EVENT: libtraceevent's text in the kernel's shape.
 */
#ifndef VESTIGE_TOOLS_EVENT_TEXT_H
#define VESTIGE_TOOLS_EVENT_TEXT_H

#include <stdbool.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct event_text;

struct event_text *event_text_new(struct reader *r);
void event_text_free(struct event_text *e);

/* The rest of the line, newline included. */
void event_text_record(struct event_text *e, struct out *o, const struct record *rec);

/* Whether the record is a stack that belongs to the event before it. */
bool event_text_is_stack(struct event_text *e, const struct record *rec);

/*
 * The same without the last newline. Return: whether the caller must print one; a stack's lines
 * have theirs already.
 */
bool event_text_body(struct event_text *e, struct out *o, const struct record *rec);
/* The name of an event of another tool that has a name alone; NULL: it is no such event. */
const char *event_text_bare_name(struct event_text *e, const struct record *rec);

/*
 * place_put() - print a code address in the form that the options sym-offset and sym-addr choose:
 * `name`, `name+0x4/0x20 <000055d0>`; without a symbol its address.
 */
void place_put(const struct reader *r, struct out *o, uint64_t addr);

#endif
