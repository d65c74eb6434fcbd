/* SPDX-License-Identifier: MIT */
/*
 * See dat_pack.h. An event is compared with the last one of the same function, kind and depth, by
 * its fields: of an entry the two low bytes of its head (the time since the event before) differ as
 * a rule, of an exit also those of the two times in it. So an entry is one sequence of zstd and an
 * exit three, of lengths that are nearly always the same: the tables for their codes are constant.
 * The literals are stored as they are, since most are low bytes of times.
 *
 * Each match has been compared, so a frame is right whatever is in the sub-buffers. Costs 10
 * to 15 ns a record. Tests: tests/unit/test_dat_pack.c.
 */
#include "tools/export/dat_pack.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/dat/dat_format.h"
#include "tools/export/dat_events.h"

#define MIN_MATCH      3u
#define MAX_SEQUENCES  (DAT_PACK_MAX / 8u)
#define KEY_BITS       12u
#define FUNCTION_BITS  11u
#define MAX_TABLE_BITS 8u
#define MAX_CODES      53u
#define MAX_DESCRIBED  64u

/* Places of the fields of an event, its head of four bytes included. */
#define ENTRY_BYTES (4u + DAT_COMPACT_ENTRY_BYTES)
#define EXIT_BYTES  (4u + DAT_COMPACT_EXIT_BYTES)
#define CALL_TYPES  (1u << DAT_COMPACT_ENTRY_BYTES / 4 | 1u << DAT_COMPACT_EXIT_BYTES / 4)
#define IP_AT	    12u
#define CALLTIME_AT 20u
#define RETTIME_AT  28u

/* A code of one of the three tables, for the encoder: RFC 8878, 4.1. */
struct fse_code {
	uint32_t bits; /* (state + bits) >> 16 is how many go out */
	int32_t find;  /* added to what is left of the state: the number in `next` */
};

struct fse {
	unsigned int table_bits;
	struct fse_code code[MAX_CODES];
	uint16_t next[1u << MAX_TABLE_BITS];
	unsigned char described[MAX_DESCRIBED]; /* as the block has it */
	unsigned int described_bytes;
};

/* A sequence in one word: offset value, literals, length of the match. */
#define SEQ_LITERALS_SHIFT 20
#define SEQ_MATCH_SHIFT	   40
#define SEQ_MASK	   0xfffffu

struct dat_packer {
	struct fse literals, matches, offsets;
	uint32_t by_key[1u << KEY_BITS];	   /* function, kind, depth: where + 1 */
	uint32_t by_function[1u << FUNCTION_BITS]; /* function, kind */
	uint32_t by_kind[2];
	unsigned char *lit; /* of the block */
	uint64_t *seq;
};

static unsigned int log2_of(uint64_t v)
{
	return 63u - (unsigned int)__builtin_clzll(v);
}

struct bits {
	uint64_t word;
	unsigned int nr;
	unsigned char *at;
};

static inline void bits_add(struct bits *b, uint64_t v, unsigned int nr)
{
	b->word |= v << b->nr;
	b->nr += nr;
}

/* At most 7 are left; room for a whole word is needed. */
static inline void bits_flush(struct bits *b)
{
	memcpy(b->at, &b->word, 8);
	b->at += b->nr >> 3;
	b->word >>= b->nr & ~7u;
	b->nr &= 7u;
}

/* The shares as a block has them, 4.1.1; none is 0. */
static void describe(struct fse *f, const uint8_t *norm, unsigned int nr)
{
	struct bits b = {.at = f->described};
	unsigned int left = 1u << f->table_bits;

	bits_add(&b, f->table_bits - 5, 4);
	for (unsigned int i = 0; i < nr && left; i++) {
		unsigned int wide = log2_of(left + 1) + 1, v = norm[i] + 1u;
		unsigned int low = (1u << wide) - 1 - (left + 1);

		if (v < low)
			bits_add(&b, v, wide - 1);
		else
			bits_add(&b, v < 1u << (wide - 1) ? v : v + low, wide);
		left -= norm[i];
		if (b.nr >= 8)
			bits_flush(&b);
	}
	bits_flush(&b);
	f->described_bytes = (unsigned int)(b.at - f->described) + (b.nr != 0);
}

