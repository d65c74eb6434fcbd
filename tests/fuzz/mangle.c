/* SPDX-License-Identifier: MIT */
/* Mutations that know the positions of fields: see fuzz.h. */
#include "fuzz.h"

#include <string.h>

#include "abi/area.h"
#include "abi/page.h"
#include "abi/record.h"

uint64_t mangle_random(struct mangle *m, uint64_t below)
{
	uint64_t z = m->seed += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return below ? z % below : z;
}

uint64_t mangle_value(struct mangle *m)
{
	static const uint64_t edges[] = {
		0,	 1,	     7,		 8,	     16,	 63,	     64,     255,
		4080,	 4088,	     4095,	 4096,	     4097,	 0x7fff,     0x8000, 0xffff,
		0x10000, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff, 0x100000000};

	switch (mangle_random(m, 6)) {
	case 0:
		return mangle_random(m, 0);
	case 1:
		return mangle_random(m, 16);
	case 2:
		return m->n + mangle_random(m, 17) - 8;
	case 3:
		return UINT64_MAX - mangle_random(m, 16);
	case 4:
		return UINT64_C(1) << mangle_random(m, 64);
	default:
		return edges[mangle_random(m, sizeof(edges) / sizeof(edges[0]))];
	}
}

uint64_t mangle_get(const struct mangle *m, size_t at, unsigned int width)
{
	uint64_t v = 0;

	if (at <= m->n && width <= m->n - at)
		memcpy(&v, m->p + at, width);
	return v;
}

void mangle_set(struct mangle *m, size_t at, unsigned int width, uint64_t value)
{
	if (at <= m->n && width <= m->n - at)
		memcpy(m->p + at, &value, width);
}

void mangle_field(struct mangle *m, size_t at, unsigned int width)
{
	uint64_t old = mangle_get(m, at, width);
	uint64_t v = mangle_random(m, 3) ? mangle_value(m) : old + mangle_random(m, 33) - 16;

	mangle_set(m, at, width, v);
}

void mangle_grow(struct mangle *m, size_t at, unsigned int width)
{
	uint64_t v = mangle_get(m, at, width);

	switch (mangle_random(m, 5)) {
	case 0:
		v += 1 + mangle_random(m, 16);
		break;
	case 1:
		v *= 2 + mangle_random(m, 15);
		break;
	case 2:
		v += UINT64_C(1) << mangle_random(m, 8 * width);
		break;
	case 3:
		v |= v << mangle_random(m, 8 * width);
		break;
	default:
		v = UINT64_MAX - mangle_random(m, 16);
	}
	mangle_set(m, at, width, v);
}

void mangle_repeat(struct mangle *m, size_t at, size_t len)
{
	uint64_t times = UINT64_C(1) << mangle_random(m, 13);
	size_t room = m->max - m->n, all;
	uint8_t *copy;

	if (!len || at > m->n || len > m->n - at || room < len)
		return;
	times = times < room / len ? times : room / len;
	all = times * len;
	copy = malloc(all);
	if (!copy)
		return;
	for (size_t i = 0; i < all; i++)
		copy[i] = m->p[at + i % len];
	mangle_insert(m, at, copy, all);
	free(copy);
}

void mangle_cut(struct mangle *m, size_t at, size_t len)
{
	if (at > m->n || len > m->n - at)
		return;
	memmove(m->p + at, m->p + at + len, m->n - at - len);
	m->n -= len;
}

void mangle_insert(struct mangle *m, size_t at, const void *from, size_t len)
{
	if (at > m->n || len > m->max - m->n)
		return;
	memmove(m->p + at + len, m->p + at, m->n - at);
	memcpy(m->p + at, from, len);
	m->n += len;
}

