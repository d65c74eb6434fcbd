/* SPDX-License-Identifier: MIT */
/* See kd.h: the sums, and the table. */
#include "tools/kft/kd.h"
#include "tools/text/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

#define MAX_FUNCTIONS (1u << 24)

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

int kd_function(struct kd *kd, const char *name, uint32_t *number)
{
	uint64_t hash = hash_bytes(HASH_BYTES_SEED, name, strlen(name));
	int64_t found =
		HASH_INDEX_FIND(&kd->by_name, hash, i, !strcmp(kd->functions[i].name, name));
	struct kd_function f = {0};

	if (found < 0) {
		if (kd->nr == MAX_FUNCTIONS)
			return fail(EFBIG, "more than %u functions", MAX_FUNCTIONS);
		f.name = strdup(name);
		if (!f.name || ARRAY_ROOM(kd->functions, kd->nr, kd->room, 256) ||
		    hash_index_add(&kd->by_name, hash, (uint32_t)kd->nr)) {
			free((char *)(uintptr_t)f.name);
			return no_memory();
		}
		found = (int64_t)kd->nr;
		kd->functions[kd->nr++] = f;
	}
	*number = (uint32_t)found;
	return 0;
}

static int count_pair(struct kd *kd, uint32_t from, uint32_t to, uint64_t ns)
{
	uint64_t key = (uint64_t)from << 32 | to;
	int64_t found = HASH_INDEX_FIND(&kd->by_pair, key, i,
					kd->pairs[i].from == from && kd->pairs[i].to == to);

	if (found < 0) {
		if (ARRAY_ROOM(kd->pairs, kd->nr_pairs, kd->room_pairs, 256) ||
		    hash_index_add(&kd->by_pair, key, (uint32_t)kd->nr_pairs))
			return no_memory();
		found = (int64_t)kd->nr_pairs;
		kd->pairs[kd->nr_pairs++] = (struct kd_pair){.from = from, .to = to};
	}
	kd->pairs[found].ns += ns;
	kd->pairs[found].count++;
	return 0;
}

int kd_count(struct kd *kd, const struct kd_call *call, int64_t caller)
{
	struct kd_function *f = &kd->functions[call->function];

	f->count++;
	f->ns += call->ns;
	f->local += call->local;
	f->marks |= call->marks;
	kd->nr_counted++;
	return caller < 0 ? 0 : count_pair(kd, (uint32_t)caller, call->function, call->ns);
}

int kd_keep(struct kd *kd, const struct kd_call *call)
{
	if (kd->nr_calls == KD_MAX_CALLS)
		return fail(EFBIG, "more than %u calls, which is too many to keep", KD_MAX_CALLS);
	if (ARRAY_ROOM(kd->calls, kd->nr_calls, kd->room_calls, 1024))
		return no_memory();
	kd->calls[kd->nr_calls++] = *call;
	return 0;
}

void kd_free(struct kd *kd)
{
	for (size_t i = 0; i < kd->nr; i++)
		free((char *)(uintptr_t)kd->functions[i].name);
	free(kd->functions);
	hash_index_clear(&kd->by_name);
	hash_index_clear(&kd->by_pair);
	free(kd->pairs);
	free(kd->calls);
	*kd = (struct kd){0};
}

/* Logs have whole microseconds, recordings have nanoseconds. */
void kd_put_time(const struct kd *kd, struct out *o, int width, uint64_t ns)
{
	if (kd->is_log)
		out_printf(o, "%*" PRIu64, width, ns / 1000);
	else
		out_printf(o, "%*" PRIu64 ".%03u", width - 4, ns / 1000, (unsigned int)(ns % 1000));
}

const char *kd_mark_text(uint8_t marks)
{
	static const char *const texts[] = {"", "*", "~", "*~"};

	return texts[marks & (KD_FILTERED | KD_SWITCHED)];
}

/* Find the child of each function that took the most time; of equal ones the first in the data. */
static void find_children(struct kd *kd)
{
	for (size_t i = 0; i < kd->nr_pairs; i++) {
		const struct kd_pair *p = &kd->pairs[i];
		struct kd_function *f = &kd->functions[p->from];

		if (f->child_count &&
		    (p->ns < f->child_ns || (p->ns == f->child_ns && p->to > f->child)))
			continue;
		f->child = p->to;
		f->child_ns = p->ns;
		f->child_count = p->count;
	}
}

static int compare_names(const struct kd_function *f, const struct kd_function *g)
{
	return strcmp(f->name, g->name);
}

static int64_t key(const struct kd_function *f, char column)
{
	switch (column) {
	case 'c':
		return (int64_t)f->count;
	case 'a':
		return f->count ? (int64_t)(f->ns / f->count) : 0;
	case 'l':
		return (int64_t)f->local;
	case 'n':
		return (int64_t)f->child_count;
	default:
		return (int64_t)f->ns;
	}
}

struct order {
	const struct kd *kd;
	char column;
};

