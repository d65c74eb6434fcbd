/* SPDX-License-Identifier: MIT */
/*
 * See dat_pack.h. An event is compared, field by field, with the last event of the same function,
 * kind and depth. Two entries usually differ in the two low bytes of the head (the time since the
 * event before). Two exits also differ in the low bytes of their two times. So an entry is one
 * sequence of zstd and an exit three. Their lengths are nearly always the same, so the tables of
 * their codes are constant (dat_codes.h). Literals are stored without a code, since most are low
 * bytes of times.
 *
 * The bytes of each match have been compared, so every frame is right, whatever the sub-buffers
 * hold. Costs 14 to 17 ns a record. Tests: tests/unit/test_dat_pack.c.
 */
#include "tools/export/dat_pack.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/dat/dat_format.h"
#include "tools/export/dat_codes.h"
#include "tools/export/dat_events.h"

#define MAX_WORDS     (DAT_PACK_MAX / 4u) /* a word for each 4 bytes at most */
#define KEY_BITS      13u
#define FUNCTION_BITS 11u

/* Places of the fields of an event, its head of four bytes included. */
#define ENTRY_BYTES (4u + DAT_COMPACT_ENTRY_BYTES)
#define EXIT_BYTES  (4u + DAT_COMPACT_EXIT_BYTES)
#define IP_AT	    12u
#define CALLTIME_AT 20u
#define RETTIME_AT  28u

struct dat_packer {
	struct dat_codes *codes;
	uint32_t by_key[1u << KEY_BITS];	   /* function, kind, depth: where + 1 */
	uint32_t by_function[1u << FUNCTION_BITS]; /* function, kind */
	uint32_t by_kind[2];
	unsigned char *lit; /* of the block */
	uint64_t *seq;
};

struct dat_packer *dat_packer_new(void)
{
	struct dat_packer *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	/* literals are copied by eight bytes, sequences stored by three */
	k->lit = malloc(DAT_PACK_MAX + 24);
	k->seq = malloc((MAX_WORDS + 2) * sizeof(*k->seq));
	k->codes = dat_codes_new();
	if (!k->lit || !k->seq || !k->codes) {
		dat_packer_free(k);
		return NULL;
	}
	return k;
}

void dat_packer_free(struct dat_packer *k)
{
	if (!k)
		return;
	dat_codes_free(k->codes);
	free(k->lit);
	free(k->seq);
	free(k);
}