/* The decoder's table by 4.1.1, and the way back from each of its states. */
static void make_table(struct fse *f, unsigned int table_bits, const uint8_t *norm, unsigned int nr)
{
	const unsigned int size = 1u << table_bits, step = (size >> 1) + (size >> 3) + 3;
	uint8_t of_state[1u << MAX_TABLE_BITS];
	unsigned int at = 0, first[MAX_CODES], seen[MAX_CODES] = {0}, sum = 0;

	f->table_bits = table_bits;
	describe(f, norm, nr);
	for (unsigned int i = 0; i < nr; i++) {
		for (unsigned int k = 0; k < norm[i]; k++) {
			of_state[at] = (uint8_t)i;
			at = (at + step) & (size - 1);
		}
	}
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int count = norm[i];
		unsigned int most = table_bits - (count > 1 ? log2_of(count - 1) : 0);

		first[i] = sum;
		f->code[i].bits = (most << 16) - (count << most);
		f->code[i].find = (int32_t)sum - (int32_t)count;
		sum += count;
	}
	for (unsigned int s = 0; s < size; s++) {
		unsigned int i = of_state[s];

		f->next[first[i] + seen[i]++] = (uint16_t)(size + s);
	}
}

static void make_tables(struct dat_packer *k)
{
	uint8_t norm[MAX_CODES];

	/* in parts of a table, whose size they sum to; 36 codes: two literals in front of each match of most events */
	for (unsigned int i = 0; i < 36; i++)
		norm[i] = 1;
	norm[2] = 77;
	norm[3] = 16;
	norm[4] = 2;
	make_table(&k->literals, 7, norm, 36);
	/* 53 codes, of lengths from 3 on: an entry's 22; an exit's 18, 6 and 10, or 5 and 9 */
	for (unsigned int i = 0; i < 53; i++)
		norm[i] = 1;
	norm[22 - 3] = 48;
	norm[18 - 3] = 50;
	norm[6 - 3] = 44;
	norm[10 - 3] = 44;
	norm[5 - 3] = 12;
	norm[9 - 3] = 11;
	make_table(&k->matches, 8, norm, 53);
	/* 18 codes: the same distance as before, or a power of two */
	for (unsigned int i = 0; i < 18; i++)
		norm[i] = i < 5 ? 1 : 2;
	norm[0] = 33;
	norm[10] = 3;
	norm[11] = 3;
	norm[17] = 1;
	make_table(&k->offsets, 6, norm, 18);
}

struct dat_packer *dat_packer_new(void)
{
	struct dat_packer *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	/* literals are copied by eight bytes, sequences stored by three */
	k->lit = malloc(DAT_PACK_MAX + 24);
	k->seq = malloc((MAX_SEQUENCES + 2) * sizeof(*k->seq));
	if (!k->lit || !k->seq) {
		dat_packer_free(k);
		return NULL;
	}
	make_tables(k);
	return k;
}

