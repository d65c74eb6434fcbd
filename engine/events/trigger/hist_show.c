/* SPDX-License-Identifier: MIT */
/*
 * The description of a histogram: its line in the trigger file, and for the tools the layout of its
 * rows (struct area_hist_desc). Control context. Tests: tests/engine/events/hist.
 */
#include "engine/events/trigger/hist.h"

#include "engine/base/mem.h"
#include "engine/events/trigger/hist_vars.h"

static const char *modifier_name(uint8_t modifier)
{
	static const char *const names[] = {
		[HIST_PLAIN] = "",
		[HIST_HEX] = ".hex",
		[HIST_EXECNAME] = ".execname",
		[HIST_LOG2] = ".log2",
		[HIST_BUCKETS] = ".buckets",
		[HIST_PERCENT] = ".percent",
		[HIST_GRAPH] = ".graph",
		[HIST_SYM] = ".sym",
		[HIST_SYM_OFFSET] = ".sym-offset",
		[HIST_SYSCALL] = ".syscall",
		[HIST_USECS] = ".usecs",
		[HIST_STACKTRACE] = ".stacktrace",
	};

	return names[modifier];
}

void hist_show_field(const struct hist_field *f, struct seq_buf *s)
{
	seq_puts(s, f->from == HIST_CPU ? "common_cpu" : f->name);
	seq_puts(s, f->from == HIST_STACK ? "" : modifier_name(f->modifier));
	if (f->from == HIST_STACK_FIELD && !f->modifier)
		seq_puts(s, ".stacktrace");
	if (f->modifier == HIST_BUCKETS) {
		seq_putc(s, '=');
		seq_putu(s, f->buckets);
	}
}

const char *hist_clock(const struct hist *h)
{
	return h->clock[0] ? h->clock : "global";
}

static void put_fields(const struct hist_field *f, uint32_t nr, struct seq_buf *s)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (i)
			seq_putc(s, ',');
		hist_show_field(&f[i], s);
	}
}

static void show_vars(const struct hist_vars *m, struct seq_buf *s)
{
	char before = ':';
	uint32_t i;

	for (i = 0; i < m->nr_vars; i++) {
		if (m->vars[i].kind != HIST_VAR_NAMED)
			continue;
		seq_putc(s, before);
		seq_puts(s, m->vars[i].name);
		seq_putc(s, '=');
		seq_puts(s, m->vars[i].expr->text);
		before = ',';
	}
}

static void show_action(const struct hist_action *a, struct seq_buf *s)
{
	uint32_t i;

	seq_putc(s, ':');
	seq_puts(s, a->shown);
	seq_putc(s, '.');
	seq_puts(s, a->name);
	seq_putc(s, '(');
	if (a->by_trace)
		seq_puts(s, a->synth_name);
	for (i = 0; i < a->nr_params; i++) {
		if (i || a->by_trace)
			seq_putc(s, ',');
		seq_puts(s, a->params[i]);
	}
	seq_putc(s, ')');
}

void hist_show_trigger(const struct hist *h, struct seq_buf *s)
{
	uint32_t i;

	seq_puts(s, "hist:");
	if (h->name[0]) {
		seq_puts(s, "name=");
		seq_puts(s, h->name);
		seq_putc(s, ':');
	}
	seq_puts(s, "keys=");
	put_fields(h->keys, h->nr_keys, s);
	seq_puts(s, ":vals=");
	put_fields(h->vals + h->no_hitcount, h->nr_vals - h->no_hitcount, s);
	if (h->more)
		show_vars(h->more, s);
	seq_puts(s, ":sort=");
	for (i = 0; i < h->nr_sorts; i++) {
		const struct hist_sort *sort = &h->sorts[i];

		if (i)
			seq_putc(s, ',');
		hist_show_field(sort->is_key ? &h->keys[sort->index] : &h->vals[sort->index], s);
		if (sort->descending)
			seq_puts(s, ".descending");
	}
	seq_puts(s, ":size=");
	seq_putu(s, h->size);
	if (h->has_time) {
		seq_puts(s, ":clock=");
		seq_puts(s, hist_clock(h));
	}
	if (h->no_hitcount)
		seq_puts(s, ":nohitcount");
	for (i = 0; h->more && i < h->more->nr_actions; i++)
		show_action(&h->more->actions[i], s);
}

/* The description: fields first, then the names, then the line of the trigger. */
struct describing {
	struct area_hist_field fields[AREA_HIST_MAX_FIELDS];
	const char *names[AREA_HIST_MAX_FIELDS];
	uint32_t name_bytes;
	struct area_hist_desc about; /* its head alone */
};

