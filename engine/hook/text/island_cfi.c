/* SPDX-License-Identifier: MIT */
/*
 * See island_cfi.h. libgcc (from 12 on) calls _dl_find_object() for the rows of an address. The
 * engine's version calls libc's first, and then searches this file's list. Static programs only
 * have libc's, and older unwinders and LLVM's use other functions: for these a walk ends at an
 * island. Owns the list; an entry is valid while its `lo` is not 0. The unwinder reads it in any
 * context. fork: the child has the same. Costs a throw some instructions for each frame, and a scan
 * where libc knows nothing. Tests: tests/engine/graph/samples.
 */
#include "engine/hook/text/island_cfi.h"

#include "arch_barrier.h"
#include "arch_frame.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/libc.h"
#include "engine/process/object.h"

/* The header of a PT_GNU_EH_FRAME segment, and the tables behind it. */
struct rows {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame; /* from this field */
	uint32_t count;
	int32_t start, fde_at; /* from the first byte of the struct */
	struct {
		uint32_t bytes, id;
		uint8_t version;
		char augmentation[3];
		uint8_t code_align, data_align, return_column, nr_augmentation, encoding;
		uint8_t rules[ISLAND_RULES_MAX];
	} cie;
	struct {
		uint32_t bytes, cie;
		int32_t start; /* from this field */
		uint32_t range;
		uint32_t nr_augmentation; /* length of the augmentation, and padding */
	} fde;
	uint32_t end;
};

_Static_assert(sizeof(struct rows) <= ISLAND_ROWS_BYTES, "the rows fit");

static struct list_entry {
	uint64_t lo, hi;
	const void *rows;
} list[OBJECT_MAX] BIG_ZEROS;
static uint32_t nr_list;

const void *island_cfi_find(uint64_t pc, uint64_t *lo, uint64_t *hi)
{
	uint32_t i, n = load_acquire(&nr_list);

	for (i = 0; i < n; i++) {
		uint64_t start = load_acquire(&list[i].lo);

		if (!start || pc < start || pc >= list[i].hi)
			continue;
		*lo = start;
		*hi = list[i].hi;
		return list[i].rows;
	}
	return NULL;
}

static int32_t from(const void *here, const void *to)
{
	return (int32_t)((const uint8_t *)to - (const uint8_t *)here);
}

static void write_rows(struct rows *r, const uint8_t *islands, size_t bytes, const uint8_t *rules,
		       size_t rules_bytes)
{
	*r = (struct rows){
		.version = 1,
		.frame_encoding = 0x1b, /* pc-relative, sdata4 */
		.count_encoding = 0x03, /* udata4 */
		.table_encoding = 0x3b, /* relative to the segment, sdata4 */
		.count = 1,
		.cie = {.bytes = sizeof(r->cie) - 4,
			.version = 1,
			.augmentation = "zR",
			.code_align = 1,
			.data_align = 0x78, /* -8 */
			.return_column = ARCH_DWARF_RETURN,
			.nr_augmentation = 1,
			.encoding = 0x1b},
		.fde = {.bytes = sizeof(r->fde) - 4, .range = (uint32_t)bytes},
	};
	memcpy(r->cie.rules, rules, rules_bytes);
	r->frame = from(&r->frame, &r->cie);
	r->start = from(r, islands);
	r->fde_at = from(r, &r->fde);
	r->fde.cie = (uint32_t)from(&r->cie, &r->fde.cie);
	r->fde.start = from(&r->fde.start, islands);
}

void island_cfi_add(uint64_t lo, uint64_t hi, const void *rows)
{
	uint32_t i;

	for (i = 0; i < nr_list && list[i].lo; i++)
		;
	if (i >= OBJECT_MAX)
		return;
	list[i].hi = hi;
	list[i].rows = rows;
	store_release(&list[i].lo, lo);
	if (i == nr_list)
		store_release(&nr_list, i + 1);
	libc_find_rows(island_cfi_find);
}

void island_cfi_make(uint8_t *islands, size_t bytes, const uint8_t *rules, size_t rules_bytes)
{
	write_rows((struct rows *)(islands + bytes), islands, bytes, rules, rules_bytes);
	island_cfi_add((uint64_t)islands, (uint64_t)islands + bytes, islands + bytes);
}

void island_cfi_forget(const uint8_t *islands)
{
	uint32_t i;

	for (i = 0; i < nr_list; i++)
		if (list[i].lo == (uint64_t)islands)
			store_release(&list[i].lo, 0);
}
