/* SPDX-License-Identifier: MIT */
/*
 * See dat_codes.h. One look-up in a table gives the bits of a code, their number and the next
 * state. A usual exit has three sequences, whose codes have shares that are powers of two: their
 * bits have fixed numbers, so one look-up for each kind of code gives the bits of all three; only
 * the first one's offset is looked up by itself.
 *
 * Costs 4 ns an event. Tests: tests/unit/test_dat_pack.c.
 */
#include "tools/export/dat_codes.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TABLE_BITS 8u
#define MAX_CODES      53u
#define MAX_DESCRIBED  64u

/*
 * One of the three tables, for the encoder: RFC 8878, 4.1. A state is the number of a row of the
 * decoder's table.
 */
struct fse {
	unsigned int table_bits;
	unsigned char described[MAX_DESCRIBED]; /* the table's form in a block */
	unsigned int described_bytes;
	uint8_t start[MAX_CODES]; /* a state of each code */
	/* by code << table_bits | the state of the next sequence: STEP_*. See fse_step(). */
	uint32_t steps[MAX_CODES << MAX_TABLE_BITS];
};

/* A step: the new state in 8 bits, the bits to write in 8, their number. */
#define STEP_BITS_SHIFT 8
#define STEP_NR_SHIFT	16

/*
 * A usual exit: the bits of its second and third sequence at their places, the bits of its first
 * sequence, and the state that comes next. The codes of such an exit have shares that are powers of
 * two, so each has a fixed number of bits.
 */
#define EXIT_FRONT_MASK	 0x3ffffu
#define EXIT_FIRST_SHIFT 18 /* of the match two bits, of the literals one */
#define EXIT_FIRST_MASK	 7u
#define EXIT_FIRST_BITS	 3u
#define EXIT_MORE_SHIFT	 21 /* matches: times of three literals */
#define EXIT_STATE_SHIFT 24

struct dat_codes {
	struct fse literals, matches, offsets;
	/* of usual exits, by form << table_bits | state */
	uint32_t exit_literals[NR_FORMS << LITERALS_TABLE_BITS];
	uint32_t exit_matches[NR_FORMS << MATCH_TABLE_BITS];
	uint32_t exit_offsets[NR_FORMS << OFFSET_TABLE_BITS];
};

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

/* Write all whole bytes: at most 7 bits are left. Stores 8 bytes at b->at. */
static inline void bits_flush(struct bits *b)
{
	memcpy(b->at, &b->word, 8);
	b->at += b->nr >> 3;
	b->word >>= b->nr & ~7u;
	b->nr &= 7u;
}

/* Store the shares in the form of a block, 4.1.1. No share is 0. */
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

/* Make the decoder's table, 4.1.1, and the encoder's steps, which lead from each state back. */
static void make_table(struct fse *f, unsigned int table_bits, const uint8_t *norm, unsigned int nr)
{
	const unsigned int size = 1u << table_bits, step = (size >> 1) + (size >> 3) + 3;
	uint8_t of_state[1u << MAX_TABLE_BITS], rows[1u << MAX_TABLE_BITS];
	unsigned int at = 0, first[MAX_CODES], seen[MAX_CODES] = {0}, sum = 0;

	f->table_bits = table_bits;
	describe(f, norm, nr);
	for (unsigned int i = 0; i < nr; i++) {
		first[i] = sum;
		sum += norm[i];
		for (unsigned int k = 0; k < norm[i]; k++) {
			of_state[at] = (uint8_t)i;
			at = (at + step) & (size - 1);
		}
	}
	for (unsigned int s = 0; s < size; s++) {
		unsigned int i = of_state[s];

		rows[first[i] + seen[i]++] = (uint8_t)s;
	}
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int count = norm[i];

		f->start[i] = rows[first[i]];
		for (unsigned int s = size; s < 2 * size; s++) {
			unsigned int bits = 0;

			while (s >> bits >= 2 * count)
				bits++;
			f->steps[i << table_bits | (s - size)] =
				rows[first[i] + (s >> bits) - count] |
				(s & ((1u << bits) - 1)) << STEP_BITS_SHIFT | bits << STEP_NR_SHIFT;
		}
	}
}

/* Step from *@state to a state of @code. Return: the bits; *@nr: their number. */
static uint32_t step_of(const struct fse *f, uint32_t *state, unsigned int code, unsigned int *nr)
{
	uint32_t step = f->steps[code << f->table_bits | *state];

	*state = step & 0xff;
	*nr = step >> STEP_NR_SHIFT;
	return step >> STEP_BITS_SHIFT & 0xff;
}

