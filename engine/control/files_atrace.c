/* SPDX-License-Identifier: MIT */
/*
 * atrace_tags, a file of our own: which tags of vestige/atrace.h are on, as set_event has events: words between
 * blanks, `!` takes out, patterns, O_TRUNC clears. Tests: tests/engine/events/atrace.
 */
#include <errno.h>

#include "engine/control/tree.h"
#include "engine/events/atrace.h"

int atrace_tags_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	atrace_show(s);
	return 0;
}

static int is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

int atrace_tags_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	const char *end = text + n, *word;
	int err = 0, on;

	(void)at;
	if (truncate)
		atrace_clear();
	while (!err) {
		while (text < end && is_blank(*text))
			text++;
		if (text == end)
			break;
		on = *text != '!';
		text += !on;
		for (word = text; text < end && !is_blank(*text); text++)
			;
		err = atrace_set(word, (size_t)(text - word), on);
	}
	return err;
}
