/* SPDX-License-Identifier: MIT */
/* See boot_events.h. Owns nothing. fork: nothing. Tests: tests/cli/test_record_filter.py. */
#include "engine/control/boot_events.h"

#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/base/text.h"
#include "engine/control/error_log.h"
#include "engine/control/tree.h"
#include "engine/core/stack.h"
#include "engine/events/event.h"
#include "engine/process/area.h"

#define PATH_BYTES 256u
#define TEXT_BYTES 4096u /* longest filter, the kernel's page */

struct writing {
	const char *param; /* its name, for vestige_status */
	const char *file;
	const char *text;
	size_t bytes;
};

static void decode(struct seq_buf *s, const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		uint32_t high = text[i] == '%' && i + 2 < n ? hex_digit(text[i + 1]) : 16;
		uint32_t low = high < 16 ? hex_digit(text[i + 2]) : 16;

		seq_putc(s, low < 16 ? (char)(high << 4 | low) : text[i]);
		i += low < 16 ? 2 : 0;
	}
}

static void report(const struct writing *w, const struct event *e, int logged, int err)
{
	char text[400];
	struct seq_buf s;
	uint32_t position;
	size_t i;

	seq_init(&s, text, sizeof(text) - 1);
	seq_puts(&s, e->system);
	seq_putc(&s, ':');
	seq_puts(&s, e->name);
	if (logged) {
		const char *words = error_log_last(&position);

		seq_puts(&s, " at ");
		seq_putu(&s, position);
		seq_puts(&s, ", ");
		seq_puts(&s, words);
	}
	seq_puts(&s, ": ");
	for (i = 0; i < w->bytes; i++)
		seq_putc(&s, w->text[i]);
	text[s.len] = 0;
	area_status(w->param, text, err);
}

static void write_one(void *arg, struct event *e)
{
	const struct writing *w = arg;
	char path[PATH_BYTES];
	struct seq_buf s;
	uint32_t had = error_log_nr();
	int err;

	seq_init(&s, path, sizeof(path) - 1);
	seq_puts(&s, "events/");
	seq_puts(&s, e->system);
	seq_putc(&s, '/');
	seq_puts(&s, e->name);
	seq_putc(&s, '/');
	seq_puts(&s, w->file);
	path[s.len] = 0;
	err = s.lost ? -E2BIG : tree_write_locked(path, w->text, w->bytes, 0);
	if (err)
		report(w, e, error_log_nr() != had, err);
}

static void carry_out(const struct boot_param *p, struct writing *w)
{
	size_t names = text_find(p->value, p->value_bytes, '.'), from = 0, n;
	char text[TEXT_BYTES];
	struct seq_buf s;

	seq_init(&s, text, sizeof(text));
	if (names < p->value_bytes)
		decode(&s, p->value + names + 1, p->value_bytes - names - 1);
	if (s.lost || !s.len) {
		area_status(w->param, s.lost ? "the text is too long" : "there is no text",
			    s.lost ? -E2BIG : -EINVAL);
		return;
	}
	w->text = text;
	w->bytes = s.len;
	/* saving stacks may load an object, and its notification takes the lock */
	if (str_equal(w->file, "trigger"))
		stack_prepare();
	tree_lock_take();
	for (; from < names; from += n + 1) {
		n = text_find(p->value + from, names - from, ',');
		if (n)
			event_each(p->value + from, n, write_one, w);
	}
	tree_lock_release();
}

int boot_events(const struct boot_param *p)
{
	struct writing filter = {.param = "event_filter", .file = "filter"};
	struct writing trigger = {.param = "event_trigger", .file = "trigger"};
	struct writing *w = boot_param_is(p, filter.param)    ? &filter
			    : boot_param_is(p, trigger.param) ? &trigger
							      : NULL;

	if (w)
		carry_out(p, w);
	return w != NULL;
}
