/* SPDX-License-Identifier: MIT */
/* See histogram_text.h. Tests: tests/engine/events/hist. */
#include "tools/text/histogram_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/text/syscall_names.h"

#define BAR_COLUMNS 20u

/* The total and the greatest of each value. */
struct scale {
	uint64_t total[AREA_HIST_MAX_FIELDS], most[AREA_HIST_MAX_FIELDS];
};

bool histogram_has_addresses(const struct histogram *h)
{
	for (uint32_t i = 0; i < h->nr_fields; i++)
		if (h->fields[i].type == AREA_HIST_STACK ||
		    h->fields[i].modifier == AREA_HIST_SYM ||
		    h->fields[i].modifier == AREA_HIST_SYM_OFFSET)
			return true;
	return false;
}

static const char *syscall_name(uint64_t nr, char *buf, size_t bytes)
{
	const char *name = syscall_names_find(nr);

	if (!name)
		return "unknown_syscall";
	snprintf(buf, bytes, "sys_%s", name);
	return buf;
}

static const char *name_of(const struct histogram_names *names, uint64_t addr, bool offset,
			   char *buf, size_t bytes)
{
	if (!names || names->symbol(names->arg, addr, offset, buf, bytes) <= 0)
		snprintf(buf, bytes, "0x%" PRIx64, addr);
	return buf;
}

static void put_stack(const struct histogram *h, uint32_t field, const uint8_t *row,
		      const struct histogram_names *names, struct out *o)
{
	const struct area_hist_field *f = &h->fields[field];
	char buf[512];

	/* a field that holds a stack is called so, the stack of the event's place has no field */
	if (strcmp(h->names[field], "common_stacktrace") != 0)
		out_printf(o, "%s.stacktrace:\n", h->names[field]);
	else
		out_text(o, "common_stacktrace:\n");
	for (uint32_t at = 0; at + sizeof(uint64_t) <= f->bytes; at += sizeof(uint64_t)) {
		uint64_t addr;

		memcpy(&addr, row + f->at + at, sizeof(addr));
		if (!addr)
			break;
		out_printf(o, "         %s\n", name_of(names, addr, true, buf, sizeof(buf)));
	}
}

/* Return: whether it ended a line. */
static bool put_key(const struct histogram *h, uint32_t field, const uint8_t *row,
		    const struct histogram_names *names, struct out *o)
{
	const struct area_hist_field *f = &h->fields[field];
	const char *name = h->names[field];
	uint64_t v = f->bytes >= sizeof(v) ? histogram_number(h, field, row) : 0;
	char buf[512];

	if (f->type == AREA_HIST_STACK) {
		put_stack(h, field, row, names, o);
		return true;
	}
	out_printf(o, "%s: ", name);
	switch (f->modifier) {
	case AREA_HIST_HEX:
		out_printf(o, "%" PRIx64, v);
		break;
	case AREA_HIST_SYM:
		out_printf(o, "[%" PRIx64 "] %-45s", v, name_of(names, v, false, buf, sizeof(buf)));
		break;
	case AREA_HIST_SYM_OFFSET:
		out_printf(o, "[%" PRIx64 "] %-55s", v, name_of(names, v, true, buf, sizeof(buf)));
		break;
	case AREA_HIST_EXECNAME:
		out_printf(o, "%-16.16s[%10" PRIu64 "]", (const char *)row + f->comm, v);
		break;
	case AREA_HIST_LOG2:
		out_printf(o, "~ 2^%-2" PRIu64, v);
		break;
	case AREA_HIST_BUCKETS:
		out_printf(o, "~ %" PRIu64 "-%" PRIu64, v, v + f->param - 1);
		break;
	case AREA_HIST_SYSCALL:
		out_printf(o, "%-30s[%3" PRIu64 "]", syscall_name(v, buf, sizeof(buf)), v);
		break;
	default:
		if (f->type == AREA_HIST_STRING)
			out_printf(o, "%-50.*s", (int)f->bytes, (const char *)row + f->at);
		else
			out_printf(o, "%10" PRIu64, v);
		break;
	}
	return false;
}

static void put_percent(uint64_t v, uint64_t total, struct out *o)
{
	uint64_t n = 0;

	/* as in the kernel */
	if (v > UINT64_MAX / 10000)
		n = total / 10000 ? v / (total / 10000) : 0;
	else if (total)
		n = v * 10000 / total;

	out_printf(o, "%3" PRIu64 ".%02u", n / 100, (unsigned int)(n % 100));
}

static void put_bar(uint64_t v, uint64_t most, struct out *o)
{
	static const char bar[] = "####################";
	uint64_t n = 0;

	if (most)
		n = v > UINT64_MAX / BAR_COLUMNS ? v / (most / BAR_COLUMNS + 1)
						 : v * BAR_COLUMNS / most;
	out_printf(o, "%-20.*s", (int)(n < BAR_COLUMNS ? n : BAR_COLUMNS), bar);
}

