/* SPDX-License-Identifier: MIT */
/*
 * Reads the entries of .eh_frame (Linux Standard Base, "Exception Frames"), in a file or in memory:
 * bytes, LEB128 numbers, pointers, a CIE. The tables are untrusted: no read goes beyond the given
 * bytes. The functions are inline because the engine walks stacks with them in signal handlers. No
 * state, any context. Tests: tests/fuzz/entries.c, tests/engine/tracers/sysprof.
 */
#ifndef VESTIGE_OBJECT_EH_READ_H
#define VESTIGE_OBJECT_EH_READ_H

#include <stdint.h>
#include <string.h>

/* A cursor. A read beyond @end gives 0 and sets @bad, and so does every read after it. */
struct eh_bytes {
	const uint8_t *at, *end;
	uint64_t address; /* address of @at in memory, for relative pointers */
	int bad;
};

static inline void eh_skip(struct eh_bytes *b, uint64_t n)
{
	if (b->bad || n > (uint64_t)(b->end - b->at)) {
		b->bad = 1;
		return;
	}
	b->at += n;
	b->address += n;
}

/* A number of @n bytes, at most 8. */
static inline uint64_t eh_get(struct eh_bytes *b, uint32_t n)
{
	const uint8_t *at = b->at;
	uint64_t v = 0;

	eh_skip(b, n);
	if (!b->bad)
		memcpy(&v, at, n);
	return v;
}

static inline uint64_t eh_get_leb(struct eh_bytes *b, int is_signed)
{
	uint64_t v = 0, byte;
	uint32_t shift = 0;

	do {
		byte = eh_get(b, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && byte & 0x40)
		v |= ~UINT64_C(0) << shift;
	return v;
}

/*
 * A pointer with a DW_EH_PE_* encoding: absolute or relative to itself. 0 stays 0. An encoding of
 * another kind sets bad.
 */
static inline uint64_t eh_get_pointer(struct eh_bytes *b, uint8_t encoding)
{
	uint64_t here = b->address, v;

	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		v = eh_get(b, 8);
		break;
	case 0x01:
		v = eh_get_leb(b, 0);
		break;
	case 0x02:
		v = eh_get(b, 2);
		break;
	case 0x03:
		v = eh_get(b, 4);
		break;
	case 0x0a:
		v = (uint64_t)(int64_t)(int16_t)eh_get(b, 2);
		break;
	case 0x0b:
		v = (uint64_t)(int64_t)(int32_t)eh_get(b, 4);
		break;
	default:
		b->bad = 1;
		return 0;
	}
	if ((encoding & 0x70) == 0x10 && v)
		v += here;
	else if (encoding & 0x70)
		b->bad = 1;
	return v;
}

/* A block of bytes; its length as LEB128 is before it. */
static inline struct eh_bytes eh_get_block(struct eh_bytes *b)
{
	uint64_t n = eh_get_leb(b, 0);
	struct eh_bytes block = *b;

	eh_skip(b, n);
	block.end = b->bad ? block.at : b->at;
	return block;
}

/*
 * The CIE or FDE at @b, without its length; @b moves behind it. Sets bad at the end of the table.
 */
static inline struct eh_bytes eh_get_entry(struct eh_bytes *b)
{
	uint64_t n = eh_get(b, 4);
	struct eh_bytes entry;

	b->bad |= !n || n == UINT32_MAX;
	entry = *b;
	eh_skip(b, n);
	entry.bad = b->bad;
	entry.end = b->bad ? entry.at : b->at;
	return entry;
}

#define EH_OMIT 0xffu /* DW_EH_PE_omit: the pointer is absent */

struct eh_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_column;
	uint8_t pointers,
		landing;  /* encodings, of an FDE's addresses and its table of landing pads */
	uint8_t has_data; /* an FDE has a block before its rules */
	uint8_t is_signal;
	uint8_t is_known; /* its augmentation is understood, so `rules` are its rules */
	struct eh_bytes rules;
};

/* @b: an entry, its id included. Return: 0; -1: it is not a CIE, or it is truncated. */
static inline int eh_read_cie(struct eh_cie *c, struct eh_bytes b)
{
	struct eh_bytes text, data;
	uint8_t version, letter;

	memset(c, 0, sizeof(*c));
	c->landing = EH_OMIT;
	if (eh_get(&b, 4))
		return -1;
	version = (uint8_t)eh_get(&b, 1);
	text = b;
	while (eh_get(&b, 1))
		;
	c->code_align = eh_get_leb(&b, 0);
	c->data_align = (int64_t)eh_get_leb(&b, 1);
	c->return_column = version == 1 ? eh_get(&b, 1) : eh_get_leb(&b, 0);
	if (b.bad)
		return -1;
	letter = (uint8_t)eh_get(&text, 1);
	c->is_known = !letter || letter == 'z';
	if (letter == 'z') {
		c->has_data = 1;
		data = eh_get_block(&b);
		while ((letter = (uint8_t)eh_get(&text, 1)))
			if (letter == 'R')
				c->pointers = (uint8_t)eh_get(&data, 1);
			else if (letter == 'L')
				c->landing = (uint8_t)eh_get(&data, 1);
			else if (letter == 'P') /* the function's address does not matter */
				eh_get_pointer(&data, eh_get(&data, 1) & 0x0f);
			else if (letter == 'S')
				c->is_signal = 1;
			else
				break;
	}
	c->rules = b;
	return b.bad ? -1 : 0;
}

#endif