void mangle_any(struct mangle *m)
{
	static const unsigned int widths[] = {1, 2, 4, 8};
	size_t at = mangle_random(m, m->n + 1), len = mangle_random(m, 33);
	uint8_t some[32];

	switch (mangle_random(m, 7)) {
	case 5:
		mangle_grow(m, at & ~(size_t)3, widths[mangle_random(m, 4)]);
		break;
	case 6:
		mangle_repeat(m, at, len + 1);
		break;
	case 0:
		if (at < m->n)
			m->p[at] ^= (uint8_t)(1 << mangle_random(m, 8));
		break;
	case 1:
	case 2:
		mangle_field(m, at & ~(size_t)3, widths[mangle_random(m, 4)]);
		break;
	case 3:
		mangle_cut(m, at, mangle_random(m, 8) ? len : m->n - at);
		break;
	default:
		for (size_t i = 0; i < sizeof(some); i++)
			some[i] = (uint8_t)mangle_random(m, 0);
		mangle_insert(m, at, some, len < sizeof(some) ? len : sizeof(some));
	}
}

void mangle_page(struct mangle *m, size_t at)
{
	static const struct {
		uint8_t at, width;
	} fields[] = {{0, 8},  {8, 8},	{16, 4}, {20, 4}, {24, 4},
		      {28, 4}, {32, 8}, {40, 8}, {48, 8}, {56, 8}};
	size_t word = at + PAGE_HEAD_BYTES + 8 * mangle_random(m, PAGE_DATA_BYTES / 8);
	unsigned int i = (unsigned int)mangle_random(m, 10);

	switch (mangle_random(m, 3)) {
	case 0:
		mangle_field(m, at + fields[i].at, fields[i].width);
		break;
	case 1: /* a head word; near the page's end as often as anywhere */
		if (!mangle_random(m, 3))
			word = at + PAGE_BYTES - 8 * (1 + mangle_random(m, 4));
		mangle_set(m, word, 8,
			   mangle_random(m, 16) << RECORD_KIND_SHIFT |
				   (mangle_value(m) & RECORD_ID_MAX) << RECORD_ID_SHIFT |
				   (uint32_t)mangle_value(m));
		break;
	default:
		mangle_field(m, word, 8);
	}
}

void mangle_area(struct mangle *m, size_t at, size_t n)
{
	static const uint16_t heads[] = {8,  10, 12, 16, 20, 24, 32, 40,
					 44, 48, 72, 76, 80, 88, 92, 96};
	unsigned int t = (unsigned int)mangle_random(m, AREA_NR_TABLES);
	size_t table = at + (t < AREA_MAX_TABLES ? offsetof(struct area_header, tables[t])
						 : offsetof(struct area_header,
							    more_tables[t - AREA_MAX_TABLES]));
	uint64_t rows = mangle_get(m, table, 8), stride = mangle_get(m, table + 8, 4);
	uint64_t count = mangle_get(m, table + 16, 4);
	uint64_t pages = mangle_get(m, at + offsetof(struct area_header, pages_offset), 8);

	switch (mangle_random(m, 7)) {
	case 6: /* a table's count or place, or the pages', is more than it was */
		mangle_grow(m, mangle_random(m, 2) ? table + 16 : table,
			    mangle_random(m, 2) ? 4 : 8);
		break;
	case 0:
		mangle_field(m, at + heads[mangle_random(m, sizeof(heads) / 2)], 4);
		break;
	case 1:
		mangle_field(m, table, 8);
		break;
	case 2:
		mangle_field(m, table + 8 + 4 * mangle_random(m, 3), 4);
		break;
	case 3:
	case 4: /* a field of a row */
		if (count && stride && rows < n)
			mangle_field(m,
				     at + rows + mangle_random(m, count) * stride +
					     4 * mangle_random(m, stride / 4 + 1),
				     mangle_random(m, 2) ? 4 : 8);
		break;
	default:
		if (pages && pages < n)
			mangle_page(m,
				    at + pages +
					    PAGE_BYTES *
						    mangle_random(m, (n - pages) / PAGE_BYTES + 1));
	}
}
