/* SPDX-License-Identifier: MIT */
/*
 * Counting. The table has a fixed size. A row is complete before one compare-and-store puts its
 * number into a slot, so no thread waits for another, and no signal handler for the code that it
 * interrupted. If two threads make a row for the same key, the second uses the first one's row and
 * keeps its own for a later key (spares). Values are added atomically, so counts are exact. A
 * record for whose key there is no row is a drop. Any context. fork: nothing of its own. Costs:
 * bench "events". Tests: tests/engine/events/hist.
 */
#include "engine/events/trigger/hist_impl.h"

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/context.h"
#include "engine/core/stack.h"
#include "engine/events/trigger/hist_alloc.h"
#include "engine/events/trigger/hist_vars.h"
#include "engine/ring/proxy.h"

#define MAX_KEY_WORDS (HIST_MAX_KEYS * (HIST_MAX_STRING + 8) / 8)

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

/* As the kernel's log2: rounded up. */
static uint64_t log2_of(uint64_t v)
{
	uint64_t n = 0;

	if (v > 1)
		for (v--; v; v >>= 1)
			n++;
	return n;
}

/* The time by the instance's trace_clock; in us if the clock has ns and the line asks for usecs. */
static uint64_t time_of(const struct hist *h)
{
	const struct area_buffer *b = trace_array_buffer(h->tr);
	uint64_t ns;

	if (b->trace_clock == AREA_TRACE_X86_TSC)
		return ring_as ? ring_as->stamp : ring_clock();
	if (b->trace_clock == AREA_TRACE_COUNTER)
		return load_relaxed(&h->tr->ring->counter);
	ns = ring_clock_mono() + (uint64_t)b->clock_offset_ns;
	if (unlikely(ring_as != NULL)) /* the record is of an earlier time */
		ns -= (uint64_t)((unsigned __int128)(ring_clock() - ring_as->stamp) *
					 hist_unit_ns >>
				 32);
	if (b->trace_clock == AREA_TRACE_UPTIME)
		return ns / 10000000;
	return h->in_usecs ? (ns + 500) / 1000 : ns;
}

/* Where a field's text or stack begins, and its greatest length. */
static const char *bytes_of(const struct hist_field *f, const uint8_t *record, uint32_t *n)
{
	const char *from = (const char *)record + f->offset;
	uint32_t word;

	*n = f->size;
	if (f->from == HIST_STATIC)
		return from;
	memcpy(&word, from, sizeof(word));
	*n = word >> 16;
	return f->from == HIST_RDYN ? from + 4 + (word & 0xffff)
				    : (const char *)record + (word & 0xffff);
}

static uint64_t raw_value_of(const struct hist *h, const struct hist_field *f,
			     const uint8_t *record, const uint64_t *refs)
{
	uint32_t n;

	switch (f->from) {
	case HIST_FIELD:
		return number_of(f, record);
	case HIST_HITCOUNT:
		return 1;
	case HIST_PID:
		return (uint64_t)ring_thread_id();
	case HIST_CPU:
		return ring_record_cpu();
	case HIST_TIME:
		return time_of(h);
	case HIST_COMMON:
		return f->value;
	case HIST_FLAGS:
		return context_flags();
	case HIST_PREEMPT:
		return context_preempt_count();
	case HIST_EXPR:
		return hist_expr_value(h, f->expr, record, refs);
	case HIST_STACK:
		return 0;
	default: /* the value of a text is its address, as in the kernel */
		return (uint64_t)(uintptr_t)bytes_of(f, record, &n);
	}
}

uint64_t hist_value(const struct hist *h, const struct hist_field *f, const void *record,
		    const uint64_t *refs)
{
	uint64_t v = raw_value_of(h, f, record, refs);

	if (likely(f->modifier != HIST_LOG2 && f->modifier != HIST_BUCKETS))
		return v;
	return f->modifier == HIST_LOG2 ? log2_of(v) : v / f->buckets * f->buckets;
}

static void copy_string(const struct hist_field *f, const uint8_t *record, char *to)
{
	uint32_t n, i;
	const char *from = bytes_of(f, record, &n);

	if (n > HIST_MAX_STRING)
		n = HIST_MAX_STRING;
	for (i = 0; i < n && from[i]; i++)
		to[i] = from[i];
}

