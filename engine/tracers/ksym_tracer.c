/* SPDX-License-Identifier: MIT */
/*
 * The ksym_tracer: a record for each access to a variable that ksym_trace_filter names, by means of
 * the processor's debug registers (sources/watch.h), and counts in trace_stat/ksym_tracer. Names
 * and forms are the kernel's (2.6.33). At most the first 8 bytes of a variable are watched. The
 * address in a record is the instruction after the access, as the processor reports it. In the top
 * instance alone.
 * fork: the child has the same filter, and counts of its own. Tests:
 * tests/engine/tracers/ksym_tracer.
 */
#include "engine/tracers/ksym_tracer.h"

#include <errno.h>

#include "engine/base/mem.h"
#include "engine/core/ftrace_formats.h"
#include "engine/core/trace_stat.h"
#include "engine/core/tracer.h"
#include "engine/process/elf_file.h"
#include "engine/process/object.h"
#include "engine/ring/proxy.h"
#include "engine/sources/watch.h"

#define NAME_BYTES 63u

struct ksym {
	char name[NAME_BYTES];
	struct watch watch;
	uint64_t hits;
};

struct ksym_record {
	uint64_t head, ip;
	uint8_t type;
	char name[NAME_BYTES];
};

static struct ksym ksyms[WATCH_MAX];

static void note(uint32_t i, uint64_t ip)
{
	struct ksym_record *r;
	struct ring_slot slot;

	ksyms[i].hits++;
	if (!ring_reserve_as_other(global_trace.ring, &slot, sizeof(*r)))
		return;
	r = (struct ksym_record *)slot.words;
	r->ip = ip;
	r->type = (uint8_t)ksyms[i].watch.type;
	str_copy(r->name, sizeof(r->name), ksyms[i].name);
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_KSYM, sizeof(*r)));
}

static struct watch_listener listener = {.call = note};

static int ksym_init(struct trace_array *tr)
{
	int err = ftrace_format_text(FTRACE_KSYM);

	(void)tr;
	return err ? err : source_listen(&watch_hits, &listener.link);
}

static void ksym_reset(struct trace_array *tr)
{
	(void)tr;
	source_ignore(&watch_hits, &listener.link);
}

static const struct tracer ksym_tracer = {
	.name = "ksym_tracer",
	.init = ksym_init,
	.reset = ksym_reset,
};
TRACER_REGISTER(ksym_tracer);

struct search {
	const char *name;
	uint64_t bias, at, end; /* at 0: not found */
};

static int take_start(void *arg, uint64_t value, const char *name)
{
	struct search *s = arg;

	if (!str_equal(name, s->name))
		return 0;
	s->at = s->bias + value;
	return 1;
}

static int take_end(void *arg, uint64_t value, const char *name)
{
	struct search *s = arg;
	uint64_t at = s->bias + value;

	(void)name;
	if (at > s->at && at < s->end)
		s->end = at;
	return 0;
}

/* Find the first variable or function of that name, in the loader's order. */
static int find_variable(const char *name, struct watch *w)
{
	struct search s = {.name = name};
	struct elf_file f;
	uint32_t i;

	for (i = 0; i < object_count() && !s.at; i++) {
		const struct object *o = object_at(i);

		if (!o->loaded || elf_file_open(&f, o))
			continue;
		s.bias = object_row(o)->bias;
		s.end = object_row(o)->hi;
		if (elf_file_all_symbols(&f, take_start, &s))
			elf_file_all_symbols(&f, take_end, &s);
		elf_file_close(&f);
	}
	if (!s.at)
		return -EINVAL;
	w->address = s.at;
	/* the processor watches 8 bytes, or fewer if the variable's size or address requires */
	for (w->bytes = 8; w->bytes > 1 && (s.at % w->bytes || s.end - s.at < w->bytes);)
		w->bytes /= 2;
	return 0;
}

static int set(struct ksym *k, const char *name, const struct watch *w)
{
	int err = watch_set((uint32_t)(k - ksyms), w);

	if (err || !w->type) {
		*k = (struct ksym){.hits = 0};
		return err;
	}
	if (!k->watch.type)
		k->hits = 0;
	k->watch = *w;
	str_copy(k->name, sizeof(k->name), name);
	return 0;
}

static int clear(void)
{
	static const struct watch none;
	uint32_t i;

	for (i = 0; i < WATCH_MAX; i++)
		if (ksyms[i].watch.type)
			set(&ksyms[i], "", &none);
	return 0;
}

/*
 * The type of access that @text names; 0: none. Return: -EINVAL: not a type, or one that the
 * processor cannot watch.
 */
static int type_of(const char *text, size_t n)
{
	if (n == 3 && !memcmp(text, "---", 3))
		return 0;
	if (n == 3 && !memcmp(text, "-w-", 3))
		return WATCH_W;
	if (n == 3 && !memcmp(text, "rw-", 3))
		return WATCH_RW;
	return -EINVAL;
}

int ksym_filter_write(const char *text, size_t n)
{
	struct ksym *k, *unused = NULL;
	char name[NAME_BYTES];
	struct watch w;
	size_t colon;
	int type, err;

	if (!n || (n == 1 && *text == '0'))
		return clear();
	for (colon = 0; colon < n && text[colon] != ':'; colon++)
		;
	if (colon == n || !colon || colon >= sizeof(name))
		return -EINVAL;
	type = type_of(text + colon + 1, n - colon - 1);
	if (type < 0)
		return type;
	str_copy(name, colon + 1, text);
	for (k = ksyms; k < ksyms + WATCH_MAX; k++) {
		if (k->watch.type && str_equal(k->name, name))
			break;
		if (!k->watch.type && !unused)
			unused = k;
	}
	if (k == ksyms + WATCH_MAX)
		k = unused;
	if (!type && (!k || !k->watch.type))
		return -EINVAL;
	err = find_variable(name, &w);
	if (err && type)
		return err;
	if (!k)
		return -ENOSPC;
	w.type = (uint32_t)type;
	return set(k, name, &w);
}

void ksym_filter_show(struct seq_buf *s)
{
	uint32_t i;

	for (i = 0; i < WATCH_MAX; i++) {
		if (!ksyms[i].watch.type)
			continue;
		seq_puts(s, ksyms[i].name);
		seq_puts(s, ksyms[i].watch.type == WATCH_RW ? ":rw-\n" : ":-w-\n");
	}
}

static int stat_show(struct seq_buf *s)
{
	uint32_t i;

	seq_puts(s, "  Access Type   Symbol                                       Counter\n"
		    "  -----------   ------                                       -------\n");
	for (i = 0; i < WATCH_MAX; i++) {
		if (!ksyms[i].watch.type)
			continue;
		seq_puts(s, "  ");
		seq_puts_left(s, ksyms[i].watch.type == WATCH_RW ? "RW" : "W", 11);
		seq_puts(s, "   ");
		seq_puts_left(s, ksyms[i].name, 36);
		seq_putu_right(s, ksyms[i].hits, 16);
		seq_putc(s, '\n');
	}
	return 0;
}

static const struct trace_stat ksym_stat = {"ksym_tracer", stat_show};
TRACE_STAT_REGISTER(ksym_stat);
