/* SPDX-License-Identifier: MIT */
/*
 * events/SYSTEM/NAME/hist_debug: the parts of a histogram, as a kernel with
 * CONFIG_HIST_TRIGGERS_DEBUG shows them (6.12); only keys and values. Control context. Tests:
 * tests/engine/events/hist.
 */
#include "engine/base/mem.h"
#include "engine/events/trigger/hist_impl.h"

static void put_line(struct seq_buf *s, const char *what, const char *text)
{
	seq_puts(s, what);
	seq_puts(s, text);
	seq_putc(s, '\n');
}

static void put_number(struct seq_buf *s, const char *what, uint64_t v)
{
	seq_puts(s, what);
	seq_putu(s, v);
	seq_putc(s, '\n');
}

/* Fields that do not come from the event have a type of their own. */
static const char *type_of(const struct hist_field *f, const struct event_field *field)
{
	if (field)
		return field->type;
	if (f->from == HIST_CPU)
		return "unsigned int";
	if (f->from == HIST_STACK)
		return "unsigned long[]";
	if (f->from == HIST_PID)
		return "int";
	if (f->from == HIST_COMMON)
		return f->size == 2 ? "unsigned short" : "unsigned char";
	return "u64";
}

static void put_field(const struct hist_field *f, const struct event *e, int is_key,
		      struct seq_buf *s)
{
	const struct event_field *field = event_field(e, f->name, strlen(f->name));
	int is_common = f->from == HIST_PID || f->from == HIST_COMMON || f->from == HIST_FLAGS ||
			f->from == HIST_PREEMPT;
	uint32_t size = f->from == HIST_CPU ? 4 : f->from == HIST_HITCOUNT ? 8 : f->size;

	if (f->from == HIST_HITCOUNT || f->from == HIST_TIME || f->from == HIST_STACK)
		field = NULL;
	if (is_key)
		size = hist_is_stack(f) ? HIST_MAX_STACK * 8 : (size + 7) & ~7u;
	seq_puts(s, "      flags:\n        ");
	seq_puts(s, is_key		       ? "HIST_FIELD_FL_KEY\n"
		    : f->from == HIST_HITCOUNT ? "VAL: HIST_FIELD_FL_HITCOUNT\n"
					       : "VAL: normal u64 value\n");
	if (field || is_common)
		put_line(s, "      ftrace_event_field name: ", f->name);
	put_line(s, "      type: ", type_of(f, field));
	put_number(s, "      size: ", size);
	put_number(s, "      is_signed: ", f->is_signed);
}

static void put_head(const char *name, uint32_t i, struct seq_buf *s)
{
	seq_puts(s, name);
	seq_putu(s, i);
	seq_puts(s, "]:\n");
}

void hist_show_debug(const struct hist *h, const struct event *e, struct seq_buf *s)
{
	uint32_t i;

	seq_puts(s, "hist_data: ");
	/* as in the kernel, this number only distinguishes histograms */
	for (i = 16; i--;)
		seq_putc(s, "0123456789abcdef"[(h->row ? h->row->order : 0) >> (i * 4) & 15]);
	seq_putc(s, '\n');
	put_number(s, "\n  n_vals: ", h->nr_vals);
	put_number(s, "  n_keys: ", h->nr_keys);
	put_number(s, "  n_fields: ", h->nr_vals + h->nr_keys);
	seq_puts(s, "\n  val fields:\n");
	for (i = 0; i < h->nr_vals; i++) {
		put_head("\n    hist_data->fields[", i, s);
		put_field(&h->vals[i], e, 0, s);
	}
	seq_puts(s, "\n  key fields:\n");
	for (i = 0; i < h->nr_keys; i++) {
		put_head("\n    hist_data->fields[", h->nr_vals + i, s);
		put_field(&h->keys[i], e, 1, s);
	}
}