/* Copy a stack: its addresses, at most HIST_MAX_STACK. */
static void copy_stack(const struct hist_field *f, const uint8_t *record, uint64_t *to)
{
	const char *from;
	uint64_t nr;
	uint32_t n;

	if (f->from == HIST_STACK) {
		stack_save(to, HIST_MAX_STACK);
		return;
	}
	from = bytes_of(f, record, &n);
	nr = n / 8;
	memcpy(to, from, (nr < HIST_MAX_STACK ? nr : HIST_MAX_STACK) * 8);
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

static void give_back(struct hist_map *m, uint32_t row)
{
	uint32_t i;

	for (i = 0; i < HIST_SPARES; i++)
		if (!load_relaxed(&m->spares[i]) && compare_and_store(&m->spares[i], 0, row + 1))
			return;
}

/*
 * Give memory to all rows up to @n, and some more. Another thread may do the same at the same time.
 */
static int back_rows(struct hist_map *m, uint32_t n)
{
	uint32_t more = HIST_GROW_BYTES / m->row_bytes + 1, from = load_relaxed(&m->backed), to;
	int err;

	to = m->nr_rows - n < more ? m->nr_rows : n + more;
	/* another thread has done more meanwhile */
	if (from >= to)
		return 0;
	err = hist_room_back(m->rows + (uint64_t)from * m->row_bytes,
			     (uint64_t)(to - from) * m->row_bytes);
	if (!err)
		store_greater(&m->backed, to);
	return err;
}

/* Take a free row; UINT32_MAX: there is none. */
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
	n = load_relaxed(&m->next);
	do {
		if (n >= m->nr_rows || (unlikely(n >= load_relaxed(&m->backed)) && back_rows(m, n)))
			return UINT32_MAX;
	} while (!__atomic_compare_exchange_n(&m->next, &n, n + 1, 1, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return n;
}

static void fill(const struct hist *h, struct hist_row *row, const uint64_t *key, uint64_t hash)
{
	row->hash = hash;
	memcpy(hist_row_key(h, row), key, h->key_bytes);
	if (h->execname)
		memcpy((uint8_t *)row + h->comm_at, ring_thread_comm(),
		       strlen(ring_thread_comm()) + 1);
}

struct hist_row *hist_row_find(struct hist *h, const uint64_t *key)
{
	const struct hist_map *m = load_acquire(&h->map);
	uint32_t words = h->key_bytes / 8, mask, tries, i, n;
	uint64_t hash = hash_of(key, words);

	if (!m)
		return NULL;
	mask = m->nr_slots - 1;
	for (tries = 0, i = (uint32_t)(hash >> 32) & mask; tries < m->nr_slots;
	     tries++, i = (i + 1) & mask) {
		struct hist_row *row;

		n = load_acquire(&m->slots[i]);
		if (!n)
			return NULL;
		row = hist_row(m, n - 1);
		if (row->hash == hash && same_key(hist_row_key(h, row), key, words))
			return row;
	}
	return NULL;
}

/* The row of a key, a new one if needed; NULL: there is no room. */
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
		if (row->hash == hash && same_key(hist_row_key(h, row), key, words)) {
			if (own != UINT32_MAX)
				give_back(m, own);
			return row;
		}
	}
	if (own != UINT32_MAX)
		give_back(m, own);
	return NULL;
}

struct hist_row *hist_row_get(const struct hist *h, struct hist_map *m, const uint64_t *key)
{
	struct hist_row *row = find_row(h, m, key);

	fetch_add(likely(row != NULL) ? &m->shown->hits : &m->shown->drops, 1);
	return row;
}

void hist_copy_bytes(const struct hist_field *f, const void *record, uint64_t *to)
{
	if (f->modifier == HIST_EXECNAME)
		memcpy(to, ring_thread_comm(), strlen(ring_thread_comm()));
	else if (hist_is_stack(f))
		copy_stack(f, record, to);
	else
		copy_string(f, record, (char *)to);
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
	if (unlikely(!m))
		return;
	for (i = 0; i < h->key_bytes / 8; i++)
		key[i] = 0;
	for (i = 0; i < h->nr_keys; i++) {
		const struct hist_field *f = &h->keys[i];

		if (hist_is_string(f))
			copy_string(f, record, (char *)&key[f->key_at / 8]);
		else if (unlikely(hist_is_stack(f)))
			copy_stack(f, record, &key[f->key_at / 8]);
		else
			key[f->key_at / 8] = hist_value(h, f, record, NULL);
	}
	if (h->more) {
		hist_fire_more(h, m, key, record);
		return;
	}
	row = hist_row_get(h, m, key);
	if (unlikely(!row))
		return;
	for (i = 0; i < h->nr_vals; i++)
		fetch_add(&row->vals[i], hist_value(h, &h->vals[i], record, NULL));
}
