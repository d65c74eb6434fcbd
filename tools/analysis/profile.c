/* SPDX-License-Identifier: MIT */
/*
 * See profile.h. One hash table counts pairs of function and return address; symbols are looked up
 * once for each pair, at the end. About 5 ns a record. The order of records does not matter, so the
 * CPUs are read one after the other. Tests: tests/unit/test_profile.c.
 */
#include "tools/analysis/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/hash.h"
#include "tools/code/symbols.h"
#include "tools/reader/joined.h"

#define BATCH_RECORDS 512u
#define FIRST_SLOTS   4096u /* a power of two */

struct pair {
	uint64_t ip, parent_ip;
	uint64_t hits; /* 0: an empty slot */
};

struct profile {
	struct reader *r;
	struct pair *slots;
	size_t nr_slots, nr_pairs;
	struct profile_row *rows;
	size_t nr_rows;
	/* pairs by function, then caller, the callers of a row being consecutive */
	struct profile_caller *callers;
	size_t *first_caller; /* of the row with this ip, in order of ip */
	uint64_t *ips;	      /* in order */
	uint64_t hits, lost;
};

static size_t slot_of(const struct profile *p, uint64_t ip, uint64_t parent_ip)
{
	return hash_pair(ip, parent_ip) & (p->nr_slots - 1);
}

static struct pair *find(struct profile *p, uint64_t ip, uint64_t parent_ip)
{
	size_t i = slot_of(p, ip, parent_ip);

	while (p->slots[i].hits && (p->slots[i].ip != ip || p->slots[i].parent_ip != parent_ip))
		i = (i + 1) & (p->nr_slots - 1);
	return &p->slots[i];
}

