/* SPDX-License-Identifier: MIT */
/* mmiotrace_filter. Under the tree lock; fork: as the tracer. Tests: tests/engine/tracers. */
#include "engine/control/tree.h"
#include "engine/tracers/mmiotrace.h"

static int mmiotrace_filter_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	mmio_filter_show(s);
	return 0;
}

static int mmiotrace_filter_word(const struct tree_at *at, const char *text, size_t n)
{
	(void)at;
	return mmio_filter_write(text, n);
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"mmiotrace_filter", 0644, .scope = TREE_GLOBAL,
	 .show = mmiotrace_filter_show, .word = mmiotrace_filter_word,
	 .help = "memory for the tracer mmiotrace: FROM-TO or a shared mapping's name; !WORD ends one, 0 all"},
};
/* clang-format on */
TREE_FILES(rows);
