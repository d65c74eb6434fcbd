/* SPDX-License-Identifier: MIT */
/*
 * ftrace_dump_on_oops, which is in the kernel's /proc/sys/kernel, and where the text goes. Under
 * the tree lock. Tests: tests/engine/fire/crash.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/control/oops.h"
#include "engine/control/tree.h"

static int ftrace_dump_on_oops_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	seq_putu(s, oops_get());
	seq_putc(s, '\n');
	return 0;
}

/* A number, or the kernel's word for 2. */
static int ftrace_dump_on_oops_store(const struct tree_at *at, const char *text, size_t n)
{
	uint64_t v;
	int err;

	(void)at;
	if (tree_word_is(text, n, "orig_cpu"))
		return oops_set(2);
	err = tree_number(text, n, &v);
	return err ? err : oops_set(v);
}

static int oops_file_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	seq_puts(s, *oops_file_get() ? oops_file_get() : "stderr");
	seq_putc(s, '\n');
	return 0;
}

static int oops_file_store(const struct tree_at *at, const char *text, size_t n)
{
	(void)at;
	return oops_file_set(text, tree_word_is(text, n, "stderr") ? 0 : n);
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"ftrace_dump_on_oops", 0644, .scope = TREE_GLOBAL,
	 .show = ftrace_dump_on_oops_show, .word = ftrace_dump_on_oops_store,
	 .help = "1, 2: a fatal signal is reported with registers and stack, and with all records or\n"
		 "\t\t\t  the thread's records; 0: not. The kernel's /proc/sys/kernel/ftrace_dump_on_oops"},
	{"oops_file", 0644, .scope = TREE_GLOBAL,
	 .show = oops_file_show, .word = oops_file_store,
	 .help = "where that report goes: a path from / on, %p in it is the process's id; or stderr"},
};
/* clang-format on */
TREE_FILES(rows);
