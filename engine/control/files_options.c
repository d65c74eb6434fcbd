/* SPDX-License-Identifier: MIT */
/*
 * trace_options and options/: names, order and errno as the kernel's (6.12). trace_options lists
 * the options that every tracer has and the current tracer's own; options/ has a file for each. Any
 * thread; nothing for fork. Tests: tests/engine/fire/control.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/control/tree.h"
#include "engine/core/options.h"
#include "engine/core/tracer.h"
#include "engine/events/event.h"

static int trace_options_show(const struct tree_at *at, struct seq_buf *s)
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

/*
 * Set an option. Records of events depend on stacktrace and userstacktrace, so events are updated.
 */
static int set_option(struct trace_array *tr, int bit, int on)
{
	int err = option_set(tr, bit, on);

	if (!err && (bit == AREA_OPTION_STACKTRACE || bit == AREA_OPTION_USERSTACKTRACE))
		events_update(tr);
	return err;
}

static int trace_options_store(const struct tree_at *at, const char *text, size_t n)
{
	int bit, on = 1;

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

static uint64_t option_get(const struct tree_at *at)
{
	return (uint64_t)option_is_on(at->tr, (int)at->option);
}

static int option_set_file(const struct tree_at *at, uint64_t on)
{
	return set_option(at->tr, (int)at->option, (int)on);
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"trace_options", 0644, .show = trace_options_show, .word = trace_options_store,
	 .help = "options: write NAME to set one, noNAME to clear it"},
	{"option", 0644, .scope = TREE_OPTION, .type = TREE_BOOL,
	 .get = option_get, .set = option_set_file,
	 .help = "a file for each option: 0 or 1"},
};
/* clang-format on */
TREE_FILES(rows);
