/* SPDX-License-Identifier: MIT */
/*
 * See redirect_island.h.
 *
 *	 0	the site, of 6 bytes
 *	 6	the instructions, moved
 *		jmp	behind them
 *
 * An unwinder goes on from an island as if the thread were at the original instruction and the
 * island were the frame of a signal handler: the CFA is the program's stack pointer, the return
 * address a constant for each instruction. So the function's own rules apply, whatever it has
 * pushed by then. A call among the instructions pushes the address behind the original call, so no
 * return comes here.
 *
 * No state. Tests: tests/cli/test_unmodified.py.
 */
#include "engine/hook/text/redirect_island.h"

#include <errno.h>

#include "arch_patch.h"
#include "engine/base/mem.h"
#include "object/x86_64/insn.h"

#define JUMP  0xe9u
#define SHORT 0xebu

#define DW_ADVANCE	  0x40u
#define DW_CFA_OFFSET	  0x0eu
#define DW_VAL_EXPRESSION 0x16u
#define DW_CONST8U	  0x0eu
#define RETURN_RULE_BYTES 12u

/*
 * The head begins with this; at its end is the header of a PT_GNU_EH_FRAME segment, with the table
 * behind it.
 */
struct cie {
	uint32_t bytes, id;
	uint8_t version;
	char augmentation[4];
	uint8_t code_align, data_align, return_column, nr_augmentation, encoding;
	uint8_t rules[6]; /* the CFA is rsp */
	uint8_t padding[4];
} __attribute__((packed));

#define HEADER_BYTES 12u
#define HEADER_AT    REDIRECT_HEADER_AT

_Static_assert(HEADER_AT + HEADER_BYTES == REDIRECT_HEAD_BYTES, "the table is behind it");
_Static_assert(sizeof(struct cie) <= HEADER_AT && sizeof(struct cie) % 4 == 0, "it fits");

struct fde {
	uint32_t bytes, cie;
	int32_t start; /* from this field */
	uint32_t range;
	uint8_t nr_augmentation;
	uint8_t rules[REDIRECT_ROW_BYTES - 17];
} __attribute__((packed));

_Static_assert(sizeof(struct fde) == REDIRECT_ROW_BYTES, "one after the other");

static int32_t from_to(uint64_t here, uint64_t to)
{
	return (int32_t)(int64_t)(to - here);
}

/* The return address is a constant. */
static uint8_t *put_return(uint8_t *rule, uint64_t address)
{
	static const uint8_t begin[] = {DW_VAL_EXPRESSION, 16, 9, DW_CONST8U};

	memcpy(rule, begin, sizeof(begin));
	memcpy(rule + sizeof(begin), &address, 8);
	return rule + RETURN_RULE_BYTES;
}

uint32_t redirect_jump_make(uint64_t where, uint64_t to, uint8_t *out)
{
	int32_t disp = from_to(where + INSN_JUMP_BYTES, to);

	out[0] = JUMP;
	memcpy(out + 1, &disp, 4);
	return INSN_JUMP_BYTES;
}

uint32_t redirect_short_jump_make(uint64_t from, uint64_t to, uint8_t *out)
{
	out[0] = SHORT;
	out[1] = (uint8_t)(to - (from + 2));
	return 2;
}