static void put_val(const struct histogram *h, uint32_t field, const uint8_t *row,
		    const struct scale *scale, struct out *o)
{
	uint64_t v = histogram_number(h, field, row);

	out_text(o, h->names[field]);
	switch (h->fields[field].modifier) {
	case AREA_HIST_PERCENT:
		out_text(o, " (%): ");
		put_percent(v, scale->total[field], o);
		break;
	case AREA_HIST_GRAPH:
		out_text(o, ": ");
		put_bar(v, scale->most[field], o);
		break;
	case AREA_HIST_HEX:
		out_printf(o, ": %10" PRIx64, v);
		break;
	default:
		out_printf(o, ": %10" PRIu64, v);
		break;
	}
}

/* The value that onmax() or onchange() keeps, and the values saved with it. */
static void put_kept(const struct histogram *h, uint32_t field, const uint8_t *row, struct out *o)
{
	const struct area_hist_field *f = &h->fields[field];

	if (f->kind == AREA_HIST_TRACK)
		out_printf(o, "\n\t%s: %10" PRIu64, h->names[field],
			   histogram_number(h, field, row));
	else if (f->type == AREA_HIST_STRING)
		out_printf(o, "  %s: %-32.*s", h->names[field], (int)f->bytes,
			   (const char *)row + f->at);
	else
		out_printf(o, "  %s: %10" PRIu64, h->names[field], histogram_number(h, field, row));
}

/* `{ key, key }` */
static void put_keys(const struct histogram *h, const uint8_t *row,
		     const struct histogram_names *names, struct out *o)
{
	bool ended = false, first = true;

	out_text(o, "{ ");
	for (uint32_t i = 0; i < h->nr_fields; i++) {
		if (h->fields[i].kind != AREA_HIST_KEY)
			continue;
		if (!first)
			out_text(o, ", ");
		ended |= put_key(h, i, row, names, o);
		first = false;
	}
	out_text(o, ended ? "}" : " }");
}

static void put_snapshot(const struct histogram *h, const struct histogram_names *names,
			 struct out *o)
{
	for (uint32_t i = 0; i < h->nr_fields; i++) {
		if (h->fields[i].kind != AREA_HIST_SNAPSHOT || !h->snapshot_row)
			continue;
		out_printf(
			o,
			"\nSnapshot taken (see tracing/snapshot).  Details:\n\ttriggering value { "
			"%s }: %10" PRIu64 "\ttriggered by event with key: ",
			h->names[i], h->snapshot_value);
		put_keys(h, h->snapshot_row, names, o);
		out_text(o, "\n");
	}
}

static void put_row(const struct histogram *h, const uint8_t *row, const struct scale *scale,
		    const struct histogram_names *names, struct out *o)
{
	bool first = true;

	put_keys(h, row, names, o);
	for (uint32_t i = 0; i < h->nr_fields; i++) {
		const struct area_hist_field *f = &h->fields[i];

		if (f->kind != AREA_HIST_VAL)
			continue;
		if (!(f->flags & AREA_HIST_HIDDEN)) {
			out_text(o, first ? " " : "  ");
			put_val(h, i, row, scale, o);
		}
		first = false;
	}
	for (uint32_t i = 0; i < h->nr_fields; i++)
		if (h->fields[i].kind == AREA_HIST_TRACK || h->fields[i].kind == AREA_HIST_SAVED)
			put_kept(h, i, row, o);
	out_text(o, "\n");
}

void histogram_print(const struct histogram *h, const struct histogram_names *names, struct out *o)
{
	struct scale scale = {0};

	out_printf(o, "# event histogram\n#\n# trigger info: %s [%s]\n#\n\n", h->trigger,
		   h->paused ? "paused" : "active");
	for (uint32_t r = 0; r < h->nr_rows; r++)
		for (uint32_t i = 0; i < h->nr_fields; i++) {
			uint64_t v;

			if (h->fields[i].kind != AREA_HIST_VAL)
				continue;
			v = histogram_number(h, i, histogram_row(h, r));
			scale.total[i] += v;
			scale.most[i] = v > scale.most[i] ? v : scale.most[i];
		}
	for (uint32_t r = 0; r < h->nr_rows; r++)
		put_row(h, histogram_row(h, r), &scale, names, o);
	put_snapshot(h, names, o);
	out_printf(o,
		   "\nTotals:\n    Hits: %" PRIu64 "\n    Entries: %u\n    Dropped: %" PRIu64 "\n",
		   h->hits, h->nr_rows, h->drops);
}
