/* SPDX-License-Identifier: MIT */
/*
 * atrace_tags, a file of our own: which tags of vestige/atrace.h are on. The grammar is
 * set_event's: words separated by blanks, `!` switches off, patterns, O_TRUNC clears. Tests:
 * tests/engine/events/atrace.
 */
#include <errno.h>

#include "engine/base/text.h"
#include "engine/control/tree.h"
#include "engine/events/atrace.h"

static int atrace_tags_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	atrace_show(s);
	return 0;
}

static int atrace_tags_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	struct word rest = {text, n}, word;
	int err = 0, on;

	(void)at;
	if (truncate)
		atrace_clear();
	while (!err && (word = word_take(&rest)).n) {
		on = *word.at != '!';
		word = word_behind(word, !on);
		err = atrace_set(word.at, word.n, on);
	}
	return err;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"atrace_tags", 0644, .nul = TREE_NUL_DIVIDES, .scope = TREE_GLOBAL,
	 .show = atrace_tags_show, .store = atrace_tags_store,
	 .help = "tags of <vestige/atrace.h>, in brackets those whose calls write marks; `!` takes out"},
};
/* clang-format on */
TREE_FILES(rows);