static int grow(struct profile *p)
{
	struct pair *old = p->slots, *slots;
	size_t nr_old = p->nr_slots, i;

	slots = calloc(nr_old ? nr_old * 2 : FIRST_SLOTS, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	p->slots = slots;
	p->nr_slots = nr_old ? nr_old * 2 : FIRST_SLOTS;
	for (i = 0; i < nr_old; i++) {
		if (old[i].hits)
			*find(p, old[i].ip, old[i].parent_ip) = old[i];
	}
	free(old);
	return 0;
}

/* The sums of one buffer. */
struct of_buffer {
	uint64_t hits, lost;
};

static int count(struct profile *p, const struct record *rec, unsigned int nr,
		 struct of_buffer *buffer)
{
	const struct record *end = rec + nr;
	struct pair *pair;

	for (; rec < end; rec++) {
		buffer->lost = record_lost_sum(buffer->lost, rec->lost);
		if (rec->kind != RECORD_FUNCTION)
			continue;
		buffer->hits++;
		pair = find(p, rec->ip, rec->parent_ip);
		if (pair->hits++)
			continue;
		pair->ip = rec->ip;
		pair->parent_ip = rec->parent_ip;
		if (++p->nr_pairs > p->nr_slots / 2 && grow(p))
			return -ENOMEM;
	}
	return 0;
}

/* A pair with the calling function in place of the return address. */
struct call {
	uint64_t ip;
	struct profile_caller from;
};

static int by_ip_and_caller(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	if (x->from.addr != y->from.addr)
		return x->from.addr < y->from.addr ? -1 : 1;
	return 0;
}

static struct call *calls_of_pairs(struct profile *p)
{
	struct call *calls = malloc((p->nr_pairs + 1) * sizeof(*calls));
	size_t i, n = 0;

	if (!calls)
		return NULL;
	for (i = 0; i < p->nr_slots; i++) {
		const struct pair *pair = &p->slots[i];
		const struct symbol *sym;

		if (!pair->hits)
			continue;
		sym = symbols_find(p->r->symbols, pair->parent_ip);
		calls[n++] = (struct call){
			.ip = pair->ip,
			.from = {.name = sym ? sym->name : NULL,
				 .module = sym ? sym->module : NULL,
				 .addr = sym ? sym->addr : pair->parent_ip,
				 .hits = pair->hits},
		};
	}
	qsort(calls, n, sizeof(*calls), by_ip_and_caller);
	return calls;
}

/* Make rows and callers from the pairs. */
static int summarise(struct profile *p)
{
	struct call *calls = calls_of_pairs(p);
	size_t i, nr_callers = 0;

	p->rows = calloc(p->nr_pairs + 1, sizeof(*p->rows));
	p->callers = calloc(p->nr_pairs + 1, sizeof(*p->callers));
	p->first_caller = calloc(p->nr_pairs + 1, sizeof(*p->first_caller));
	p->ips = calloc(p->nr_pairs + 1, sizeof(*p->ips));
	if (!calls || !p->rows || !p->callers || !p->first_caller || !p->ips) {
		free(calls);
		return -ENOMEM;
	}
	for (i = 0; i < p->nr_pairs; i++) {
		const struct call *c = &calls[i];
		bool new_row = !i || calls[i - 1].ip != c->ip;
		struct profile_row *row;

		if (new_row) {
			const struct symbol *sym = symbols_find(p->r->symbols, c->ip);

			row = &p->rows[p->nr_rows];
			row->ip = c->ip;
			row->name = sym ? sym->name : NULL;
			row->module = sym ? sym->module : NULL;
			p->ips[p->nr_rows] = c->ip;
			p->first_caller[p->nr_rows++] = nr_callers;
		}
		row = &p->rows[p->nr_rows - 1];
		row->hits += c->from.hits;
		if (new_row || calls[i - 1].from.addr != c->from.addr) {
			p->callers[nr_callers++] = c->from;
			row->nr_callers++;
		} else {
			p->callers[nr_callers - 1].hits += c->from.hits;
		}
	}
	free(calls);
	return 0;
}

static int read_all(struct profile *p, const bool *cpus)
{
	struct record *batch = malloc(BATCH_RECORDS * sizeof(*batch));
	struct of_buffer *buffers = calloc(p->r->nr_further + 1u, sizeof(*buffers)), *of;
	unsigned int cpu;
	int n = 0, ret = 0;

	if (!batch || !buffers) {
		free(batch);
		free(buffers);
		return fail(ENOMEM, "out of memory");
	}
	for (cpu = 0; !ret && cpu < p->r->nr_cpus; cpu++) {
		if (cpus && !cpus[cpu])
			continue;
		of = &buffers[reader_join_buffer(p->r, cpu)];
		while (!ret && (n = reader_read(p->r, cpu, batch, BATCH_RECORDS)) > 0) {
			if (count(p, batch, (unsigned int)n, of))
				ret = fail(ENOMEM, "out of memory for a table of %zu calls",
					   p->nr_pairs);
		}
		if (n < 0)
			ret = n;
		if (p->r->stats)
			of->lost = record_lost_sum(of->lost, p->r->stats[cpu].lost_at_end);
	}
	for (of = buffers; of <= buffers + p->r->nr_further; of++)
		p->hits += of->hits;
	/* records that a buffer without calls lost were no calls */
	for (of = buffers; of <= buffers + p->r->nr_further; of++)
		if (of->hits || !p->hits)
			p->lost = record_lost_sum(p->lost, of->lost);
	free(buffers);
	free(batch);
	return ret;
}

struct profile *profile_new(struct reader *r, const bool *cpus)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (!p) {
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	p->r = r;
	if (grow(p)) {
		fail(ENOMEM, "out of memory");
		goto fail;
	}
	if (read_all(p, cpus))
		goto fail;
	if (summarise(p)) {
		fail(ENOMEM, "out of memory for a table of %zu calls", p->nr_pairs);
		goto fail;
	}
	profile_sort(p, PROFILE_BY_HITS);
	return p;
fail:
	profile_free(p);
	return NULL;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	free(p->slots);
	free(p->rows);
	free(p->callers);
	free(p->first_caller);
	free(p->ips);
	free(p);
}

static int by_name(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;
	int order = strcmp(x->name ? x->name : "", y->name ? y->name : "");

	if (order)
		return order;
	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static int by_hits(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;

	if (x->hits != y->hits)
		return x->hits > y->hits ? -1 : 1;
	return by_name(a, b);
}

void profile_sort(struct profile *p, enum profile_sort by)
{
	qsort(p->rows, p->nr_rows, sizeof(*p->rows), by == PROFILE_BY_NAME ? by_name : by_hits);
}

size_t profile_count(const struct profile *p)
{
	return p->nr_rows;
}

const struct profile_row *profile_at(const struct profile *p, size_t i)
{
	return i < p->nr_rows ? &p->rows[i] : NULL;
}

static int callers_by_hits(const void *a, const void *b)
{
	const struct profile_caller *x = a, *y = b;

	if (x->hits != y->hits)
		return x->hits > y->hits ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int compare_ips(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct profile_caller *profile_callers(const struct profile *p, const struct profile_row *row)
{
	const uint64_t *at = bsearch(&row->ip, p->ips, p->nr_rows, sizeof(*at), compare_ips);
	struct profile_caller *callers = NULL;

	if (at)
		callers = malloc(row->nr_callers * sizeof(*callers));
	if (!callers)
		return NULL;
	memcpy(callers, &p->callers[p->first_caller[at - p->ips]],
	       row->nr_callers * sizeof(*callers));
	qsort(callers, row->nr_callers, sizeof(*callers), callers_by_hits);
	return callers;
}

uint64_t profile_hits(const struct profile *p)
{
	return p->hits;
}

uint64_t profile_lost(const struct profile *p)
{
	return p->lost;
}