static void add(struct describing *d, const char *name, const struct area_hist_field *field)
{
	if (d->about.nr_fields == AREA_HIST_MAX_FIELDS)
		return;
	d->names[d->about.nr_fields] = name;
	d->fields[d->about.nr_fields] = *field;
	d->fields[d->about.nr_fields++].name = d->name_bytes;
	d->name_bytes += (uint32_t)strlen(name) + 1;
}

static void add_keys(struct describing *d, const struct hist *h)
{
	uint32_t i;

	for (i = 0; i < h->nr_keys; i++) {
		const struct hist_field *f = &h->keys[i];
		const struct area_hist_field field = {
			.kind = AREA_HIST_KEY,
			.type = hist_is_string(f)  ? AREA_HIST_STRING
				: hist_is_stack(f) ? AREA_HIST_STACK
						   : AREA_HIST_NUMBER,
			.modifier = f->modifier == HIST_STACKTRACE ? AREA_HIST_PLAIN : f->modifier,
			.is_signed = f->is_signed,
			.at = h->key_at + f->key_at,
			.bytes = f->key_bytes,
			.param = f->buckets,
			.comm = f->modifier == HIST_EXECNAME ? h->comm_at : 0,
		};

		add(d, f->name, &field);
	}
}

static void add_vals(struct describing *d, const struct hist *h)
{
	uint32_t i;

	for (i = 0; i < h->nr_vals; i++) {
		const struct hist_field *f = &h->vals[i];
		const struct area_hist_field field = {
			.kind = AREA_HIST_VAL,
			.modifier = f->modifier,
			.is_signed = f->is_signed,
			.at = (uint32_t)offsetof(struct hist_row, vals) + 8 * i,
			.bytes = 8,
			.flags = !i && h->no_hitcount ? AREA_HIST_HIDDEN : 0,
		};

		add(d, f->name, &field);
	}
}

static void add_var(struct describing *d, const struct hist_var *v)
{
	const struct area_hist_field field = {
		.kind = v->kind == HIST_VAR_TRACK ? AREA_HIST_TRACK : AREA_HIST_SAVED,
		.type = v->expr ? v->expr->type : AREA_HIST_NUMBER,
		.at = v->at,
		.bytes = v->bytes,
	};

	add(d, v->name, &field);
}

/* Each onmax() and onchange() is shown with all saved values, as in the kernel. */
static void add_kept(struct describing *d, const struct hist *h)
{
	const struct hist_vars *m = h->more;
	uint32_t i, v;

	for (i = 0; m && i < m->nr_actions; i++) {
		const struct hist_action *a = &m->actions[i];

		if (a->handler == HIST_ONMATCH)
			continue;
		if (a->what == HIST_SNAPSHOT) {
			static const struct area_hist_field field = {.kind = AREA_HIST_SNAPSHOT,
								     .bytes = 8};

			add(d, a->shown, &field);
			continue;
		}
		add_var(d, &m->vars[a->track_var]);
		for (v = 0; v < m->nr_vars; v++)
			if (m->vars[v].kind == HIST_VAR_SAVED)
				add_var(d, &m->vars[v]);
	}
}

static void put_bytes(struct seq_buf *s, const void *bytes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		seq_putc(s, ((const char *)bytes)[i]);
}

void hist_describe(const struct hist *h, const char *filter, struct seq_buf *s)
{
	struct describing d = {.about = {.nr_sorts = h->nr_sorts}};
	size_t begin = s->len;
	uint32_t i, names_at;

	for (i = 0; i < h->nr_sorts; i++) {
		d.about.sorts[i].field =
			(uint16_t)(h->sorts[i].index + (h->sorts[i].is_key ? 0 : h->nr_keys));
		d.about.sorts[i].descending = h->sorts[i].descending;
	}
	add_keys(&d, h);
	add_vals(&d, h);
	add_kept(&d, h);
	names_at = (uint32_t)(sizeof(d.about) + d.about.nr_fields * sizeof(d.fields[0]));
	for (i = 0; i < d.about.nr_fields; i++)
		d.fields[i].name += names_at;
	d.about.field_bytes = sizeof(d.fields[0]);
	d.about.trigger = names_at + d.name_bytes;
	put_bytes(s, &d.about, sizeof(d.about));
	put_bytes(s, d.fields, d.about.nr_fields * sizeof(d.fields[0]));
	for (i = 0; i < d.about.nr_fields; i++)
		put_bytes(s, d.names[i], strlen(d.names[i]) + 1);
	hist_show_trigger(h, s);
	if (filter) {
		seq_puts(s, " if ");
		seq_puts(s, filter);
	}
	seq_putc(s, 0);
	d.about.bytes = (uint32_t)(s->len - begin);
	if (!s->lost)
		memcpy(s->text + begin, &d.about, sizeof(d.about));
}
