/* SPDX-License-Identifier: MIT */
/* See return_slot.h. */
#include "object/x86_64/return_slot.h"

#include <string.h>

#define SP 4u /* numbers of registers */
#define FP 5u

#define LOST RETURN_SLOT_LOST

void return_slot_begin(struct return_slot *r)
{
	uint32_t i;

	memset(r, 0, sizeof(*r));
	r->table = LOST;
	for (i = 0; i < 16; i++)
		r->at[i] = LOST;
}

static int32_t add(int32_t depth, int64_t n)
{
	/* no frame is larger */
	if (depth == LOST || n > 1 << 28 || n < -(1 << 28) || depth > 1 << 28 || depth < -(1 << 28))
		return LOST;
	return depth + (int32_t)n;
}

static int64_t number(const uint8_t *p, uint32_t n)
{
	int32_t v = 0;

	if (n == 1)
		return (int8_t)*p;
	if (n == 4)
		memcpy(&v, p, 4);
	return v;
}

static uint32_t reg_of(const struct insn *in)
{
	return (in->modrm >> 3 & 7) | (in->rex & 4 ? 8 : 0);
}

/* The register of an operand that is a register. */
static uint32_t rm_of(const struct insn *in)
{
	return (in->modrm & 7) | (in->rex & 1 ? 8 : 0);
}

static int is_register(const struct insn *in)
{
	return in->has_modrm && in->modrm >> 6 == 3;
}

static int is_lea(const struct insn *in)
{
	return in->map == INSN_MAP_ONE && in->opcode == 0x8d;
}

/* A memory operand at a register. Return: the register's number; 16: another form. */
static uint32_t base_of(const struct insn *in, const uint8_t *code)
{
	uint32_t mod = in->modrm >> 6, rm = in->modrm & 7;

	if (!in->has_modrm || mod == 3 || in->rip_relative)
		return 16;
	if (rm == 4) {
		uint8_t sib = code[in->sib_at];

		/* an index, or no base */
		if ((sib >> 3 & 7) != 4 || in->rex & 2 || ((sib & 7) == 5 && !mod))
			return 16;
		rm = sib & 7;
	}
	return rm | (in->rex & 1 ? 8 : 0);
}

/* Offset of a memory operand at the stack or frame pointer, from sp at the function's start. */
static int32_t place_of(const struct return_slot *r, const struct insn *in, const uint8_t *code)
{
	uint32_t base = base_of(in, code);
	int64_t disp = in->disp_bytes ? number(code + in->disp_at, in->disp_bytes) : 0;

	if (base == SP)
		return add(r->depth, -disp);
	return base == FP ? add(r->at[FP], -disp) : LOST;
}

/* Instructions of the first map that set the stack pointer. Return: 1 if it was one. */
static int sets_stack(struct return_slot *r, const struct insn *in, const uint8_t *code)
{
	uint32_t op = in->opcode, group = in->modrm >> 3 & 7;
	int64_t imm;

	if (op >= 0x50 && op <= 0x57) {
		r->depth = add(r->depth, 8);
	} else if (op == 0x5c && !(in->rex & 1)) {
		r->touched = 1;
	} else if (op >= 0x58 && op <= 0x5f) {
		r->depth = add(r->depth, -8);
	} else if (op == 0x68 || op == 0x6a || op == 0x9c || (op == 0xff && group == 6)) {
		r->depth = add(r->depth, 8);
	} else if (op == 0x9d || op == 0x8f) {
		r->depth = add(r->depth, -8);
	} else if (op == 0xc9) {
		r->depth = add(r->at[FP], -8);
	} else if ((op == 0x81 || op == 0x83) && is_register(in) && rm_of(in) == SP) {
		imm = number(code + in->imm_at, in->imm_bytes);
		r->depth = group == 5	? add(r->depth, imm)
			   : group == 0 ? add(r->depth, -imm)
					: LOST;
	} else if (is_lea(in) && reg_of(in) == SP) {
		/* by the frame pointer, or to a multiple */
		r->depth = place_of(r, in, code);
	} else {
		return 0;
	}
	return 1;
}

