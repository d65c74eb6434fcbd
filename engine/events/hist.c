/* SPDX-License-Identifier: MIT */
/*
 * Counting. The table is fixed; a row is made complete before its number is put into a slot by one
 * compare-and-store, so that nobody ever waits for another thread, nor a signal handler for what it
 * interrupted: of two who make the same row the second finds the first one's and keeps its own for the
 * next (spares). Values are added atomically: what is counted is exact; a key for which there is no
 * row is a drop. Any context. fork: the child has a copy, and counts on. Costs: bench "events".
 * Tests: tests/engine/events/hist.
 */
#include "engine/events/hist.h"

#include <errno.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/heap.h"
#include "engine/events/hist_impl.h"
#include "engine/ring/ring.h"

#define MAX_KEY_WORDS (HIST_MAX_KEYS * (HIST_MAX_STRING + 8) / 8)

struct hist_map *hist_map_new(const struct hist *h)
{
	struct hist_map *m = heap_alloc(sizeof(*m));

	if (!m)
		return NULL;
	m->nr_rows = h->size;
	m->nr_slots = h->size * 2;
	m->row_bytes = (uint32_t)sizeof(struct hist_row) + h->key_bytes;
	m->slots = heap_alloc(m->nr_slots * sizeof(*m->slots));
	m->rows = heap_alloc((size_t)m->nr_rows * m->row_bytes);
	if (m->slots && m->rows)
		return m;
	hist_map_free(m);
	return NULL;
}

void hist_map_free(struct hist_map *m)
{
	if (!m)
		return;
	heap_free(m->slots);
	heap_free(m->rows);
	heap_free(m);
}

void hist_free(struct hist *h)
{
	if (!h)
		return;
	hist_map_free(h->map);
	heap_free(h);
}

int hist_clear(struct hist *h)
{
	struct hist_map *m = hist_map_new(h), *old = h->map;

	if (!m)
		return -ENOMEM;
	store_release(&h->map, m);
	if (!ring_synchronize())
		hist_map_free(old);
	return 0;
}

void hist_pause(struct hist *h, int paused)
{
	store_relaxed(&h->paused, (uint32_t)paused);
}

int hist_paused(const struct hist *h)
{
	return (int)load_relaxed(&h->paused);
}