void dat_packer_free(struct dat_packer *k)
{
	if (!k)
		return;
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

/* A block while its sequences are found. */
struct block {
	const unsigned char *src;
	const unsigned char *done; /* all before it is in a sequence */
	unsigned char *lit;
	uint64_t *seq;
	uint32_t offset; /* of the last match */
};

static inline void put_literals(struct block *b, const unsigned char *from, uint32_t nr)
{
	/* a match of four bytes follows */
	if (nr <= 4)
		memcpy(b->lit, from, 4);
	else
		memcpy(b->lit, from, nr);
	b->lit += nr;
}

/* A sequence of @nr literals and a match of @bytes. */
static inline uint64_t sequence(uint64_t value, uint32_t nr, uint32_t bytes)
{
	return value | (uint64_t)nr << SEQ_LITERALS_SHIFT | (uint64_t)bytes << SEQ_MATCH_SHIFT;
}

/* All from b->done to @p are literals; then a match of @bytes at @offset before. */
static inline void put_match(struct block *b, const unsigned char *p, uint32_t bytes,
			     uint32_t offset)
{
	uint32_t nr = (uint32_t)(p - b->done);
	/* a repeated offset means another one where there is no literal */
	uint64_t value = nr && offset == b->offset ? 1 : offset + 3;

	put_literals(b, b->done, nr);
	*b->seq++ = sequence(value, nr, bytes);
	b->offset = offset;
	b->done = p + bytes;
}

/* What is the same at @p and @q, up to @end, in matches of four bytes at least. */
static void match_parts(struct block *b, const unsigned char *p, const unsigned char *q,
			const unsigned char *end)
{
	const uint32_t offset = (uint32_t)(p - q);

	while (p < end) {
		const unsigned char *from = p;

		while (p < end && *p == *(p - offset))
			p++;
		if (p - from >= 4)
			put_match(b, from, (uint32_t)(p - from), offset);
		while (p < end && *p != *(p - offset))
			p++;
	}
}

/* How many low bytes of @differ are not 0, at least 2: the literals of a time. */
static inline uint32_t low_bytes(uint64_t differ)
{
	return (71u - (uint32_t)__builtin_clzll(differ | 0x100)) / 8;
}

/*
 * An event of @bytes at @p with the one at @q, whose function and kind it shares. What is done of an
 * exit's times is done of an entry as well, and left: which of the two comes cannot be foreseen.
 */
static inline bool match_event(struct block *b, const unsigned char *p, const unsigned char *q,
			       uint32_t bytes)
{
	const uint64_t is_exit = bytes == EXIT_BYTES, only = -is_exit;
	uint64_t differ = (u64_at(p + 4) ^ u64_at(q + 4)) | (u64_at(p + IP_AT) ^ u64_at(q + IP_AT));
	uint64_t call = u64_at(p + CALLTIME_AT) ^ u64_at(q + CALLTIME_AT);
	uint64_t ret = u64_at(p + RETTIME_AT) ^ u64_at(q + RETTIME_AT);
	uint32_t last = u32_at(p + bytes - 4) == u32_at(q + bytes - 4) ? bytes : bytes - 4;
	uint32_t head = low_bytes(u32_at(p) ^ u32_at(q)), call_low = low_bytes(call);
	uint32_t offset = (uint32_t)(p - q), ret_low = low_bytes(ret);
	uint32_t before = (uint32_t)(p - b->done) + head;

	if (differ || ((call | ret) & only) >> 40 || before > 8)
		return false;
	memcpy(b->lit, b->done, 8);
	b->lit += before;
	memcpy(b->lit, p + CALLTIME_AT, 8);
	b->lit += call_low & only;
	memcpy(b->lit, p + RETTIME_AT, 8);
	b->lit += ret_low & only;
	b->seq[0] = sequence(offset == b->offset ? 1 : offset + 3, before,
			     (is_exit ? CALLTIME_AT : last) - head);
	b->seq[1] = sequence(1, call_low, 8 - call_low);
	b->seq[2] = sequence(1, ret_low, last - RETTIME_AT - ret_low);
	b->seq += 1 + 2 * is_exit;
	b->offset = offset;
	b->done = p + last;
	return true;
}

/* An event of @bytes, of the compact form by its size. @end: of what may be read. */
static inline void find_event(struct dat_packer *k, struct block *b, const unsigned char *p,
			      uint32_t bytes, const unsigned char *end)
{
	uint32_t last = u32_at(p + bytes - 4), ip = u32_at(p + IP_AT) * 0x9e3779b1u + bytes;
	uint32_t *key = &k->by_key[((ip ^ last) * 0x85ebca6bu) >> (32 - KEY_BITS)];
	uint32_t *function = &k->by_function[ip >> (32 - FUNCTION_BITS)];
	uint32_t *kind = &k->by_kind[bytes == ENTRY_BYTES];
	uint32_t found = *key ?: *kind;
	const unsigned char *q = b->src + found - 1;

	if (found && u64_at(q + IP_AT) != u64_at(p + IP_AT) && *function)
		q = b->src + *function - 1;
	*key = *function = *kind = (uint32_t)(p - b->src) + 1;
	if (found && (end - p < (long)EXIT_BYTES || !match_event(b, p, q, bytes)))
		match_parts(b, p, q, p + bytes);
}

static void find_page(struct dat_packer *k, struct block *b, const unsigned char *page)
{
	const unsigned char *p = page + SUBBUF_HEAD_BYTES, *end = page + SUBBUF_BYTES, *data_end;
	uint64_t commit = u64_at(page + 8) & SUBBUF_COMMIT_MASK;

	data_end = commit < (uint64_t)(end - p) ? p + commit : end;
	while (data_end - p >= 4) {
		uint32_t type = u32_at(p) & ((1u << EVENT_TYPE_BITS) - 1), bytes = 4 + 4 * type;

		/* one test, as it cannot be foreseen which of the two it is */
		if (CALL_TYPES >> type & 1) {
			if (bytes > (uint64_t)(data_end - p))
				break;
			find_event(k, b, p, bytes, end);
		} else if (type == EVENT_TIME_EXTEND || type == EVENT_TIME_STAMP) {
			bytes = 8;
		} else if (!type || type > EVENT_DATA_MAX) {
			break;
		}
		p += bytes;
	}
	/* zeros to the end */
	if (end - data_end >= 16)
		match_parts(b, data_end + 1, data_end, end);
}

/* The code of a number of literals, 3.1.1.3.2.1.1, and how many bits of it follow. */
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

/* The same of a match's length, less 3. */
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

static inline void fse_put(struct bits *b, const struct fse *f, uint32_t *state, unsigned int code)
{
	const struct fse_code *c = &f->code[code];
	unsigned int nr = (*state + c->bits) >> 16;

	bits_add(b, *state & ((1u << nr) - 1), nr);
	*state = f->next[(int32_t)(*state >> nr) + c->find];
}

/* A state of @code: of the last sequence, which is the first one that is coded. */
static uint32_t fse_start(const struct fse *f, unsigned int code)
{
	unsigned int nr = (f->code[code].bits + (1u << 15)) >> 16;
	uint32_t value = (nr << 16) - f->code[code].bits;

	return f->next[(int32_t)(value >> nr) + f->code[code].find];
}

static inline void put_low_bits(struct bits *b, uint32_t v, unsigned int nr)
{
	bits_add(b, v & ((1u << nr) - 1), nr);
}

/* The sequences, from the last one to the first: 3.1.1.3.2.1. Return: the end. */
static unsigned char *code_sequences(const struct dat_packer *k, const uint64_t *seq, size_t nr,
				     unsigned char *to)
{
	struct bits b = {.at = to};
	uint32_t literals = 0, matches = 0, offsets = 0;

	for (size_t i = nr; i-- > 0;) {
		uint32_t value = (uint32_t)seq[i] & SEQ_MASK;
		uint32_t lit = (uint32_t)(seq[i] >> SEQ_LITERALS_SHIFT) & SEQ_MASK;
		uint32_t base = (uint32_t)(seq[i] >> SEQ_MATCH_SHIFT) - MIN_MATCH;
		unsigned int lit_more = 0, base_more = 0, offset_code = log2_of(value);
		unsigned int lit_code = lit < 16 ? lit : literals_code(lit, &lit_more);
		unsigned int base_code = base < 32 ? base : match_code(base, &base_more);

		if (i == nr - 1) {
			literals = fse_start(&k->literals, lit_code);
			matches = fse_start(&k->matches, base_code);
			offsets = fse_start(&k->offsets, offset_code);
		} else {
			fse_put(&b, &k->offsets, &offsets, offset_code);
			fse_put(&b, &k->matches, &matches, base_code);
			fse_put(&b, &k->literals, &literals, lit_code);
		}
		if (lit_more | base_more) {
			bits_flush(&b);
			put_low_bits(&b, lit, lit_more);
			put_low_bits(&b, base, base_more);
			bits_flush(&b);
		}
		put_low_bits(&b, value, offset_code);
		bits_flush(&b);
	}
	put_low_bits(&b, matches, k->matches.table_bits);
	put_low_bits(&b, offsets, k->offsets.table_bits);
	put_low_bits(&b, literals, k->literals.table_bits);
	bits_add(&b, 1, 1);
	bits_flush(&b);
	return b.at + (b.nr != 0);
}

/* XXH64 with seed 0, of a multiple of 32 bytes (xxhash's specification). */
static uint64_t checksum(const unsigned char *p, size_t bytes)
{
	const uint64_t p1 = 0x9e3779b185ebca87u, p2 = 0xc2b2ae3d27d4eb4fu, p3 = 0x165667b19e3779f9u,
		       p4 = 0x85ebca77c2b2ae63u;
	uint64_t v[4] = {p1 + p2, p2, 0, -p1}, sum;

	for (size_t at = 0; at < bytes; at += 32) {
		for (unsigned int i = 0; i < 4; i++) {
			v[i] += u64_at(p + at + 8 * i) * p2;
			v[i] = (v[i] << 31 | v[i] >> 33) * p1;
		}
	}
	sum = (v[0] << 1 | v[0] >> 63) + (v[1] << 7 | v[1] >> 57) + (v[2] << 12 | v[2] >> 52) +
	      (v[3] << 18 | v[3] >> 46);
	for (unsigned int i = 0; i < 4; i++) {
		v[i] *= p2;
		sum ^= (v[i] << 31 | v[i] >> 33) * p1;
		sum = sum * p1 + p4;
	}
	sum += bytes;
	sum = (sum ^ sum >> 33) * p2;
	sum = (sum ^ sum >> 29) * p3;
	return sum ^ sum >> 32;
}

/* Magic, what is known of the frame, the content's size, a block's head; then the checksum. */
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

static unsigned char *put_table(unsigned char *to, const struct fse *f)
{
	memcpy(to, f->described, f->described_bytes);
	return to + f->described_bytes;
}

size_t dat_pack(struct dat_packer *k, void *dst, size_t room, const void *src, size_t bytes)
{
	struct block b = {.src = src, .done = src, .lit = k->lit, .seq = k->seq};
	const unsigned char *end = b.src + bytes;
	unsigned char *to = dst, *block;
	size_t nr_lit, nr_seq;

	if (!bytes || bytes > DAT_PACK_MAX || bytes % SUBBUF_BYTES)
		return 0;
	memset(k->by_key, 0, sizeof(k->by_key));
	memset(k->by_function, 0, sizeof(k->by_function));
	memset(k->by_kind, 0, sizeof(k->by_kind));
	for (size_t at = 0; at < bytes; at += SUBBUF_BYTES)
		find_page(k, &b, b.src + at);
	memcpy(b.lit, b.done, (size_t)(end - b.done));
	b.lit += end - b.done;
	nr_lit = (size_t)(b.lit - k->lit);
	nr_seq = (size_t)(b.seq - k->seq);
	/* a sequence has 8 bytes at most; what does not pack is for zstd to store */
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
	to = put_table(to, &k->literals);
	to = put_table(to, &k->offsets);
	to = put_table(to, &k->matches);
	to = code_sequences(k, k->seq, nr_seq, to);
	if ((size_t)(to - (unsigned char *)dst) + 4 >= bytes)
		return 0;
	put_u32(block, 1u | BLOCK_PACKED << 1 | (uint32_t)(to - block - 3) << 3, 3);
	to = put_u32(to, (uint32_t)checksum(src, bytes), 4);
	return (size_t)(to - (unsigned char *)dst);
}
