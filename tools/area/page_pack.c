/* SPDX-License-Identifier: MIT */
/*
 * See page_pack.h. A packer has two hash tables, of the distinct upper halves of head words and of
 * the distinct words behind them. A table's numbers are in order of appearance, so the array of
 * values is written as it is. page_pack_begin() empties only the slots that the last chunk used.
 * Upper halves of calls are found without hashing, by the table of page_calls.h.
 *
 * A chunk may come from a damaged file: unpacking checks each length and index against the chunk,
 * and returns an error. One thread a packer; unpacking has no state. Tests:
 * tests/unit/reader/test_page_pack.c (random pages, damaged chunks), test_native.c.
 */
#include "tools/area/page_pack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"
#include "tools/area/page_calls.h"
#include "tools/base/hash.h"

#define PAGE_WORDS 512u
#define HEAD_WORDS (PAGE_HEAD_BYTES / 8)
#define SLOTS	   32768u /* twice PACK_WORDS: a power of two */

/* A hash table of distinct values, each with its number, from 0 in order of appearance. */
struct table {
	uint64_t value[SLOTS];
	uint16_t number[SLOTS]; /* + 1; 0: empty */
};

struct page_packer {
	struct pack_head head;
	struct pack_page pages[PACK_PAGES];
	struct table upper_table, word_table;
	uint16_t used_uppers[PACK_WORDS], used_words[PACK_WORDS]; /* slots, to be emptied again */
	/* by the upper half of a word of struct page_calls: a number + 1; 0: not known yet */
	uint16_t call_upper[1u << PAGE_CALLS_STEP_BITS];
	uint64_t words[PACK_WORDS];
	uint32_t uppers[PACK_WORDS];
	uint32_t wide[PACK_WORDS];
	uint16_t stamps[PACK_WORDS];
	uint16_t upper_of[PACK_WORDS];
	uint16_t word_of[PACK_WORDS];
};

struct page_packer *page_packer_new(void)
{
	return calloc(1, sizeof(struct page_packer));
}

void page_packer_free(struct page_packer *k)
{
	free(k);
}

/* Of an upper half: the upper half of its word in struct page_calls, if it has one. */
static uint16_t call_key(uint32_t upper)
{
	uint32_t kind = (upper >> (RECORD_KIND_SHIFT - 32)) - RECORD_ENTRY;

	return (uint16_t)(kind << PAGE_CALLS_ID_BITS | (upper & ((1u << PAGE_CALLS_ID_BITS) - 1)));
}

void page_pack_begin(struct page_packer *k)
{
	for (uint32_t i = 0; i < k->head.nr_uppers; i++) {
		k->upper_table.number[k->used_uppers[i]] = 0;
		k->call_upper[call_key(k->uppers[i])] = 0;
	}
	for (uint32_t i = 0; i < k->head.nr_words; i++)
		k->word_table.number[k->used_words[i]] = 0;
	memset(&k->head, 0, sizeof(k->head));
}

static uint32_t slot_of(const struct table *t, uint64_t value)
{
	uint32_t i = (uint32_t)(hash_u64(value) >> 49);

	while (t->number[i] && t->value[i] != value)
		i = (i + 1) & (SLOTS - 1);
	return i;
}

static uint16_t number_upper(struct page_packer *k, uint32_t upper)
{
	uint32_t i = slot_of(&k->upper_table, upper);

	if (!k->upper_table.number[i]) {
		k->used_uppers[k->head.nr_uppers] = (uint16_t)i;
		k->uppers[k->head.nr_uppers++] = upper;
		k->upper_table.value[i] = upper;
		k->upper_table.number[i] = (uint16_t)k->head.nr_uppers;
	}
	return (uint16_t)(k->upper_table.number[i] - 1);
}

static void add_word(struct page_packer *k, uint64_t word)
{
	uint32_t i = slot_of(&k->word_table, word);

	if (!k->word_table.number[i]) {
		k->used_words[k->head.nr_words] = (uint16_t)i;
		k->words[k->head.nr_words++] = word;
		k->word_table.value[i] = word;
		k->word_table.number[i] = (uint16_t)k->head.nr_words;
	}
	k->word_of[k->head.behind++] = (uint16_t)(k->word_table.number[i] - 1);
}

static unsigned int words_of(const struct page_head *head)
{
	return head->commit < PAGE_BYTES ? (unsigned int)(head->commit / 8) : PAGE_WORDS;
}