/* The last sequence is written first: its offset, its match, its literals. */
static void make_exit_tables(struct dat_codes *k)
{
	for (uint32_t i = 0; i < NR_FORMS << MATCH_TABLE_BITS; i++) {
		const unsigned int form = i >> MATCH_TABLE_BITS, low[2] = {form >> 1, form & 1};
		uint32_t offset = i % (1u << OFFSET_TABLE_BITS), offsets = 0;
		uint32_t match = i % (1u << MATCH_TABLE_BITS), matches = 0;
		uint32_t literal = i % (1u << LITERALS_TABLE_BITS), literals = 0;
		unsigned int at = 0, nr;

		for (unsigned int time = 0; time < 2; time++) {
			offsets |= step_of(&k->offsets, &offset, 0, &nr) << at;
			at += nr;
			matches |=
				step_of(&k->matches, &match, (time ? 6 : 10) - 3 - low[time], &nr)
				<< at;
			at += nr;
			literals |= step_of(&k->literals, &literal, 2 + low[time], &nr) << at;
			at += nr;
		}
		matches |= step_of(&k->matches, &match, 18 - 3, &nr) << EXIT_FIRST_SHIFT;
		literals |= step_of(&k->literals, &literal, 2, &nr) << (EXIT_FIRST_SHIFT + 2);
		matches |= (low[0] + low[1]) << EXIT_MORE_SHIFT;
		k->exit_matches[i] = matches | match << EXIT_STATE_SHIFT;
		k->exit_literals[form << LITERALS_TABLE_BITS | i % (1u << LITERALS_TABLE_BITS)] =
			literals | literal << EXIT_STATE_SHIFT;
		k->exit_offsets[form << OFFSET_TABLE_BITS | i % (1u << OFFSET_TABLE_BITS)] =
			offsets | offset << EXIT_STATE_SHIFT;
	}
}

static void make_tables(struct dat_codes *k)
{
	uint8_t norm[MAX_CODES];

	/*
	 * shares of a table, which sum up to its size; 36 codes: most matches have two literals in
	 * front
	 */
	for (unsigned int i = 0; i < 36; i++)
		norm[i] = 1;
	norm[2] = 64;
	norm[3] = 16;
	norm[4] = 8;
	norm[5] = norm[6] = 4;
	norm[7] = 2;
	make_table(&k->literals, LITERALS_TABLE_BITS, norm, 36);
	/* 53 codes of lengths from 3 on: an entry has 22; an exit 18, 6 and 10, or 5 and 9 */
	for (unsigned int i = 0; i < 53; i++)
		norm[i] = 1;
	norm[22 - 3] = norm[18 - 3] = 64;
	norm[6 - 3] = norm[10 - 3] = 32;
	norm[5 - 3] = norm[9 - 3] = 8;
	norm[17 - 3] = 2;
	make_table(&k->matches, MATCH_TABLE_BITS, norm, 53);
	/* 18 codes: the same distance as before, or a power of two */
	for (unsigned int i = 0; i < 18; i++)
		norm[i] = i < 5 ? 1 : 2;
	norm[0] = 32;
	norm[10] = norm[11] = norm[12] = 3;
	norm[17] = 1;
	make_table(&k->offsets, OFFSET_TABLE_BITS, norm, 18);
	make_exit_tables(k);
}

struct dat_codes *dat_codes_new(void)
{
	struct dat_codes *k = calloc(1, sizeof(*k));

	if (k)
		make_tables(k);
	return k;
}

void dat_codes_free(struct dat_codes *k)
{
	free(k);
}

static inline void put_low_bits(struct bits *b, uint32_t v, unsigned int nr)
{
	bits_add(b, v & ((1u << nr) - 1), nr);
}

/* Write the bits that lead from a state of @code to *@state, and make it *@state. */
static inline void fse_step(struct bits *b, const struct fse *f, uint32_t *state, uint32_t code)
{
	uint32_t step = f->steps[code | *state];

	bits_add(b, step >> STEP_BITS_SHIFT & 0xff, step >> STEP_NR_SHIFT);
	*state = step & 0xff;
}

/* The states of the three codes of a sequence. */
struct states {
	uint32_t literals, matches, offsets;
};