/* `mov` and others between the stack pointer and a register. */
static void moves_stack(struct return_slot *r, const struct insn *in)
{
	uint32_t op = in->opcode, from, to;

	if (op == 0x94 && !(in->rex & 1)) {
		r->touched = 1;
		return;
	}
	if (op != 0x89 && op != 0x8b && op != 0x87) {
		/* sums and comparisons: a frame whose size is computed, or that a loop makes */
		if (op < 0x40 && is_register(in) && (rm_of(in) == SP || reg_of(in) == SP))
			r->depth = LOST;
		return;
	}
	from = op == 0x8b ? is_register(in) ? rm_of(in) : 16 : reg_of(in);
	to = op == 0x8b ? reg_of(in) : is_register(in) ? rm_of(in) : 16;
	if (op == 0x87 && (from == SP || to == SP))
		r->touched = 1;
	else if (to == SP && from < 16 && (from == FP || r->at[from] != LOST))
		r->depth = r->at[from];
	else if (to == SP && from != SP)
		r->touched = 1;
	else if (from == SP && to < 16)
		r->at[to] = r->depth;
}

/* Opcodes of the first map that sets_stack() and moves_stack() know, in groups of eight. */
static int may_set_stack(uint8_t op)
{
	static const uint8_t groups[] = {
		[0x00 / 8] = 0xff, [0x08 / 8] = 0xff, [0x10 / 8] = 0xff, [0x18 / 8] = 0xff,
		[0x20 / 8] = 0xff, [0x28 / 8] = 0xff, [0x30 / 8] = 0xff, [0x38 / 8] = 0xff,
		[0x50 / 8] = 0xff, [0x58 / 8] = 0xff, [0x68 / 8] = 0x05, /* 68 6a */
		[0x80 / 8] = 0x8a,					 /* 81 83 87 */
		[0x88 / 8] = 0xaa,					 /* 89 8b 8d 8f */
		[0x90 / 8] = 0x10,					 /* 94 */
		[0x98 / 8] = 0x30,					 /* 9c 9d */
		[0xc8 / 8] = 0x02,					 /* c9 */
		[0xf8 / 8] = 0x80,					 /* ff */
	};

	return groups[op / 8] >> (op % 8) & 1;
}

static void keep_target(struct return_slot *r, const struct insn *in, int64_t at)
{
	uint32_t i = r->nr % RETURN_SLOT_TARGETS;

	if (in->target <= 0 || in->kind == INSN_CALL || !insn_has_target(in))
		return;
	r->targets[i].to = at + in->target;
	r->some |= UINT64_C(1) << (r->targets[i].to & 63);
	r->targets[i].depth = r->depth;
	r->nr++;
}

/* Behind a jump or a return, the depth is known from the branch that leads here. */
static int32_t depth_at(const struct return_slot *r, int64_t at)
{
	uint32_t i, n = r->nr < RETURN_SLOT_TARGETS ? r->nr : RETURN_SLOT_TARGETS;

	for (i = 0; i < n && r->some >> (at & 63) & 1; i++)
		if (r->targets[i].to == at)
			return r->targets[i].depth;
	return r->table;
}

void return_slot_look(struct return_slot *r, const struct insn *in, const uint8_t *code, int64_t at)
{
	if (r->is_behind) {
		r->depth = depth_at(r, at);
		r->is_behind = 0;
	} else if (r->depth == LOST) {
		int32_t known = depth_at(r, at);

		r->depth = known == r->table ? LOST : known;
	}
	/* a base of 4 or 5 in modrm: the stack or frame pointer, perhaps */
	if (in->has_modrm && (in->modrm & 6) == 4 && in->map != INSN_MAP_MORE &&
	    in->kind != INSN_NOP && !is_lea(in) && !place_of(r, in, code))
		r->touched = 1;
	if (in->map == INSN_MAP_ONE && may_set_stack(in->opcode) && !sets_stack(r, in, code))
		moves_stack(r, in);
	keep_target(r, in, at);
	if (in->kind == INSN_JUMP_INDIRECT && r->depth > 0)
		r->table = r->depth;
	r->is_behind = !insn_goes_on(in);
}