void page_pack_add(struct page_packer *k, const void *page)
{
	struct pack_page *p = &k->pages[k->head.nr_pages++];
	const uint64_t *words = page;
	unsigned int i = HEAD_WORDS, end;
	uint32_t stamp = 0;

	*p = (struct pack_page){0};
	memcpy(&p->head, page, sizeof(p->head));
	end = words_of(&p->head);
	while (i < end) {
		uint64_t word = words[i];
		uint32_t n = record_word_bytes(word) / 8, step = 0;

		if (!n || n > end - i)
			break;
		k->upper_of[k->head.heads] = number_upper(k, (uint32_t)(word >> 32));
		if (word) {
			step = record_word_stamp(word) - stamp;
			stamp += step;
		}
		if (step >= PACK_WIDE)
			k->wide[k->head.nr_wide++] = step;
		k->stamps[k->head.heads++] = step < PACK_WIDE ? (uint16_t)step : PACK_WIDE;
		p->heads++;
		for (uint32_t j = 1; j < n; j++)
			add_word(k, words[i + j]);
		i += n;
	}
	p->rest = (uint16_t)(i < end ? end - i : 0);
	for (; i < end; i++)
		add_word(k, words[i]);
}

void page_pack_add_calls(struct page_packer *k, const struct page_calls *c)
{
	struct pack_page *p = &k->pages[k->head.nr_pages++];
	uint16_t *stamps = k->stamps + k->head.heads, *upper_of = k->upper_of + k->head.heads;

	*p = (struct pack_page){.head = c->head, .heads = (uint16_t)c->nr};
	for (unsigned int i = 0; i < c->nr; i++) {
		uint32_t word = page_calls_word(c, i), step = page_calls_step(word);
		uint16_t *number = &k->call_upper[word >> PAGE_CALLS_STEP_BITS];

		if (!*number)
			*number = (uint16_t)(number_upper(k, page_calls_upper(word)) + 1);
		if (step == PACK_WIDE)
			k->wide[k->head.nr_wide++] = step;
		stamps[i] = (uint16_t)step;
		upper_of[i] = (uint16_t)(*number - 1);
	}
	k->head.heads += c->nr;
}

static unsigned char *put(unsigned char *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return to + bytes;
}

static unsigned char *put_numbers(unsigned char *to, const uint16_t *numbers, uint32_t nr,
				  uint32_t distinct)
{
	if (distinct > 256)
		return put(to, numbers, nr * sizeof(*numbers));
	for (uint32_t i = 0; i < nr; i++)
		to[i] = (unsigned char)numbers[i];
	return to + nr;
}

size_t page_pack_end(struct page_packer *k, void *out)
{
	const struct pack_head *h = &k->head;
	unsigned char *to = out;

	to = put(to, h, sizeof(*h));
	to = put(to, k->pages, h->nr_pages * sizeof(*k->pages));
	to = put(to, k->words, h->nr_words * sizeof(*k->words));
	to = put(to, k->uppers, h->nr_uppers * sizeof(*k->uppers));
	to = put(to, k->wide, h->nr_wide * sizeof(*k->wide));
	to = put(to, k->stamps, h->heads * sizeof(*k->stamps));
	/* the wider first, so that it is aligned */
	if (h->nr_uppers > 256 || h->nr_words <= 256) {
		to = put_numbers(to, k->upper_of, h->heads, h->nr_uppers);
		to = put_numbers(to, k->word_of, h->behind, h->nr_words);
	} else {
		to = put_numbers(to, k->word_of, h->behind, h->nr_words);
		to = put_numbers(to, k->upper_of, h->heads, h->nr_uppers);
	}
	return (size_t)(to - (unsigned char *)out);
}

/* An array of numbers in a table, of one or two bytes each. */
struct numbers {
	const uint8_t *narrow;
	const uint16_t *wide;
};

static inline uint32_t number_at(const struct numbers *n, uint32_t i)
{
	return n->narrow ? n->narrow[i] : n->wide[i];
}

/* A chunk that is being unpacked. */
struct unpacking {
	struct pack_head head;
	const struct pack_page *pages;
	const uint64_t *words;
	const uint32_t *uppers;
	const uint32_t *wide;
	const uint16_t *stamps;
	struct numbers upper_of, word_of;
	uint32_t head_at, behind_at, wide_at;
};

static struct numbers take_numbers(const unsigned char **at, uint32_t nr, uint32_t distinct)
{
	struct numbers n = {0};

	if (distinct <= 256) {
		n.narrow = *at;
		*at += nr;
	} else {
		n.wide = (const void *)*at;
		*at += (size_t)nr * 2;
	}
	return n;
}

