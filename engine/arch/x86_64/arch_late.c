/* SPDX-License-Identifier: MIT */
/*
 * See arch_late.h. Two kinds of NOPs:
 *
 *	90 90 90 90 90	one instruction a byte (gcc). A thread may continue at any of these bytes,
 *			and from there on the rest must do nothing. So each byte of the
 *			displacement is a whole instruction that changes at most flags (dead where a
 *			function begins), or a prefix without effect.
 *	0f 1f 44 xx xx	one instruction (clang, gcc's -mnop-mcount): no thread is within it. The
 *			last two bytes are part of an address that a NOP does not use, so they are
 *			free. Longer NOPs (0f 1f 80, 0f 1f 84) have more such bytes. The bytes after
 *			the site become one NOP; each prefix before the site becomes a NOP.
 *
 * The encodings are from the AMD and Intel manuals. Tests: tests/unit/test_engine_base.c.
 */
#include "arch_late.h"

#include "engine/base/compiler.h"
#include "engine/base/mem.h"

#define NOP	   0x90
#define LONG_NOP_0 0x0f
#define LONG_NOP_1 0x1f

/*
 * In order: ES: CS: SS: DS:, REX without B (with it 90 is xchg %r8, %rax), and NOP, cmc, clc, stc,
 * cld.
 */
static const uint8_t harmless[] = {0x26, 0x2e, 0x36, 0x3e, 0x40, 0x42, 0x44, 0x46, 0x48,
				   0x4a, 0x4c, 0x4e, 0x90, 0xf5, 0xf8, 0xf9, 0xfc};

static int is_prefix(uint8_t b)
{
	return b < NOP;
}

static int may_precede_nop(uint8_t b)
{
	return b == 0x66 || b == 0x2e;
}

static int are_short(const uint8_t *p)
{
	uint32_t i;

	for (i = 0; i < ARCH_LATE_BYTES; i++)
		if (p[i] != NOP && !may_precede_nop(p[i]))
			return 0;
	return 1;
}

int arch_late_read(const uint8_t *p, uint32_t n, struct arch_late *late)
{
	static const uint8_t two[] = {0x66, 0x90}, three[] = {0x0f, 0x1f, 0x00};

	*late = (struct arch_late){.off = NOP};
	if (n < ARCH_LATE_BYTES)
		return 0;
	if (are_short(p)) {
		late->plain = n == ARCH_LATE_BYTES;
		return 1;
	}
	for (; n && may_precede_nop(*p); p++, n--)
		late->skip++;
	if (n < ARCH_LATE_BYTES || p[0] != LONG_NOP_0 || p[1] != LONG_NOP_1)
		return 0;
	late->off = LONG_NOP_0;
	late->fixed = 1;
	late->low = (uint16_t)(p[1] | p[2] << 8);
	if (p[2] == 0x44)
		return 1;
	if (p[2] == 0x80 && n >= 7) {
		late->nr_tail = sizeof(two);
		memcpy(late->tail, two, sizeof(two));
		return 1;
	}
	if (p[2] == 0x84 && n >= 8) {
		late->nr_tail = sizeof(three);
		memcpy(late->tail, three, sizeof(three));
		return 1;
	}
	return 0;
}

/*
 * The least value that the @i-th byte of the displacement may have and that is @from or more; 256:
 * none.
 */
static uint32_t next_byte(const struct arch_late *late, uint32_t i, uint32_t from)
{
	uint32_t k, low;

	if (late->fixed && i < 2) {
		low = late->low >> (8 * i) & 0xff;
		return from <= low ? low : 256;
	}
	if (late->fixed)
		return from;
	for (k = 0; k < ARRAY_SIZE(harmless); k++)
		if (harmless[k] >= from && !(i == 3 && late->plain && is_prefix(harmless[k])))
			return harmless[k];
	return 256;
}

int arch_late_byte(const struct arch_late *late, uint32_t i, uint8_t value)
{
	return next_byte(late, i, value) == value;
}

/* The least possible displacement that is @from or more, unsigned. Return: whether there is one. */
static int next_disp(const struct arch_late *late, uint32_t from, uint32_t *disp)
{
	uint32_t byte[4], i, k;

	for (i = 4; i--;)
		byte[i] = from >> (8 * i) & 0xff;
	/* the highest byte that must grow: all bytes below it get their least values */
	for (i = 4; i--;) {
		uint32_t next = next_byte(late, i, byte[i]);

		if (next == byte[i])
			continue;
		while (next == 256) {
			if (++i == 4)
				return 0;
			next = next_byte(late, i, byte[i] + 1);
		}
		byte[i] = next;
		for (k = 0; k < i; k++)
			byte[k] = next_byte(late, k, 0);
		break;
	}
	*disp = byte[0] | byte[1] << 8 | byte[2] << 16 | byte[3] << 24;
	return 1;
}

uint64_t arch_late_next(const struct arch_late *late, uint64_t end, uint64_t lo, uint64_t hi)
{
	uint32_t from = (uint32_t)(lo - end), disp;

	if (hi < lo || !next_disp(late, from, &disp) || disp - from > hi - lo)
		return 0;
	return lo + (disp - from);
}

void arch_late_make(uint8_t off_byte, int32_t disp, int jump, uint8_t on[ARCH_LATE_BYTES],
		    uint8_t off[ARCH_LATE_BYTES])
{
	on[0] = jump ? 0xe9 : 0xe8;
	memcpy(on + 1, &disp, 4);
	memcpy(off, on, ARCH_LATE_BYTES);
	off[0] = off_byte;
}
