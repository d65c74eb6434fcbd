/* SPDX-License-Identifier: MIT */
/*
 * See mem.h. It has the columns of trace-cmd-mem(1): allocated are the bytes that the allocator
 * has given, requested the bytes that the caller has asked for, waste the difference for blocks
 * that are not freed. Memory: a row for each block that is not freed. Tests: tests/cli/test_mem.py.
 */
#include "tools/report/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/report/report_impl.h"
#include "tools/text/json.h"

#define MAX_KINDS 8u

struct caller {
	const char *name; /* a symbol's, or own */
	char own[32];
	uint64_t alloc, req, total_alloc, total_req, max_alloc, max_req;
	int64_t max_waste;
};

struct block {
	uint64_t ptr; /* first: the tree's order */
	struct caller *by;
	uint64_t alloc, req;
};

/* An event of the file that is about memory. */
struct kind {
	int id;
	bool frees;
	struct dat_field ptr, call_site, req, alloc;
};

struct mem {
	struct kind kinds[MAX_KINDS];
	unsigned int nr_kinds;
	void *callers, *blocks; /* tsearch() */
	struct caller **rows;
	size_t nr, room;
};

static struct dat_field field_of(struct tep_event *ev, const char *name)
{
	struct tep_format_field *f = tep_find_field(ev, name);

	if (!f || f->offset < 0 || f->offset > UINT16_MAX || f->size <= 0 || f->size > 8)
		return (struct dat_field){0, 0};
	return (struct dat_field){(uint16_t)f->offset, (uint16_t)f->size};
}

static void find_kinds(struct mem *m, struct tep_handle *tep)
{
	static const struct {
		const char *name;
		bool frees;
	} names[] = {{"kmalloc", false},
		     {"kmalloc_node", false},
		     {"kmem_cache_alloc", false},
		     {"kmem_cache_alloc_node", false},
		     {"kfree", true},
		     {"kmem_cache_free", true}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct tep_event *ev = tep_find_event_by_name(tep, "kmem", names[i].name);
		struct kind k = {.frees = names[i].frees};

		if (!ev)
			continue;
		k.id = ev->id;
		k.ptr = field_of(ev, "ptr");
		k.call_site = field_of(ev, "call_site");
		k.req = field_of(ev, "bytes_req");
		k.alloc = field_of(ev, "bytes_alloc");
		if (k.ptr.bytes && (k.frees || (k.call_site.bytes && k.req.bytes && k.alloc.bytes)))
			m->kinds[m->nr_kinds++] = k;
	}
}

static uint64_t get(const struct report_file *f, const struct record *rec, struct dat_field at)
{
	if (!at.bytes || (uint32_t)at.offset + at.bytes > rec->data_bytes)
		return 0;
	return line_number(f->line, (const char *)rec->data + at.offset, at.bytes);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct caller *)a)->name, ((const struct caller *)b)->name);
}

static int by_ptr(const void *a, const void *b)
{
	uint64_t x = ((const struct block *)a)->ptr, y = ((const struct block *)b)->ptr;

	return x < y ? -1 : x > y;
}

/* The row of the function that has the address; NULL: memory is short. */
static struct caller *caller_of(struct mem *m, struct report_file *f, uint64_t addr)
{
	const struct symbol *s = symbols_find(f->d->head.symbols, addr);
	struct caller key = {0}, *new, **found;

	if (!s)
		snprintf(key.own, sizeof(key.own), "0x%" PRIx64, addr);
	key.name = s ? s->name : key.own;
	found = tfind(&key, &m->callers, by_name);
	if (found)
		return *found;
	new = malloc(sizeof(*new));
	if (!new || ARRAY_ROOM(m->rows, m->nr, m->room, 64)) {
		free(new);
		return NULL;
	}
	*new = key;
	new->name = s ? s->name : new->own;
	m->rows[m->nr++] = new;
	return tsearch(new, &m->callers, by_name) ? new : NULL;
}

static int64_t waste(const struct caller *c)
{
	return (int64_t)(c->alloc - c->req);
}

static void drop(struct mem *m, struct block *b)
{
	b->by->alloc -= b->alloc;
	b->by->req -= b->req;
	tdelete(b, &m->blocks, by_ptr);
	free(b);
}

static int add(struct mem *m, struct caller *c, uint64_t ptr, uint64_t req, uint64_t alloc)
{
	struct block key = {.ptr = ptr}, **old = tfind(&key, &m->blocks, by_ptr), *b;

	/* its free was lost */
	if (old)
		drop(m, *old);
	b = malloc(sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct block){ptr, c, alloc, req};
	if (!tsearch(b, &m->blocks, by_ptr)) {
		free(b);
		return -ENOMEM;
	}
	c->alloc += alloc;
	c->req += req;
	c->total_alloc += alloc;
	c->total_req += req;
	if (c->alloc > c->max_alloc)
		c->max_alloc = c->alloc;
	if (c->req > c->max_req)
		c->max_req = c->req;
	if (waste(c) > c->max_waste)
		c->max_waste = waste(c);
	return 0;
}