/* Find the parts of a chunk. Each count is bounded, and the sum must be the size of the chunk. */
static int find_parts(struct unpacking *u, const void *in, size_t bytes, unsigned int nr_pages)
{
	struct pack_head *h = &u->head;
	const unsigned char *at = in;
	size_t need;

	if (bytes < sizeof(*h))
		return -EINVAL;
	memcpy(h, in, sizeof(*h));
	if (h->nr_pages != nr_pages || nr_pages > PACK_PAGES || h->heads > PACK_WORDS ||
	    h->behind > PACK_WORDS || h->nr_uppers > h->heads || h->nr_words > h->behind ||
	    h->nr_wide > h->heads)
		return -EINVAL;
	need = sizeof(*h) + nr_pages * sizeof(*u->pages) + h->nr_words * 8u + h->nr_uppers * 4u +
	       h->nr_wide * 4u + h->heads * (h->nr_uppers > 256 ? 4u : 3u) +
	       h->behind * (h->nr_words > 256 ? 2u : 1u);
	if (need != bytes)
		return -EINVAL;
	at += sizeof(*h);
	u->pages = (const void *)at;
	at += nr_pages * sizeof(*u->pages);
	u->words = (const void *)at;
	at += h->nr_words * 8u;
	u->uppers = (const void *)at;
	at += h->nr_uppers * 4u;
	u->wide = (const void *)at;
	at += h->nr_wide * 4u;
	u->stamps = (const void *)at;
	at += h->heads * 2u;
	if (h->nr_uppers > 256 || h->nr_words <= 256) {
		u->upper_of = take_numbers(&at, h->heads, h->nr_uppers);
		u->word_of = take_numbers(&at, h->behind, h->nr_words);
	} else {
		u->word_of = take_numbers(&at, h->behind, h->nr_words);
		u->upper_of = take_numbers(&at, h->heads, h->nr_uppers);
	}
	return 0;
}

static int copy_behind(struct unpacking *u, uint64_t *to, uint32_t nr)
{
	if (nr > u->head.behind - u->behind_at)
		return -EINVAL;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t number = number_at(&u->word_of, u->behind_at++);

		if (number >= u->head.nr_words)
			return -EINVAL;
		to[i] = u->words[number];
	}
	return 0;
}

/*
 * @behind: for each of the uppers, the words behind its head word; 255: the word itself has their
 * number.
 */
static int unpack_page(struct unpacking *u, const struct pack_page *p, uint64_t *page,
		       const uint8_t *behind)
{
	unsigned int at = HEAD_WORDS, end;
	uint32_t stamp = 0;

	memcpy(page, &p->head, sizeof(p->head));
	end = words_of(&p->head);
	if (p->heads > u->head.heads - u->head_at)
		return -EINVAL;
	for (unsigned int i = 0; i < p->heads; i++) {
		uint32_t number = number_at(&u->upper_of, u->head_at);
		uint32_t step = u->stamps[u->head_at++], n;

		if (number >= u->head.nr_uppers || at >= end)
			return -EINVAL;
		if (step == PACK_WIDE) {
			if (u->wide_at == u->head.nr_wide)
				return -EINVAL;
			step = u->wide[u->wide_at++];
		}
		stamp += step;
		page[at] = u->uppers[number] ? (uint64_t)u->uppers[number] << 32 | stamp : 0;
		n = behind[number];
		if (n == 255)
			n = record_word_bytes(page[at]) / 8 - 1;
		at++;
		if (!n)
			continue;
		if (n > end - at || copy_behind(u, page + at, n))
			return -EINVAL;
		at += n;
	}
	if (at > end)
		end = at; /* a head without records */
	if (p->rest != end - at || copy_behind(u, page + at, p->rest))
		return -EINVAL;
	memset(page + end, 0, (PAGE_WORDS - end) * sizeof(*page));
	return 0;
}

int page_unpack(const void *in, size_t bytes, unsigned int nr_pages, void *pages)
{
	struct unpacking u = {0};
	uint8_t *behind;
	int ret = find_parts(&u, in, bytes, nr_pages);

	if (ret)
		return ret;
	behind = malloc(u.head.nr_uppers + 1u);
	if (!behind)
		return -ENOMEM;
	for (uint32_t i = 0; i < u.head.nr_uppers; i++) {
		uint32_t n = record_word_bytes((uint64_t)u.uppers[i] << 32);

		if (!n)
			ret = -EINVAL;
		behind[i] = n / 8 > 255 ? 255 : (uint8_t)(n / 8 - 1);
	}
	for (unsigned int i = 0; i < nr_pages && !ret; i++)
		ret = unpack_page(&u, &u.pages[i], (uint64_t *)pages + (size_t)i * PAGE_WORDS,
				  behind);
	free(behind);
	return ret;
}