/* Step to a usual exit: over its three sequences. */
static inline void exit_step(struct bits *b, const struct dat_codes *k, struct states *s,
			     uint64_t word)
{
	uint32_t literals = k->exit_literals[LITERALS_OF(word) | s->literals];
	uint32_t matches = k->exit_matches[(MATCH_OF(word) & 0x7fff) | s->matches];
	uint32_t offsets = k->exit_offsets[LITERALS_OF(word) >> 1 | s->offsets];
	uint32_t step = k->offsets.steps[OFFSET_OF(word) | offsets >> EXIT_STATE_SHIFT];
	uint32_t both = literals | matches, nr = 10 + 4 * (matches >> EXIT_MORE_SHIFT & 3);
	uint64_t bits = (both | offsets) & EXIT_FRONT_MASK;

	bits |= (uint64_t)(step >> STEP_BITS_SHIFT & 0xff) << nr;
	nr += step >> STEP_NR_SHIFT;
	bits |= (uint64_t)(both >> EXIT_FIRST_SHIFT & EXIT_FIRST_MASK) << nr;
	bits_add(b, bits, nr + EXIT_FIRST_BITS);
	s->literals = literals >> EXIT_STATE_SHIFT;
	s->matches = matches >> EXIT_STATE_SHIFT;
	s->offsets = step & 0xff;
}

static inline void step(struct bits *b, const struct dat_codes *k, struct states *s, uint64_t word)
{
	fse_step(b, &k->offsets, &s->offsets, OFFSET_OF(word));
	fse_step(b, &k->matches, &s->matches, MATCH_OF(word));
	fse_step(b, &k->literals, &s->literals, LITERALS_OF(word));
}

/* Begin with the last sequence of @word. */
static struct states first_states(struct bits *b, const struct dat_codes *k, uint64_t word)
{
	uint64_t form = word >> (SEQ_LITERALS_SHIFT + LITERALS_TABLE_BITS) & 3;
	uint64_t last = word & SEQ_EXIT ? sequence(0, 2 + (form >> 1), 7 - (form >> 1)) : word;
	struct states s = {
		.literals = k->literals.start[LITERALS_OF(last) >> LITERALS_TABLE_BITS],
		.matches = k->matches.start[MATCH_OF(last) >> MATCH_TABLE_BITS],
		.offsets = k->offsets.start[OFFSET_OF(last) >> OFFSET_TABLE_BITS],
	};

	if (word & SEQ_EXIT) {
		step(b, k, &s, sequence(0, 2 + (form & 1), 3 - (form & 1)));
		step(b, k, &s, sequence(word & 0x7fffffff, 2, 18 - MIN_MATCH));
	}
	return s;
}

/* The sequences, from the last one to the first: 3.1.1.3.2.1. Return: the end. */
static unsigned char *code_sequences(const struct dat_codes *k, const uint64_t *first,
				     const uint64_t *seq, unsigned char *to)
{
	struct bits b = {.at = to};
	uint64_t word = *--seq;
	struct states s = first_states(&b, k, word);

	for (;;) {
		if (word & SEQ_LONG) {
			bits_flush(&b);
			--seq;
			bits_add(&b, (uint32_t)*seq, (unsigned int)(*seq >> MORE_NR_SHIFT));
			bits_flush(&b);
		}
		bits_add(&b, word & SEQ_OFFSET_MASK, OFFSET_OF(word) >> OFFSET_TABLE_BITS);
		bits_flush(&b);
		if (seq == first)
			break;
		word = *--seq;
		if (word & SEQ_EXIT)
			exit_step(&b, k, &s, word);
		else
			step(&b, k, &s, word);
	}
	put_low_bits(&b, s.matches, MATCH_TABLE_BITS);
	put_low_bits(&b, s.offsets, OFFSET_TABLE_BITS);
	put_low_bits(&b, s.literals, LITERALS_TABLE_BITS);
	bits_add(&b, 1, 1);
	bits_flush(&b);
	return b.at + (b.nr != 0);
}

static unsigned char *put_table(unsigned char *to, const struct fse *f)
{
	memcpy(to, f->described, f->described_bytes);
	return to + f->described_bytes;
}

unsigned char *dat_codes_put(const struct dat_codes *k, const uint64_t *first, const uint64_t *end,
			     unsigned char *to)
{
	to = put_table(to, &k->literals);
	to = put_table(to, &k->offsets);
	to = put_table(to, &k->matches);
	return code_sequences(k, first, end, to);
}