static int take(void *arg, struct report_file *f, const struct record *rec, uint64_t ts)
{
	struct mem *m = arg;
	struct block key, **found;
	struct caller *c;
	unsigned int i;

	(void)ts;
	for (i = 0; i < m->nr_kinds && m->kinds[i].id != rec->event; i++)
		;
	if (i == m->nr_kinds)
		return 0;
	key.ptr = get(f, rec, m->kinds[i].ptr);
	if (!key.ptr)
		return 0;
	if (m->kinds[i].frees) {
		found = tfind(&key, &m->blocks, by_ptr);
		if (found)
			drop(m, *found);
		return 0;
	}
	c = caller_of(m, f, get(f, rec, m->kinds[i].call_site));
	if (!c || add(m, c, key.ptr, get(f, rec, m->kinds[i].req), get(f, rec, m->kinds[i].alloc)))
		return fail(ENOMEM, "out of memory");
	return 0;
}

static int by_waste(const void *a, const void *b)
{
	const struct caller *x = *(struct caller *const *)a, *y = *(struct caller *const *)b;

	if (waste(x) != waste(y))
		return waste(x) > waste(y) ? -1 : 1;
	if (x->alloc != y->alloc)
		return x->alloc > y->alloc ? -1 : 1;
	if (x->total_alloc != y->total_alloc)
		return x->total_alloc > y->total_alloc ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void put_json(struct out *o, const struct caller *c)
{
	out_text(o, "{\"function\":");
	json_put(o, c->name);
	out_printf(o,
		   ",\"waste\":%" PRId64 ",\"alloc\":%" PRIu64 ",\"req\":%" PRIu64
		   ",\"total_alloc\":%" PRIu64 ",\"total_req\":%" PRIu64 ",\"max_alloc\":%" PRIu64
		   ",\"max_req\":%" PRIu64 ",\"max_waste\":%" PRId64 "}",
		   waste(c), c->alloc, c->req, c->total_alloc, c->total_req, c->max_alloc,
		   c->max_req, c->max_waste);
}

static void put(struct mem *m, struct out *o, bool json)
{
	qsort(m->rows, m->nr, sizeof(*m->rows), by_waste);
	if (!json)
		out_text(o,
			 "                Function            \tWaste\tAlloc\treq\t\tTotAlloc     "
			 "TotReq\t\tMaxAlloc     MaxReq\tMaxWaste\n"
			 "                --------            \t-----\t-----\t---\t\t--------     "
			 "------\t\t--------     ------\t--------\n");
	for (size_t i = 0; i < m->nr; i++) {
		const struct caller *c = m->rows[i];

		if (json) {
			out_text(o, i ? ",\n" : "[");
			put_json(o, c);
		} else {
			out_printf(o,
				   "%32s\t%" PRId64 "\t%" PRIu64 "\t%" PRIu64 "\t\t%8" PRIu64
				   "   %8" PRIu64 "\t\t%8" PRIu64 "   %8" PRIu64 "\t%" PRId64 "\n",
				   c->name, waste(c), c->alloc, c->req, c->total_alloc,
				   c->total_req, c->max_alloc, c->max_req, c->max_waste);
		}
	}
	if (json)
		out_text(o, m->nr ? "]\n" : "[]\n");
}

static void nothing(void *row)
{
	(void)row;
}

int mem_print(const char *path, bool json)
{
	struct report_input in = {.path = path};
	const struct report_options opt = {.inputs = &in, .nr_inputs = 1, .how = DEMANGLE_SHORT};
	struct report r = {.o = &opt};
	struct mem m = {0};
	int ret;

	if (out_init(&r.out, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	ret = report_open(&r);
	if (!ret) {
		find_kinds(&m, line_tep(r.files[0].line));
		ret = m.nr_kinds
			      ? report_each(&r, take, &m)
			      : fail(ENODATA,
				     "'%s' has no events kmem:kmalloc: record with -e kmem", path);
	}
	if (!ret)
		put(&m, &r.out, json);
	ret = out_end_stdout(&r.out, ret, "the table");
	report_close(&r);
	tdestroy(m.blocks, free);
	tdestroy(m.callers, nothing);
	for (size_t i = 0; i < m.nr; i++)
		free(m.rows[i]);
	free(m.rows);
	return ret;
}
