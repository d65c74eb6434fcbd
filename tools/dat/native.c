/* SPDX-License-Identifier: MIT */
/*
 * Packs the tables of a native block, for its writer (native.h).
 * Tests: tests/unit/reader/test_native.c.
 */
#include "tools/dat/native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/area/pages_impl.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"

static char *put(char *to, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
	return to + bytes;
}

/* The first image of the process of image @member, + 1; @index: of those so far. 0: not known. */
static uint32_t process_of(const struct pages *p, struct hash_index *index, uint32_t member)
{
	const struct member *m = p->members[member];
	int64_t first;

	if (!m || !m->key)
		return 0;
	first = HASH_INDEX_FIND(index, m->key, i, p->members[i]->key == m->key);
	if (first >= 0)
		return (uint32_t)first + 1;
	/* without memory later images of the process could not be found, so it has none */
	return hash_index_add(index, m->key, member) ? 0 : member + 1;
}

static char *put_member(char *to, const struct member *m, uint32_t process)
{
	struct native_member row = {.process = process | (m && m->ended ? NATIVE_ENDED : 0)};

	if (m && m->functions) {
		row.nr_functions = m->nr_functions;
		row.nr_maps = (uint32_t)m->nr_maps;
		row.counter = m->counter;
	}
	return put(to, &row, sizeof(row));
}

/* The events of all members; @to NULL: how many there are. */
static char *put_events(char *to, const struct pages *p, uint32_t *nr)
{
	for (uint32_t i = 0; i < p->nr_members; i++) {
		const uint16_t *events = p->members[i] ? p->members[i]->events : NULL;

		for (uint32_t id = 0; events && id <= UINT16_MAX; id++) {
			struct native_event row = {i, (uint16_t)id, events[id]};

			if (!events[id])
				continue;
			++*nr;
			if (to)
				to = put(to, &row, sizeof(row));
		}
	}
	return to;
}

static char *put_pages(char *to, const struct pages *p)
{
	for (size_t i = 0; i < p->nr_refs; i++) {
		const struct page_ref *ref = &p->refs[i];
		struct native_page row = {
			.base = ref->base,
			.seq = ref->seq,
			.lost = ref->lost,
			.member = ref->member,
			.cpu = ref->cpu,
			.nr_records = ref->nr_records,
		};

		to = put(to, &row, sizeof(row));
	}
	return to;
}

static void count_rows(const struct pages *p, struct native_head *head)
{
	head->nr_cpus = p->reader.nr_cpus;
	head->nr_lines = (uint32_t)p->clock.nr_lines;
	head->nr_members = p->nr_members;
	head->nr_pages = p->nr_refs;
	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct member *m = p->members[i];

		if (!m || !m->functions)
			continue;
		head->nr_functions += m->nr_functions;
		head->nr_maps += m->nr_maps;
	}
}

int native_tables_pack(const struct pages *p, const struct native_chunk *chunks, size_t nr_chunks,
		       const struct native_known *known, void **out, size_t *bytes)
{
	struct native_head head = {.nr_chunks = nr_chunks,
				   .nr_bases = (uint32_t)known->nr_bases,
				   .flags = known->leaves_unknown ? NATIVE_LEAVES_UNKNOWN : 0};
	struct hash_index index = {0};
	uint32_t nr_events = 0;
	char *to;

	count_rows(p, &head);
	put_events(NULL, p, &head.nr_events);
	*bytes = sizeof(head) + head.nr_lines * sizeof(struct native_line) +
		 head.nr_members * sizeof(struct native_member) +
		 head.nr_functions * sizeof(uint64_t) + head.nr_maps * sizeof(struct native_map) +
		 head.nr_events * sizeof(struct native_event) +
		 known->nr_bases * sizeof(*known->bases) + nr_chunks * sizeof(*chunks) +
		 head.nr_pages * sizeof(struct native_page);
	to = *out = malloc(*bytes);
	if (!to)
		return fail(ENOMEM, "out of memory for %zu bytes of tables", *bytes);
	to = put(to, &head, sizeof(head));
	for (size_t i = 0; i < p->clock.nr_lines; i++) {
		const struct clock_line *l = &p->clock.lines[i];
		struct native_line row = {l->stamp, l->ns, l->end, l->mult, l->shift};

		to = put(to, &row, sizeof(row));
	}
	for (uint32_t i = 0; i < p->nr_members; i++)
		to = put_member(to, p->members[i], process_of(p, &index, i));
	hash_index_clear(&index);
	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct member *m = p->members[i];

		if (m && m->functions)
			to = put(to, m->functions, m->nr_functions * sizeof(uint64_t));
	}
	for (uint32_t i = 0; i < p->nr_members; i++) {
		const struct member *m = p->members[i];

		for (size_t k = 0; m && m->functions && k < m->nr_maps; k++) {
			const struct map *map = &m->maps[k];
			struct native_map row = {map->lo, map->hi, map->bias, map->base,
						 map->unload};

			to = put(to, &row, sizeof(row));
		}
	}
	to = put_events(to, p, &nr_events);
	to = put(to, known->bases, known->nr_bases * sizeof(*known->bases));
	to = put(to, chunks, nr_chunks * sizeof(*chunks));
	put_pages(to, p);
	return 0;
}