static int compare(const void *a, const void *b, void *arg)
{
	const struct kd_function *f = a, *g = b;
	const struct order *order = arg;
	int64_t k = key(f, order->column), l = key(g, order->column);

	if (order->column == 'm') {
		const char *m = f->child_count ? order->kd->functions[f->child].name : "";
		const char *n = g->child_count ? order->kd->functions[g->child].name : "";

		k = l;
		if (strcmp(m, n) != 0)
			return strcmp(m, n);
	}
	if (order->column == 'F' || k == l)
		return compare_names(f, g);
	return k > l ? -1 : 1;
}

static const struct column {
	char letter;
	const char *name;
	int width; /* negative: a name, on the left */
} columns[] = {{'F', "Function", -33}, {'c', "Count", 7},  {'t', "Time", 11},
	       {'a', "Average", 11},   {'l', "Local", 11}, {'m', "Max-sub", -25},
	       {'n', "Ms-cnt", 7}};

static const struct column *column_of(char letter)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (columns[i].letter == letter)
			return &columns[i];
	return &columns[0];
}

static void put_head(struct out *o, const char *letters)
{
	char rule[64];

	for (const char *l = letters; *l; l++)
		out_printf(o, "%s%*s", l == letters ? "" : " ", column_of(*l)->width,
			   column_of(*l)->name);
	out_text(o, "\n");
	memset(rule, '-', sizeof(rule));
	for (const char *l = letters; *l; l++)
		out_printf(o, "%s%.*s", l == letters ? "" : " ", abs(column_of(*l)->width), rule);
	out_text(o, "\n");
}

static void put_column(const struct kd *kd, struct out *o, const struct column *c,
		       const struct kd_function *f, bool is_last)
{
	const char *marks = kd_mark_text(f->marks);

	switch (c->letter) {
	case 'F':
		out_printf(o, "%*s", is_last ? 0 : c->width, f->name);
		break;
	case 'c':
		out_printf(o, "%*" PRIu64, c->width, f->count);
		break;
	case 't':
		kd_put_time(kd, o, c->width, f->ns);
		break;
	case 'a':
		kd_put_time(kd, o, c->width, f->count ? f->ns / f->count : 0);
		break;
	case 'l':
		kd_put_time(kd, o, c->width, f->local);
		out_printf(o, "%*s", is_last ? 0 : -2, marks);
		break;
	case 'm':
		out_printf(o, "%*s", is_last ? 0 : c->width,
			   f->child_count ? kd->functions[f->child].name : "-");
		break;
	default:
		out_printf(o, "%*" PRIu64, c->width, f->child_count);
	}
}

/* All columns; times in ns. */
static void put_row_json(const struct kd *kd, struct json *j, const struct kd_function *f)
{
	json_open(j, NULL, '{');
	json_text(j, "name", f->name);
	json_number(j, "count", f->count);
	json_number(j, "time", f->ns);
	json_number(j, "average", f->count ? f->ns / f->count : 0);
	json_number(j, "local", f->local);
	json_bool(j, "filtered", f->marks & KD_FILTERED);
	json_bool(j, "switched", f->marks & KD_SWITCHED);
	json_text(j, "max_sub", f->child_count ? kd->functions[f->child].name : NULL);
	json_number(j, "max_sub_count", f->child_count);
	json_close(j, '}');
}

static int table(struct kd *kd, const struct kd_options *opt, struct out *o, uint8_t *marks)
{
	const char *letters = opt->columns ? opt->columns : KD_USUAL_COLUMNS;
	struct order order = {kd, opt->sort ? opt->sort : 't'};
	struct kd_function *rows;
	struct json j = {.o = o};
	unsigned int nr = 0;

	find_children(kd);
	rows = malloc((kd->nr + 1) * sizeof(*rows));
	if (!rows)
		return no_memory();
	for (size_t i = 0; i < kd->nr; i++)
		if (kd->functions[i].count && kd->functions[i].ns >= opt->min_ns)
			rows[nr++] = kd->functions[i];
	qsort_r(rows, nr, sizeof(*rows), compare, &order);
	if (opt->first && opt->first < nr)
		nr = opt->first;
	for (unsigned int i = 0; i < nr && opt->json; i++)
		put_row_json(kd, &j, &rows[i]);
	if (opt->json) {
		free(rows);
		return 0;
	}
	put_head(o, letters);
	for (unsigned int i = 0; i < nr && !o->err; i++) {
		for (const char *l = letters; *l; l++) {
			out_text(o, l == letters ? "" : " ");
			put_column(kd, o, column_of(*l), &rows[i], !l[1]);
			if (*l == 'l')
				*marks |= rows[i].marks;
		}
		out_text(o, "\n");
	}
	free(rows);
	return 0;
}

int kd_print(struct kd *kd, const struct kd_options *opt, struct out *o, uint8_t *marks)
{
	int ret;

	*marks = 0;
	if (opt->json)
		out_text(o, "[");
	ret = opt->trace ? kd_trace(kd, opt, o, marks) : table(kd, opt, o, marks);
	if (opt->json)
		out_text(o, "]\n");
	return ret;
}
