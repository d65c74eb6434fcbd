/* SPDX-License-Identifier: MIT */
/*
 * The sequences of a block of zstd (RFC 8878), as dat_pack.c finds them, and their codes. The
 * tables of the codes are constant, for calls.
 */
#ifndef VESTIGE_TOOLS_DAT_CODES_H
#define VESTIGE_TOOLS_DAT_CODES_H

#include <stdint.h>

#define MIN_MATCH	    3u /* bytes */
#define LITERALS_TABLE_BITS 7u
#define MATCH_TABLE_BITS    8u
#define OFFSET_TABLE_BITS   6u

/*
 * A sequence in one word: the bits that follow the offset's code, then the three codes, each
 * shifted by its table_bits. If another code is followed by bits, they are in the word before.
 */
#define SEQ_OFFSET_MASK	   0xfffffu
#define SEQ_OFFSET_SHIFT   20
#define SEQ_OFFSETS	   0x7ffu
#define SEQ_LONG	   (1u << 31)
#define SEQ_LITERALS_SHIFT 32
#define SEQ_MATCH_SHIFT	   48
#define OFFSET_OF(word)	   ((uint32_t)(word) >> SEQ_OFFSET_SHIFT & SEQ_OFFSETS)
#define LITERALS_OF(word)  ((uint32_t)(uint16_t)((word) >> SEQ_LITERALS_SHIFT))
#define MATCH_OF(word)	   ((uint32_t)((word) >> SEQ_MATCH_SHIFT))
/* The word before a sequence with SEQ_LONG: the bits, then their number. */
#define MORE_NR_SHIFT 32

/*
 * The three sequences of a usual exit in one word: two literals in front and in the head, two or
 * three in each of its times. In place of codes it has the form, shifted as they are.
 */
#define SEQ_EXIT (UINT64_C(1) << 63)
#define NR_FORMS 4u

static inline unsigned int log2_of(uint64_t v)
{
	return 63u - (unsigned int)__builtin_clzll(v);
}

/* The offset's part of a sequence's word. @value: 1: the same offset again; else offset + 3. */
static inline uint64_t offset_of(uint32_t value)
{
	uint32_t code = log2_of(value);

	return (value ^ 1u << code) | code << (SEQ_OFFSET_SHIFT + OFFSET_TABLE_BITS);
}

/* A sequence's word. @offset: of offset_of(). @literals, @match: codes. */
static inline uint64_t sequence(uint64_t offset, uint64_t literals, uint64_t match)
{
	return offset | literals << (SEQ_LITERALS_SHIFT + LITERALS_TABLE_BITS) |
	       match << (SEQ_MATCH_SHIFT + MATCH_TABLE_BITS);
}

/*
 * The word of a usual exit. @form: bit 0, 1: its call's and its return's time has three literals.
 */
static inline uint64_t exit_sequences(uint64_t offset, uint64_t form)
{
	return SEQ_EXIT | sequence(offset, form, form);
}

struct dat_codes;

/* Return: the tables, to be freed with dat_codes_free(), or NULL if memory is short. */
struct dat_codes *dat_codes_new(void);
void dat_codes_free(struct dat_codes *k);

/*
 * dat_codes_put() - the tables, then the sequences, as they stand at a block's end.
 * @first, @end: words of sequences, at least one. @to: room for DAT_CODES_TABLES bytes and 8 for
 * each sequence. Return: the end of what was written; the 8 bytes behind it may have changed.
 */
unsigned char *dat_codes_put(const struct dat_codes *k, const uint64_t *first, const uint64_t *end,
			     unsigned char *to);
#define DAT_CODES_TABLES 192u

#endif
