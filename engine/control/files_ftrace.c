/* SPDX-License-Identifier: MIT */
/*
 * The files that choose functions. Grammar: words separated by blanks, see function_set_apply();
 * with O_TRUNC the list is emptied first, and a word that names nothing is EINVAL, the words before
 * it stay. Constructor context. Tests: tests/engine/test_filter.py.
 */
#include <errno.h>

#include "engine/control/tree.h"
#include "engine/core/function.h"
#include "engine/core/function_word.h"

static int store_set(struct function_set *set, const char *text, size_t n, int truncate)
{
	size_t at = 0, bytes;
	const char *word;
	int err = 0, update;

	if (truncate)
		function_set_clear(set);
	while (!err && (word = function_word_next(text, n, &at, &bytes)))
		err = function_set_apply(set, word, bytes);
	update = ftrace_update();
	return err ? err : update;
}

int set_ftrace_filter_store(const char *text, size_t n, int truncate)
{
	return store_set(&function_filter, text, n, truncate);
}

int set_ftrace_notrace_store(const char *text, size_t n, int truncate)
{
	return store_set(&function_notrace, text, n, truncate);
}

int dyn_ftrace_total_info_show(struct seq_buf *s)
{
	seq_putu(s, function_count());
	seq_puts(s, " functions, ");
	seq_putu(s, object_count());
	seq_puts(s, " objects\n");
	return 0;
}
