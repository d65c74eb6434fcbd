/* SPDX-License-Identifier: MIT */
/* See spool_pack.h. */
#include "tools/area/spool_pack.h"

#include <errno.h>
#include <string.h>

#include "abi/record.h"
#include "tools/area/page_calls.h"

#define WORDS	  (PAGE_DATA_BYTES / 8)
#define LONG_MARK (3u << PAGE_CALLS_KIND_SHIFT)

/* The number of used words. Writers may push the commit of a full page past its end. */
static size_t words_of(const struct page_head *head)
{
	uint64_t end = head->commit < PAGE_BYTES ? head->commit : PAGE_BYTES;

	return end > PAGE_HEAD_BYTES ? (end - PAGE_HEAD_BYTES) / 8 : 0;
}

/* Return: bytes at @out; 0: the packed form is not smaller. */
static size_t pack_words(const uint64_t *words, size_t nr, unsigned char *out)
{
	unsigned char *to = out;
	uint32_t stamp = 0;

	for (size_t i = 0; i < nr; i++) {
		uint64_t word = words[i];
		uint32_t step = record_word_stamp(word) - stamp;
		uint32_t kind = (uint32_t)record_word_kind(word) - RECORD_ENTRY;
		uint32_t id = record_word_id(word);

		stamp = record_word_stamp(word);
		if (kind < 3 && !(id >> PAGE_CALLS_ID_BITS) && step <= PAGE_CALLS_MAX_STEP) {
			uint32_t packed =
				kind << PAGE_CALLS_KIND_SHIFT | id << PAGE_CALLS_STEP_BITS | step;

			memcpy(to, &packed, sizeof(packed));
			to += sizeof(packed);
			continue;
		}
		/* stop if the packed form, with the words still to come, cannot be smaller */
		if ((size_t)(to - out) + 12 + (nr - i - 1) * 4 >= nr * 8)
			return 0;
		memcpy(to, &(uint32_t){LONG_MARK}, 4);
		memcpy(to + 4, &word, sizeof(word));
		to += 12;
	}
	return (size_t)(to - out);
}

size_t spool_pack(const void *page, uint32_t member, uint64_t publish_seq, void *out)
{
	struct spool_packed *p = out;
	unsigned char *data = (unsigned char *)(p + 1);
	const uint64_t *words = (const uint64_t *)page + PAGE_HEAD_BYTES / 8;
	size_t nr, bytes, padded;

	*p = (struct spool_packed){.member = member, .publish_seq = publish_seq};
	memcpy(&p->head, page, sizeof(p->head));
	nr = words_of(&p->head);
	bytes = pack_words(words, nr, data);
	p->packed = bytes != 0;
	if (!bytes) {
		bytes = nr * 8;
		memcpy(data, words, bytes);
	}
	p->bytes = (uint16_t)bytes;
	padded = (bytes + 7) & ~(size_t)7;
	memset(data + bytes, 0, padded - bytes);
	return sizeof(*p) + padded;
}

/*
 * Is every word packed in 4 bytes? Then each is a record of 8 bytes. *@last: gets the last stamp.
 * Adds two words at a time; the sum of a page's steps does not overflow.
 */
static int all_short(const unsigned char *data, size_t nr, uint32_t *last)
{
	const uint64_t steps = UINT64_C(0x0000ffff0000ffff);
	uint64_t marks = 0, sums = 0, both;
	size_t i = 0;

	for (; i + 2 <= nr; i += 2) {
		memcpy(&both, data + i * 4, sizeof(both));
		marks |= both & both << 1;
		sums += both & steps;
	}
	if (i < nr) {
		uint32_t one;

		memcpy(&one, data + i * 4, sizeof(one));
		marks |= one & one << 1;
		sums += page_calls_step(one);
	}
	*last = (uint32_t)sums + (uint32_t)(sums >> 32);
	return !(marks & UINT64_C(0x8000000080000000));
}

long spool_look(const void *packed, size_t bytes, struct page_calls *out, uint32_t *last)
{
	const unsigned char *data = (const unsigned char *)packed + sizeof(struct spool_packed);
	struct spool_packed p;
	size_t nr, padded;

	if (bytes < sizeof(p))
		return 0;
	memcpy(&p, packed, sizeof(p));
	nr = words_of(&p.head);
	padded = (p.bytes + 7u) & ~7u;
	if (!p.packed || p.bytes != nr * 4 || padded > bytes - sizeof(p) ||
	    !all_short(data, nr, last))
		return 0;
	out->head = p.head;
	out->nr = (unsigned int)nr;
	out->words = data;
	return (long)(sizeof(p) + padded);
}

static int unpack_words(const unsigned char *data, size_t bytes, uint64_t *words, size_t nr)
{
	uint32_t stamp = 0;
	size_t at = 0;

	for (size_t i = 0; i < nr; i++) {
		uint32_t packed;

		if (bytes - at < sizeof(packed))
			return -EINVAL;
		memcpy(&packed, data + at, sizeof(packed));
		at += sizeof(packed);
		if (packed >> PAGE_CALLS_KIND_SHIFT < 3) {
			stamp += page_calls_step(packed);
			words[i] = (uint64_t)page_calls_upper(packed) << 32 | stamp;
			continue;
		}
		if (packed != LONG_MARK || bytes - at < sizeof(*words))
			return -EINVAL;
		memcpy(&words[i], data + at, sizeof(*words));
		at += sizeof(*words);
		stamp = record_word_stamp(words[i]);
	}
	return at == bytes ? 0 : -EINVAL;
}

long spool_unpack(const void *packed, size_t bytes, void *page)
{
	const unsigned char *data = (const unsigned char *)packed + sizeof(struct spool_packed);
	uint64_t *words = (uint64_t *)page + PAGE_HEAD_BYTES / 8;
	struct spool_packed p;
	size_t nr, padded;

	if (bytes < sizeof(p))
		return -EINVAL;
	memcpy(&p, packed, sizeof(p));
	nr = words_of(&p.head);
	padded = (p.bytes + 7u) & ~7u;
	/* packed is never more than the words: no writer makes it, and no reader has the room for
	 * it */
	if (p.bytes > nr * 8 || padded > bytes - sizeof(p))
		return -EINVAL;
	memcpy(page, &p.head, sizeof(p.head));
	memset(words + nr, 0, (WORDS - nr) * 8);
	if (p.packed ? unpack_words(data, p.bytes, words, nr) : p.bytes != nr * 8)
		return -EINVAL;
	if (!p.packed)
		memcpy(words, data, nr * 8);
	return (long)(sizeof(p) + padded);
}
