/* SPDX-License-Identifier: MIT */
/*
 * trace_options and options/: names, order and errno as the kernel's (6.12). trace_options lists
 * the options of all tracers and those of the current one; options/ has a file for each. Any
 * thread; nothing for fork. Tests: tests/engine/fire/control.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/control/tree.h"
#include "engine/core/options.h"
#include "engine/core/tracer.h"
#include "engine/events/event.h"

int trace_options_show(const struct tree_at *at, struct seq_buf *s)
{
	const char *name;
	uint32_t i;
	int bit;

	for (i = 0; (name = option_at(i, &bit)); i++) {
		if (!option_listed(at->tr, bit))
			continue;
		if (!option_is_on(at->tr, bit))
			seq_puts(s, "no");
		seq_puts(s, name);
		seq_putc(s, '\n');
	}
	return 0;
}

/* What an event does when it happens depends on this one. */
static int set_option(struct trace_array *tr, int bit, int on)
{
	int err = option_set(tr, bit, on);

	if (!err && (bit == AREA_OPTION_STACKTRACE || bit == AREA_OPTION_USERSTACKTRACE))
		events_update(tr);
	return err;
}

int trace_options_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	int bit, on = 1;

	(void)truncate;
	text = tree_trim(text, &n);
	if (n > 2 && text[0] == 'n' && text[1] == 'o') {
		text += 2;
		n -= 2;
		on = 0;
	}
	bit = option_find(text, n);
	if (bit < 0 || !option_listed(at->tr, bit))
		return -EINVAL;
	return set_option(at->tr, bit, on);
}

int option_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_puts(s, option_is_on(at->tr, (int)at->option) ? "1\n" : "0\n");
	return 0;
}

int option_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	int on = tree_bool(text, n);

	(void)truncate;
	return on < 0 ? on : set_option(at->tr, (int)at->option, on);
}