static inline uint64_t u64_at(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static inline uint32_t u32_at(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

/* The state of the search for a block's sequences. */
struct block {
	const unsigned char *src;
	const unsigned char *done; /* all bytes before it are in a sequence */
	unsigned char *lit;
	uint64_t *seq;
	uint32_t offset;   /* of the last match */
	uint32_t nr_long;  /* words before a sequence with SEQ_LONG */
	uint32_t nr_exits; /* words of three sequences */
};

/* The code of a number of literals, 3.1.1.3.2.1.1. *@more: gets the number of bits that follow. */
static unsigned int literals_code(uint32_t nr, unsigned int *more)
{
	static const uint8_t codes[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
					  13, 14, 15, 16, 16, 17, 17, 18, 18, 19, 19, 20, 20,
					  20, 20, 21, 21, 21, 21, 22, 22, 22, 22, 22, 22, 22,
					  22, 23, 23, 23, 23, 23, 23, 23, 23, 24, 24, 24, 24,
					  24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24};
	static const uint8_t bits[25] = {[16] = 1, 1, 1, 1, 2, 2, 3, 3, 4};
	unsigned int code;

	if (nr >= 64) {
		*more = log2_of(nr);
		return *more + 19;
	}
	code = codes[nr];
	*more = bits[code];
	return code;
}

/* The same for the length of a match, less 3. */
static unsigned int match_code(uint32_t base, unsigned int *more)
{
	static const uint8_t codes[128 - 32] = {
		32, 32, 33, 33, 34, 34, 35, 35, 36, 36, 36, 36, 37, 37, 37, 37, 38, 38, 38, 38,
		38, 38, 38, 38, 39, 39, 39, 39, 39, 39, 39, 39, 40, 40, 40, 40, 40, 40, 40, 40,
		40, 40, 40, 40, 40, 40, 40, 40, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41,
		41, 41, 41, 41, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
		42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42};
	static const uint8_t bits[43 - 32] = {1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5};
	unsigned int code;

	*more = 0;
	if (base < 32)
		return base;
	if (base >= 128) {
		*more = log2_of(base);
		return *more + 36;
	}
	code = codes[base - 32];
	*more = bits[code - 32];
	return code;
}

static inline void put_literals(struct block *b, const unsigned char *from, uint32_t nr)
{
	/* a match of four bytes follows */
	if (nr <= 4)
		memcpy(b->lit, from, 4);
	else
		memcpy(b->lit, from, nr);
	b->lit += nr;
}

/* All from b->done to @p are literals; then a match of @bytes at @offset before. */
static inline void put_match(struct block *b, const unsigned char *p, uint32_t bytes,
			     uint32_t offset)
{
	uint32_t nr = (uint32_t)(p - b->done), base = bytes - MIN_MATCH;
	unsigned int literals_more, match_more;
	/* without literals, value 1 means another offset */
	uint64_t seq = offset_of(nr && offset == b->offset ? 1 : offset + 3), more;

	put_literals(b, b->done, nr);
	seq |= sequence(0, literals_code(nr, &literals_more), match_code(base, &match_more));
	if (literals_more | match_more) {
		more = (nr & ((1u << literals_more) - 1)) | (base & ((1u << match_more) - 1))
								    << literals_more;
		*b->seq++ = more | (uint64_t)(literals_more + match_more) << MORE_NR_SHIFT;
		b->nr_long++;
		seq |= SEQ_LONG;
	}
	*b->seq++ = seq;
	b->offset = offset;
	b->done = p + bytes;
}

/* How many bytes are the same from @p and @q on, up to @end of @p. */
static inline uint32_t same_bytes(const unsigned char *p, const unsigned char *q,
				  const unsigned char *end)
{
	const unsigned char *from = p;
	uint64_t differ;

	for (; end - p >= 8; p += 8, q += 8) {
		differ = u64_at(p) ^ u64_at(q);
		if (differ)
			return (uint32_t)(p - from) + (uint32_t)__builtin_ctzll(differ) / 8;
	}
	while (p < end && *p == *q) {
		p++;
		q++;
	}
	return (uint32_t)(p - from);
}

/* Put a match for each row of 4 or more equal bytes at @p and @q, up to @end of @p. */
static void match_parts(struct block *b, const unsigned char *p, const unsigned char *q,
			const unsigned char *end)
{
	const uint32_t offset = (uint32_t)(p - q);

	while (p < end) {
		const unsigned char *from = p;

		p += same_bytes(p, p - offset, end);
		if (p - from >= 4)
			put_match(b, from, (uint32_t)(p - from), offset);
		while (p < end && *p != *(p - offset))
			p++;
	}
}

/* The number of a time's literals: bytes up to the highest one of @differ that is not 0, >= 2. */
static inline uint32_t low_bytes(uint64_t differ)
{
	return (71u - (uint32_t)__builtin_clzll(differ | 0x100)) / 8;
}

/*
 * An event of @bytes, a constant, at @p with the one at @q. Return: false: other fields differ than
 * the times, or more of their bytes.
 */
static inline __attribute__((always_inline)) bool
match_event(struct block *b, const unsigned char *p, const unsigned char *q, uint32_t bytes)
{
	uint64_t differ = (u64_at(p + 4) ^ u64_at(q + 4)) | (u64_at(p + IP_AT) ^ u64_at(q + IP_AT));
	uint32_t offset = (uint32_t)(p - q), head = low_bytes(u32_at(p) ^ u32_at(q));
	uint32_t before = (uint32_t)(p - b->done) + head, match = bytes - head;
	unsigned char *lit = b->lit;
	uint64_t *seq = b->seq;

	differ |= u32_at(p + bytes - 4) ^ u32_at(q + bytes - 4);
	if (differ || before > 8)
		return false;
	/* a store of bytes might change *b for the compiler, so copies are used between them */
	memcpy(lit, b->done, 8);
	lit += before;
	if (bytes == EXIT_BYTES) {
		uint64_t call = u64_at(p + CALLTIME_AT), ret = u64_at(p + RETTIME_AT);
		uint64_t call_differ = call ^ u64_at(q + CALLTIME_AT);
		uint64_t ret_differ = ret ^ u64_at(q + RETTIME_AT);
		uint32_t call_low = low_bytes(call_differ), ret_low = low_bytes(ret_differ);

		if ((call_differ | ret_differ) >> 40)
			return false;
		memcpy(lit, &call, 8);
		lit += call_low;
		memcpy(lit, &ret, 8);
		lit += ret_low;
		if (before == 2 && head == 2 && call_low <= 3 && ret_low <= 3) {
			*seq++ = exit_sequences(offset_of(offset == b->offset ? 1 : offset + 3),
						(call_low - 2) | (ret_low - 2) << 1);
			b->nr_exits++;
			goto done;
		}
		match = CALLTIME_AT - head;
		seq[1] = sequence(0, call_low, 8 - MIN_MATCH - call_low);
		seq[2] = sequence(0, ret_low, bytes - RETTIME_AT - MIN_MATCH - ret_low);
	}
	seq[0] = sequence(offset_of(offset == b->offset ? 1 : offset + 3), before,
			  match - MIN_MATCH);
	seq += bytes == EXIT_BYTES ? 3 : 1;
done:
	b->lit = lit;
	b->seq = seq;
	b->offset = offset;
	b->done = p + bytes;
	return true;
}

/* No call of the same function and depth is near: one of the function, or any. */
static __attribute__((noinline)) void find_farther(struct dat_packer *k, struct block *b,
						   const unsigned char *p, uint32_t bytes,
						   uint32_t hash)
{
	uint32_t *function = &k->by_function[hash >> (32 - FUNCTION_BITS)];
	uint32_t *kind = &k->by_kind[bytes == ENTRY_BYTES];
	uint32_t found = *function ?: *kind;

	*function = *kind = (uint32_t)(p - b->src) + 1;
	if (found)
		match_parts(b, p, b->src + found - 1, p + bytes);
}

/* An event of @bytes, of the compact form by its size. */
static inline __attribute__((always_inline)) void find_event(struct dat_packer *k, struct block *b,
							     const unsigned char *p, uint32_t bytes)
{
	uint32_t last = u32_at(p + bytes - 4), hash = u32_at(p + IP_AT) * 0x9e3779b1u + bytes;
	uint32_t *key = &k->by_key[((hash ^ last) * 0x85ebca6bu) >> (32 - KEY_BITS)];
	uint32_t found = *key;

	*key = (uint32_t)(p - b->src) + 1;
	if (!found || !match_event(b, p, b->src + found - 1, bytes))
		find_farther(k, b, p, bytes, hash);
}

#define SUM_1 0x9e3779b185ebca87u
#define SUM_2 0xc2b2ae3d27d4eb4fu
#define SUM_3 0x165667b19e3779f9u
#define SUM_4 0x85ebca77c2b2ae63u

static inline uint64_t turned(uint64_t v, unsigned int bits)
{
	return v << bits | v >> (64 - bits);
}

static inline uint64_t sum_round(uint64_t sum, uint64_t v)
{
	return turned(sum + v * SUM_2, 31) * SUM_1;
}

/* XXH64 with seed 0 (xxhash's specification) of a multiple of 32 bytes, while it is made. */
struct sum {
	uint64_t a, b, c, d;
	const unsigned char *at; /* all bytes before it are in */
};

static inline __attribute__((always_inline)) void sum_stripe(struct sum *s)
{
	s->a = sum_round(s->a, u64_at(s->at));
	s->b = sum_round(s->b, u64_at(s->at + 8));
	s->c = sum_round(s->c, u64_at(s->at + 16));
	s->d = sum_round(s->d, u64_at(s->at + 24));
	s->at += 32;
}

static uint64_t sum_end(const struct sum *s, size_t bytes)
{
	uint64_t sum = turned(s->a, 1) + turned(s->b, 7) + turned(s->c, 12) + turned(s->d, 18);

	sum = (sum ^ sum_round(0, s->a)) * SUM_1 + SUM_4;
	sum = (sum ^ sum_round(0, s->b)) * SUM_1 + SUM_4;
	sum = (sum ^ sum_round(0, s->c)) * SUM_1 + SUM_4;
	sum = (sum ^ sum_round(0, s->d)) * SUM_1 + SUM_4;
	sum += bytes;
	sum = (sum ^ sum >> 33) * SUM_2;
	sum = (sum ^ sum >> 29) * SUM_3;
	return sum ^ sum >> 32;
}

/*
 * The checksum is made meanwhile: beside the search its multiplications cost a third less than by
 * themselves.
 */
static void find_page(struct dat_packer *k, struct block *b, struct sum *sum,
		      const unsigned char *page)
{
	const unsigned char *p = page + SUBBUF_HEAD_BYTES, *end = page + SUBBUF_BYTES, *data_end;
	uint64_t commit = u64_at(page + 8) & SUBBUF_COMMIT_MASK;
	struct sum s = *sum;

	data_end = commit < (uint64_t)(end - p) ? p + commit : end;
	while (data_end - p >= 4) {
		uint32_t type = u32_at(p) & ((1u << EVENT_TYPE_BITS) - 1), bytes = 4 + 4 * type;

		if (s.at < end)
			sum_stripe(&s);
		if (bytes == EXIT_BYTES && data_end - p >= EXIT_BYTES)
			find_event(k, b, p, EXIT_BYTES);
		else if (bytes == ENTRY_BYTES && data_end - p >= ENTRY_BYTES)
			find_event(k, b, p, ENTRY_BYTES);
		else if (type == EVENT_TIME_EXTEND || type == EVENT_TIME_STAMP)
			bytes = 8;
		else if (!type || type > EVENT_DATA_MAX || bytes > data_end - p)
			break;
		p += bytes;
	}
	while (s.at < end)
		sum_stripe(&s);
	*sum = s;
	/* the rest of the sub-buffer is zero */
	if (end - data_end >= 16)
		match_parts(b, data_end + 1, data_end, end);
}

/* Before the block: magic, descriptor, content size, the block's head. Behind it: the checksum. */
#define FRAME_BYTES  (4u + 1u + 4u + 3u)
#define FRAME_MAGIC  0xfd2fb528u
#define FRAME_KNOWN  (2u << 6 | 1u << 5 | 1u << 2)
#define BLOCK_PACKED 2u
#define MODES_TABLES 0xa8u /* each code has a table in the block */

static unsigned char *put_u32(unsigned char *to, uint32_t v, unsigned int bytes)
{
	memcpy(to, &v, bytes);
	return to + bytes;
}

size_t dat_pack(struct dat_packer *k, void *dst, size_t room, const void *src, size_t bytes)
{
	struct block b = {.src = src, .done = src, .lit = k->lit, .seq = k->seq};
	const unsigned char *end = b.src + bytes;
	struct sum sum = {SUM_1 + SUM_2, SUM_2, 0, -SUM_1, src};
	unsigned char *to = dst, *block;
	size_t nr_lit, nr_seq;

	if (!bytes || bytes > DAT_PACK_MAX || bytes % SUBBUF_BYTES)
		return 0;
	memset(k->by_key, 0, sizeof(k->by_key));
	memset(k->by_function, 0, sizeof(k->by_function));
	memset(k->by_kind, 0, sizeof(k->by_kind));
	for (size_t at = 0; at < bytes; at += SUBBUF_BYTES)
		find_page(k, &b, &sum, b.src + at);
	memcpy(b.lit, b.done, (size_t)(end - b.done));
	b.lit += end - b.done;
	nr_lit = (size_t)(b.lit - k->lit);
	nr_seq = (size_t)(b.seq - k->seq) - b.nr_long + 2 * (size_t)b.nr_exits;
	/* a sequence takes 8 bytes at most; if the chunk does not become smaller, zstd stores it */
	if (!nr_seq || nr_lit + 8 * nr_seq + 512 > room || nr_lit + nr_seq / 2 > bytes)
		return 0;
	to = put_u32(to, FRAME_MAGIC, 4);
	*to++ = FRAME_KNOWN;
	to = put_u32(to, (uint32_t)bytes, 4);
	block = to;
	to += 3;
	to = put_u32(to, 3u << 2 | (uint32_t)nr_lit << 4, 3);
	memcpy(to, k->lit, nr_lit);
	to += nr_lit;
	if (nr_seq < 0x7f00) {
		*to++ = (unsigned char)(0x80 + (nr_seq >> 8));
		*to++ = (unsigned char)nr_seq;
	} else {
		*to++ = 0xff;
		to = put_u32(to, (uint32_t)nr_seq - 0x7f00, 2);
	}
	*to++ = MODES_TABLES;
	to = dat_codes_put(k->codes, k->seq, b.seq, to);
	if ((size_t)(to - (unsigned char *)dst) + 4 >= bytes)
		return 0;
	put_u32(block, 1u | BLOCK_PACKED << 1 | (uint32_t)(to - block - 3) << 3, 3);
	to = put_u32(to, (uint32_t)sum_end(&sum, bytes), 4);
	return (size_t)(to - (unsigned char *)dst);
}
