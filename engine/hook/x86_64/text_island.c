/* SPDX-License-Identifier: MIT */
/*
 * See text_island.h.
 *
 *	 0	lea -128(%rsp), %rsp		below the red zone
 *	 5	call *48(%rip)			hook_text finds the place by its return address
 *	11	lea 128(%rsp), %rsp
 *	19	the instruction, moved
 *		jmp				behind it
 *	48	hook_text
 *	56	the place
 *	64	unwind rules
 *
 * An unwinder goes on from an island as if the thread were at the original instruction and the
 * island were the frame of a signal handler: the CFA is the program's stack pointer, the return
 * address a constant.
 *
 * No state. Tests: tests/engine/events/inner, tests/unit/test_engine_base.c.
 */
#include "engine/hook/text/text_island.h"

#include <errno.h>

#include "engine/base/mem.h"
#include "engine/core/text_patch.h"
#include "engine/hook/port.h"
#include "engine/hook/text/island_cfi.h"
#include "object/x86_64/insn.h"
#include "engine/hook/x86_64/offsets.h"

/* The CFA is rsp + 8, and the return address at CFA - 8. */
const uint8_t island_called_rules[] = {0x0c, 7, 8, 0x90, 1};

#define BACK	 UINT64_C(0x80000000)
#define MOVED_AT 19u
#define ENTRY_AT 48u

_Static_assert(MOVED_AT + INSN_MAX_MOVED + INSN_JUMP_BYTES <= ENTRY_AT, "the moved one fits");
_Static_assert(offsetof(struct text_frame, back) == TEXT_FRAME_BACK, "TEXT_FRAME_BACK");

/* The header of a PT_GNU_EH_FRAME segment, and the tables behind it. */
struct rows {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame; /* from this field */
	uint32_t count;
	/* sorted by address; offsets from the first byte */
	struct {
		int32_t start, fde_at;
	} table[2];
	struct {
		uint32_t bytes, id;
		uint8_t version;
		char augmentation[4];
		uint8_t code_align, data_align, return_column, nr_augmentation, encoding;
		uint8_t rules[18];
	} __attribute__((packed)) cie;
	struct {
		uint32_t bytes, cie;
		int32_t start; /* from this field */
		uint32_t range;
		uint8_t nr_augmentation;
		uint8_t rules[27];
	} __attribute__((packed)) fde;
	struct {
		uint32_t bytes, cie;
		int32_t start;
		uint32_t range;
		uint32_t nr_augmentation; /* length of the augmentation, and padding */
	} __attribute__((packed)) landing;
	uint32_t end;
} __attribute__((packed));

_Static_assert(TEXT_ISLAND_CODE + sizeof(struct rows) <= TEXT_ISLAND_BYTES, "the rows fit");

#define DW_ADVANCE	  0x40u
#define DW_CFA_OFFSET	  0x0eu
#define DW_VAL_EXPRESSION 0x16u
#define DW_CONST8U	  0x0eu

/* The return address is a constant. */
static uint32_t put_return(uint8_t *rules, uint64_t address)
{
	static const uint8_t rule[] = {DW_VAL_EXPRESSION, 16, 9, DW_CONST8U};

	memcpy(rules, rule, sizeof(rule));
	memcpy(rules + sizeof(rule), &address, 8);
	return sizeof(rule) + 8;
}

static int32_t from(uint64_t here, uint64_t to)
{
	return (int32_t)(int64_t)(to - here);
}

/* The landing has only the CIE's rules. */
static void add_landing(struct rows *r, uint64_t here, uint64_t landing)
{
	const int before = landing < here;

	r->count = 2;
	r->table[before] = r->table[0];
	r->table[!before].start = from(here, landing);
	r->table[!before].fde_at = (int32_t)offsetof(struct rows, landing);
	r->landing.bytes = sizeof(r->landing) - 4;
	r->landing.cie = offsetof(struct rows, landing) + 4 - offsetof(struct rows, cie);
	r->landing.start = from(here + offsetof(struct rows, landing) + 8, landing);
	r->landing.range = TEXT_LANDING_BYTES;
}

