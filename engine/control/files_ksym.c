/* SPDX-License-Identifier: MIT */
/* ksym_trace_filter. Under the tree lock; fork: as the tracer. Tests: tests/engine/tracers. */
#include "engine/control/tree.h"
#include "engine/tracers/ksym_tracer.h"

static int ksym_trace_filter_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	ksym_filter_show(s);
	return 0;
}

static int ksym_trace_filter_word(const struct tree_at *at, const char *text, size_t n)
{
	(void)at;
	return ksym_filter_write(text, n);
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"ksym_trace_filter", 0644, .scope = TREE_GLOBAL,
	 .show = ksym_trace_filter_show, .word = ksym_trace_filter_word,
	 .help = "variables for the tracer ksym_tracer: SYMBOL:-w- or SYMBOL:rw-, four at once"},
};
/* clang-format on */
TREE_FILES(rows);
