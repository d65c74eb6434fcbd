/* SPDX-License-Identifier: MIT */
/* Records that are not calls, as a name and a text, for export formats that have both. */
#ifndef VESTIGE_TOOLS_OTHER_TEXT_H
#define VESTIGE_TOOLS_OTHER_TEXT_H

#include "tools/reader/reader.h"

struct other_text;

/* NULL with fail() set when memory is short. @r: borrowed. Freed with other_text_free(). */
struct other_text *other_text_new(struct reader *r);
void other_text_free(struct other_text *t);

/*
 * other_text_take() - the name and the text of a RECORD_EVENT, RECORD_PRINT or RECORD_FUNCTION.
 * @name: `sched:sched_switch`, `print`, or the function's name. @text: the text that report prints
 * behind the name; for a function its caller. Both are borrowed until the next call.
 * Return: 0 or -ENOMEM with fail() set.
 */
int other_text_take(struct other_text *t, const struct record *rec, const char **name,
		    const char **text);

#endif
