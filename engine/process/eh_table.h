/* SPDX-License-Identifier: MIT */
/*
 * The table of .eh_frame_hdr in an object that is loaded: where functions begin, in their order,
 * and the entry of .eh_frame for each. GNU ld's and LLVM's have one form; another one is as none.
 * No read leaves the bytes that it was given. No state, any context. Tests:
 * tests/engine/tracers/sysprof, tests/engine/events/inner.
 */
#ifndef VESTIGE_PROCESS_EH_TABLE_H
#define VESTIGE_PROCESS_EH_TABLE_H

#include <stdint.h>
#include <string.h>

#include "engine/base/sort.h"

#define EH_TABLE_HEAD 12u

struct eh_table {
	const uint8_t *head;
	uint32_t nr; /* rows */
};

/*
 * @bytes: from @head on. Return: 0; 1: the table claims more rows than fit, and is cut to those;
 * -1: there is no such table.
 */
static inline int eh_table_open(struct eh_table *t, const void *head, uint64_t bytes)
{
	/* version 1; eh_frame_ptr pcrel|sdata4, fde_count udata4, table datarel|sdata4 */
	static const uint8_t form[4] = {1, 0x1b, 0x03, 0x3b};

	if (bytes < EH_TABLE_HEAD || memcmp(head, form, sizeof(form)) != 0)
		return -1;
	t->head = head;
	memcpy(&t->nr, t->head + 8, sizeof(t->nr));
	if (t->nr <= (bytes - EH_TABLE_HEAD) / 8)
		return 0;
	t->nr = (uint32_t)((bytes - EH_TABLE_HEAD) / 8);
	return 1;
}

/* Word 0 or 1 of a row: an offset from the head. */
static inline int64_t eh_table_word(const struct eh_table *t, uint32_t i, uint32_t word)
{
	int32_t offset;

	memcpy(&offset, t->head + EH_TABLE_HEAD + (uint64_t)i * 8 + word * 4, sizeof(offset));
	return offset;
}

/* The address at which function @i begins. */
static inline uint64_t eh_table_begin(const struct eh_table *t, uint32_t i)
{
	return (uint64_t)t->head + (uint64_t)eh_table_word(t, i, 0);
}

/* Its entry of .eh_frame, which may be anywhere. */
static inline const uint8_t *eh_table_entry(const struct eh_table *t, uint32_t i)
{
	return t->head + eh_table_word(t, i, 1);
}

/* The first function that begins behind @address. */
static inline uint32_t eh_table_above(const struct eh_table *t, uint64_t address)
{
	return LOWER_BOUND(i, 0, t->nr, eh_table_begin(t, i) <= address);
}

#endif
