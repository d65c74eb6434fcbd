/* SPDX-License-Identifier: MIT */
/*
 * The index of a recording (tools/view/index.h), with changed fields and leaves and a matching
 * hash. If it is read, each of its rows is drawn, whole and by pixels.
 */
#include "fuzz.h"

#include <string.h>

#include "tools/view/index.h"

#define BASE sizeof(struct fuzz_file)

static struct index_id id;
static volatile uint64_t sink;

static int look(void *arg, const struct span_block *block)
{
	const struct columns *c = arg;

	PROMISE(block->name < c->nr_names && block->count && block->start >= c->first &&
		block->end >= block->start && block->end <= c->last);
	sink += block->which + block->extra;
	return 0;
}

static void use(const char *path)
{
	struct columns *c = NULL;

	if (index_load(path, &id, NULL, &c))
		return;
	fuzz_file_records++;
	for (size_t i = 0; i < c->nr_tracks; i++) {
		const struct track *t = &c->tracks[i];

		sink += strlen(t->name) + (uint64_t)t->kind;
		for (uint32_t row = 0; row < t->nr_rows; row++) {
			uint64_t length = c->last - c->first;

			span_row_query(&t->rows[row], 0, UINT64_MAX, 0, look, c);
			span_row_query(&t->rows[row], c->first, c->last, length / 100 + 1, look, c);
			span_row_query(&t->rows[row], c->first + length / 3, c->last - length / 3,
				       length / 1000 + 1, look, c);
		}
	}
	for (size_t i = 0; i < c->nr_names; i++)
		sink += strlen(c->names[i].text);
	columns_free(c);
}

static void run(const uint8_t *data, size_t n)
{
	struct index_head head;
	uint8_t *copy = malloc(n + 1);

	PROMISE(copy);
	memcpy(copy, data, n);
	if (n >= BASE + sizeof(head)) {
		memcpy(&head, copy + BASE, sizeof(head));
		id = head.id;
		head.file_bytes = n - BASE;
		head.hash = index_hash(&head, copy + BASE + sizeof(head), n - BASE - sizeof(head));
		memcpy(copy + BASE, &head, sizeof(head));
	}
	fuzz_file_use(copy, n, use);
	free(copy);
}

static void mutate(struct mangle *m)
{
	static const unsigned int widths[] = {4, 8};
	unsigned int width = widths[mangle_random(m, 2)];
	size_t at;

	if (m->n < BASE + sizeof(struct index_head) + 8 || !mangle_random(m, 8)) {
		mangle_any(m);
		return;
	}
	at = BASE + mangle_random(m, mangle_random(m, 3) ? m->n - BASE : sizeof(struct index_head));
	at &= ~(size_t)3;
	switch (mangle_random(m, 6)) {
	case 0:
		mangle_change(m);
		mangle_set(m, offsetof(struct fuzz_file, reads), 2, 1); /* there is one read */
		break;
	case 1:
		mangle_repeat(m, at, 8 * (1 + mangle_random(m, 16)));
		break;
	case 2:
		mangle_cut(m, at, 8);
		break;
	default:
		mangle_field(m, at, width);
	}
}

const struct fuzz_target fuzz_index = {"index", run, mutate};