static uint64_t number_of(const struct hist_field *f, const uint8_t *record)
{
	const uint8_t *p = record + f->offset;

	switch (f->size) {
	case 1:
		return f->is_signed ? (uint64_t)(int64_t) * (const int8_t *)p : *p;
	case 2: {
		uint16_t v;

		memcpy(&v, p, 2);
		return f->is_signed ? (uint64_t)(int64_t)(int16_t)v : v;
	}
	case 4:
		return f->is_signed ? (uint64_t)(int64_t) * (const int32_t *)p
				    : *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

/* As the kernel's: the power of two that is at least as large. */
static uint64_t log2_of(uint64_t v)
{
	uint64_t n = 0;

	if (v > 1)
		for (v--; v; v >>= 1)
			n++;
	return n;
}

static uint64_t value_of(const struct hist_field *f, const uint8_t *record)
{
	uint64_t v;

	switch (f->from) {
	case HIST_PID:
		v = (uint64_t)ring_thread_id();
		break;
	case HIST_CPU:
		v = ring_record_cpu();
		break;
	case HIST_HITCOUNT:
		return 1;
	default:
		v = number_of(f, record);
		break;
	}
	if (f->modifier == HIST_LOG2)
		return log2_of(v);
	return f->modifier == HIST_BUCKETS ? v / f->buckets * f->buckets : v;
}

static void copy_string(const struct hist_field *f, const uint8_t *record, char *to)
{
	const char *from = (const char *)record + f->offset;
	uint32_t n = f->size, word, i;

	if (f->from != HIST_STATIC) {
		memcpy(&word, from, sizeof(word));
		from = f->from == HIST_DYN ? (const char *)record + (word & 0xffff)
					   : from + 4 + (word & 0xffff);
		n = word >> 16 < HIST_MAX_STRING ? word >> 16 : HIST_MAX_STRING;
	}
	for (i = 0; i < n && from[i]; i++)
		to[i] = from[i];
}

static int is_string(const struct hist_field *f)
{
	return f->from == HIST_STATIC || f->from == HIST_DYN || f->from == HIST_RDYN;
}

static uint64_t hash_of(const uint64_t *key, uint32_t words)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i;

	for (i = 0; i < words; i++) {
		h = (h ^ key[i]) * UINT64_C(0xbf58476d1ce4e5b9);
		h ^= h >> 29;
	}
	return h;
}

static int same_key(const uint64_t *a, const uint64_t *b, uint32_t words)
{
	uint32_t i;

	for (i = 0; i < words; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

/* A row for nobody yet; UINT32_MAX: there is none. */
static uint32_t take_row(struct hist_map *m)
{
	uint32_t i, n;

	for (i = 0; i < HIST_SPARES; i++) {
		n = load_relaxed(&m->spares[i])
			    ? __atomic_exchange_n(&m->spares[i], 0, __ATOMIC_ACQUIRE)
			    : 0;
		if (n)
			return n - 1;
	}
	if (load_relaxed(&m->next) >= m->nr_rows)
		return UINT32_MAX;
	n = fetch_add(&m->next, 1);
	return n < m->nr_rows ? n : UINT32_MAX;
}

static void give_back(struct hist_map *m, uint32_t row)
{
	uint32_t i;

	for (i = 0; i < HIST_SPARES; i++)
		if (!load_relaxed(&m->spares[i]) && compare_and_store(&m->spares[i], 0, row + 1))
			return;
}

static void fill(const struct hist *h, struct hist_row *row, const uint64_t *key, uint64_t hash)
{
	row->hash = hash;
	memcpy(row->key, key, h->key_bytes);
	if (h->execname)
		memcpy(row->comm, ring_thread_comm(), strlen(ring_thread_comm()) + 1);
}

/* The row of a key, a new one if need be; NULL: there is no room. */
static struct hist_row *find_row(const struct hist *h, struct hist_map *m, const uint64_t *key)
{
	uint32_t words = h->key_bytes / 8, mask = m->nr_slots - 1, own = UINT32_MAX, tries;
	uint64_t hash = hash_of(key, words);
	uint32_t i = (uint32_t)(hash >> 32) & mask;

	for (tries = 0; tries < m->nr_slots; tries++, i = (i + 1) & mask) {
		uint32_t n = load_acquire(&m->slots[i]);
		struct hist_row *row;

		if (!n) {
			if (own == UINT32_MAX)
				own = take_row(m);
			if (own == UINT32_MAX)
				return NULL;
			fill(h, hist_row(m, own), key, hash);
			if (__atomic_compare_exchange_n(&m->slots[i], &n, own + 1, 0,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return hist_row(m, own);
		}
		row = hist_row(m, n - 1);
		if (row->hash == hash && same_key(row->key, key, words)) {
			if (own != UINT32_MAX)
				give_back(m, own);
			return row;
		}
	}
	if (own != UINT32_MAX)
		give_back(m, own);
	return NULL;
}

void hist_fire(struct hist *h, const void *record)
{
	uint64_t key[MAX_KEY_WORDS];
	struct hist_map *m;
	struct hist_row *row;
	uint32_t i;

	if (load_relaxed(&h->paused))
		return;
	m = load_acquire(&h->map);
	for (i = 0; i < h->key_bytes / 8; i++)
		key[i] = 0;
	for (i = 0; i < h->nr_keys; i++) {
		const struct hist_field *f = &h->keys[i];

		if (is_string(f))
			copy_string(f, record, (char *)&key[f->key_at / 8]);
		else
			key[f->key_at / 8] = value_of(f, record);
	}
	row = find_row(h, m, key);
	if (unlikely(!row)) {
		fetch_add(&m->drops, 1);
		return;
	}
	fetch_add(&m->hits, 1);
	for (i = 0; i < h->nr_vals; i++)
		fetch_add(&row->vals[i], value_of(&h->vals[i], record));
}