static void make_rows(const struct insn *in, uint64_t address, uint32_t moved, uint64_t at,
		      uint64_t landing, uint8_t *out)
{
	uint64_t here = at + TEXT_ISLAND_CODE;
	uint8_t *rule;
	struct rows r = {
		.version = 1,
		.frame_encoding = 0x1b, /* pc-relative, sdata4 */
		.count_encoding = 0x03, /* udata4 */
		.table_encoding = 0x3b, /* relative to the segment, sdata4 */
		.frame = (int32_t)offsetof(struct rows, cie) - 4,
		.count = 1,
		.table = {{from(here, at), (int32_t)offsetof(struct rows, fde)}},
		.cie = {.bytes = sizeof(r.cie) - 4,
			.version = 1,
			.augmentation = "zRS",
			.code_align = 1,
			.data_align = 0x78, /* -8 */
			.return_column = 16,
			.nr_augmentation = 1,
			.encoding = 0x1b,
			/* the CFA is rsp */
			.rules = {0x0c, 7, 0}},
		.fde = {.bytes = sizeof(r.fde) - 4,
			.cie = (uint32_t)(offsetof(struct rows, fde) + 4 -
					  offsetof(struct rows, cie)),
			.start = from(here + offsetof(struct rows, fde) + 8, at),
			.range = ENTRY_AT},
	};

	put_return(r.cie.rules + 3, address);
	rule = r.fde.rules;
	*rule++ = DW_ADVANCE | 5;
	*rule++ = DW_CFA_OFFSET;
	*rule++ = (TEXT_RED_ZONE & 0x7f) | 0x80;
	*rule++ = TEXT_RED_ZONE >> 7;
	*rule++ = DW_ADVANCE | (MOVED_AT - 5);
	*rule++ = DW_CFA_OFFSET;
	*rule++ = 0;
	if (in->kind == INSN_CALL || in->kind == INSN_CALL_INDIRECT) {
		/* after its push */
		*rule++ = DW_ADVANCE | 5;
		*rule++ = DW_CFA_OFFSET;
		*rule++ = 8;
	} else {
		*rule++ = (uint8_t)(DW_ADVANCE | moved);
		put_return(rule, address + in->bytes);
	}
	if (landing)
		add_landing(&r, here, landing);
	memcpy(out, &r, sizeof(r));
}

uint32_t text_insn_bytes(const uint8_t *code, size_t n, int *movable)
{
	uint8_t out[INSN_MAX_MOVED];
	struct insn in;

	if (!insn_decode(&in, code, n))
		return 0;
	/* moved to where it is, so nothing is too far */
	*movable = insn_move(&in, code, (uint64_t)code, (uint64_t)code, out) > 0;
	return in.bytes;
}

int text_island_make(const uint8_t *code, struct text_place *place, uint64_t at, uint64_t landing,
		     uint8_t *out)
{
	static const uint8_t head[] = {
		0x48, 0x8d, 0x64, 0x24, 0x80, 0xff, 0x15, ENTRY_AT - TEXT_BACK, 0, 0, 0, 0x48,
		0x8d, 0xa4, 0x24, 0x80, 0,    0,    0};
	uint64_t entry = (uint64_t)hook_text, word = (uint64_t)(place->of ? place->of : place);
	struct insn in;
	int32_t back;
	int moved;

	if (!insn_decode(&in, code, place->bytes))
		return -EOPNOTSUPP;
	_Static_assert(sizeof(head) == MOVED_AT, "the head");
	memset(out, 0xcc, TEXT_ISLAND_BYTES);
	memcpy(out, head, sizeof(head));
	moved = insn_move(&in, code, place->address, at + MOVED_AT, out + MOVED_AT);
	if (moved < 0)
		return moved;
	back = from(at + MOVED_AT + (uint32_t)moved + INSN_JUMP_BYTES, place->address + in.bytes);
	out[MOVED_AT + moved] = 0xe9;
	memcpy(out + MOVED_AT + moved + 1, &back, 4);
	memcpy(out + ENTRY_AT, &entry, 8);
	memcpy(out + TEXT_PLACE, &word, 8);
	make_rows(&in, place->address, (uint32_t)moved, at, landing, out + TEXT_ISLAND_CODE);
	return (int)MOVED_AT + moved;
}

void text_island_lead(uint64_t jump, uint64_t to)
{
	int32_t disp = from(jump + INSN_JUMP_BYTES, to);

	memcpy(text_at((void *)(jump + 1)), &disp, sizeof(disp));
}

/*
 * `jmp rel32` behind @i prefixes without effect: each moves the displacement by a byte. Where the
 * writable bytes end, the displacement continues in the bytes of the next instruction, which stay.
 */
int text_jump_nth(uint32_t i, const uint8_t *code, uint64_t address, uint32_t writable,
		  struct text_jump *jump)
{
	uint32_t prefixes = i, ours, fixed = 0, k;
	uint64_t end = address + prefixes + INSN_JUMP_BYTES, span;

	if (i >= writable || (i && writable >= INSN_JUMP_BYTES))
		return -ENOENT;
	ours = writable - 1 - prefixes;
	if (ours > 4)
		ours = 4;
	for (k = ours; k < 4; k++)
		fixed |= (uint32_t)code[prefixes + 1 + k] << (8 * k);
	span = ours < 4 ? (UINT64_C(1) << (8 * ours)) - 1 : UINT32_MAX;
	jump->written = prefixes + 1 + ours;
	jump->pinned = prefixes + INSN_JUMP_BYTES;
	if (ours < 4)
		jump->lo = end + (uint64_t)(int64_t)(int32_t)fixed;
	else
		jump->lo = end > BACK ? end - BACK : 0;
	jump->hi = jump->lo + span;
	return 0;
}

void text_jump_make(const struct text_jump *jump, uint64_t address, uint64_t to, uint8_t *out)
{
	uint32_t prefixes = jump->pinned - INSN_JUMP_BYTES;
	int32_t disp = from(address + jump->pinned, to);
	uint8_t bytes[INSN_MAX_BYTES + INSN_JUMP_BYTES];

	memset(bytes, 0x2e, prefixes);
	bytes[prefixes] = 0xe9;
	memcpy(bytes + prefixes + 1, &disp, 4);
	memcpy(out, bytes, jump->written);
}