void redirect_head_make(uint8_t *out, uint64_t islands, uint64_t rows, uint32_t nr)
{
	uint64_t here = (uint64_t)out + HEADER_AT;
	struct cie cie = {
		.bytes = sizeof(cie) - 4,
		.version = 1,
		.augmentation = "zRS",
		.code_align = 1,
		.data_align = 0x78, /* -8 */
		.return_column = 16,
		.nr_augmentation = 1,
		.encoding = 0x1b,
		.rules = {0x0c, 7, 0},
	};
	uint32_t i;
	uint8_t header[HEADER_BYTES] = {1, 0x1b /* pc-relative, sdata4 */, 0x03 /* udata4 */,
					0x3b /* relative to the segment, sdata4 */};
	int32_t frame = from_to(here + 4, (uint64_t)out);

	memcpy(out, &cie, sizeof(cie));
	memcpy(header + 4, &frame, 4);
	memcpy(header + 8, &nr, 4);
	memcpy(out + HEADER_AT, header, sizeof(header));
	out += REDIRECT_HEAD_BYTES;
	for (i = 0; i < nr; i++) {
		int32_t entry[2] = {from_to(here, islands + (uint64_t)i * REDIRECT_ISLAND_BYTES),
				    from_to(here, rows + (uint64_t)i * REDIRECT_ROW_BYTES)};

		memcpy(out + (size_t)i * sizeof(entry), entry, sizeof(entry));
	}
}

/* Advance from offset @before of the island to @now. */
static uint8_t *put_advance(uint8_t *rule, uint32_t before, uint32_t now)
{
	*rule++ = (uint8_t)(DW_ADVANCE | (now - before));
	return rule;
}

int redirect_island_make(const uint8_t *code, uint32_t n, uint64_t from, uint64_t at, uint8_t *out,
			 uint8_t *rows, uint64_t rows_at, uint64_t head_at)
{
	struct fde f = {.bytes = sizeof(f) - 4, .range = REDIRECT_ISLAND_BYTES};
	uint32_t k = 0, to = ARCH_SITE_FULL, last = 0;
	uint8_t *rule = put_return(f.rules, from);
	struct insn in = {.kind = INSN_OTHER};

	memset(out + to, 0xcc, REDIRECT_ISLAND_BYTES - to);
	while (k < n) {
		uint8_t moved[INSN_MAX_MOVED];
		int bytes;

		if (!insn_decode(&in, code + k, n - k))
			return -EOPNOTSUPP;
		bytes = insn_move(&in, code + k, from + k, at + to, moved);
		if (bytes < 0)
			return bytes;
		if (to + (uint32_t)bytes + INSN_JUMP_BYTES > REDIRECT_ISLAND_BYTES ||
		    rule + 2 * (1 + RETURN_RULE_BYTES) + 3 > f.rules + sizeof(f.rules))
			return -EOPNOTSUPP;
		if (k) {
			rule = put_advance(rule, last, to);
			rule = put_return(rule, from + k);
			last = to;
		}
		if (in.kind == INSN_CALL || in.kind == INSN_CALL_INDIRECT) {
			/* after its push */
			rule = put_advance(rule, last, to + 5);
			*rule++ = DW_CFA_OFFSET;
			*rule++ = 8;
			last = to + 5;
		}
		memcpy(out + to, moved, (size_t)bytes);
		k += in.bytes;
		to += (uint32_t)bytes;
	}
	if (insn_goes_on(&in) && in.kind != INSN_CALL && in.kind != INSN_CALL_INDIRECT) {
		rule = put_advance(rule, last, to);
		put_return(rule, from + n);
		redirect_jump_make(at + to, from + n, out + to);
	}
	f.cie = (uint32_t)(rows_at + 4 - head_at);
	f.start = from_to(rows_at + 8, at);
	memcpy(rows, &f, sizeof(f));
	return 0;
}

uint64_t redirect_original(const uint8_t *rows, uint32_t offset)
{
	const uint8_t *p = rows + offsetof(struct fde, rules), *end = rows + REDIRECT_ROW_BYTES;
	uint64_t address = 0;
	uint32_t at = 0;

	while (p + RETURN_RULE_BYTES <= end) {
		if (*p == DW_VAL_EXPRESSION) {
			memcpy(&address, p + 4, 8);
			p += RETURN_RULE_BYTES;
		} else if (*p >> 6 == DW_ADVANCE >> 6) {
			at += *p++ & 0x3f;
			if (at > offset)
				break;
		} else if (*p == DW_CFA_OFFSET) {
			p += 2;
		} else {
			break;
		}
	}
	return address;
}
