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

/* Whether it is the kernel's stack behind another event. */
bool event_text_is_stack(struct event_text *e, const struct record *rec);

/*
 * The same without the last newline. Return: whether one is due: the frames of a stack have theirs.
 */
bool event_text_body(struct event_text *e, struct out *o, const struct record *rec);
/* The name of another tool's event that has no text; NULL: it is none. */
const char *event_text_bare_name(struct event_text *e, const struct record *rec);

/*
 * place_put() - a place in the program's text as the options sym-offset and sym-addr have it:
 * `name`, `name+0x4/0x20 <000055d0>`; without a symbol its address.
 */
void place_put(const struct reader *r, struct out *o, uint64_t addr);

#endif
