/* SPDX-License-Identifier: MIT */
/*
 * See arch_operand.h. Widths are from Intel's manual, volume 2. A vector instruction that is not
 * listed here has an operand as wide as its vectors. Any other instruction that is not listed is
 * refused. A masked operand is as wide as all its elements together. Tests:
 * tests/engine/tracers/mmiotrace.
 */
#include "arch_operand.h"

#include <errno.h>

/* Prefixes that choose an instruction, as VEX numbers them. */
enum { PP_NONE, PP_66, PP_F3, PP_F2 };

struct vector {
	uint32_t map, pp, wide, bytes; /* wide: W; bytes: of the whole vector */
	uint32_t broadcast;
};

static uint32_t general_bytes(const struct insn *in)
{
	return in->rex & 8 ? 8 : in->operand16 ? 2 : 4;
}

static void rw(struct operand *o, uint32_t bytes, int reads, int writes)
{
	o->bytes = (uint16_t)bytes;
	o->reads = (uint8_t)reads;
	o->writes = (uint8_t)writes;
}

static int read_x87(struct operand *o, const struct insn *in, int writes)
{
	/* by opcode from d8, by the register of modrm; 0: refused */
	static const uint8_t bytes[8][8] = {
		{4, 4, 4, 4, 4, 4, 4, 4}, {4, 0, 4, 4, 28, 2, 28, 2},
		{4, 4, 4, 4, 4, 4, 4, 4}, {4, 4, 4, 4, 0, 10, 0, 10},
		{8, 8, 8, 8, 8, 8, 8, 8}, {8, 8, 8, 8, 108, 0, 108, 2},
		{2, 2, 2, 2, 2, 2, 2, 2}, {2, 2, 2, 2, 10, 8, 10, 8},
	};
	uint32_t n = bytes[in->opcode - 0xd8][in->modrm >> 3 & 7];

	o->vectors = 1;
	rw(o, n, !writes, writes);
	return n ? 0 : -EOPNOTSUPP;
}

static int read_ff(struct operand *o, const struct insn *in, uint32_t n)
{
	static const uint8_t hows[] = {OPERAND_PLAIN, OPERAND_PLAIN, OPERAND_CALL, OPERAND_PLAIN,
				       OPERAND_JUMP,  OPERAND_PLAIN, OPERAND_PUSH, OPERAND_PLAIN};
	uint32_t reg = in->modrm >> 3 & 7;

	if (reg < 2) {
		rw(o, n, 1, 1);
		return 0;
	}
	o->how = hows[reg];
	rw(o, 8, 1, 0);
	return o->how == OPERAND_PLAIN || in->operand16 ? -EOPNOTSUPP : 0;
}

static int read_one(struct operand *o, const struct insn *in, int writes)
{
	const uint8_t op = in->opcode;
	const uint32_t reg = in->modrm >> 3 & 7, n = op & 1 ? general_bytes(in) : 1;

	if (op < 0x40 && (op & 7) < 4) {
		o->reg_is_gpr = op & 1;
		rw(o, n, 1, !(op & 2) && op >> 3 != 7);
		return 0;
	}
	if (op >= 0xd8 && op <= 0xdf)
		return read_x87(o, in, writes);
	switch (op) {
	case 0x63:
		o->reg_is_gpr = 1;
		rw(o, 4, 1, 0);
		return 0;
	case 0x69:
	case 0x6b:
		o->reg_is_gpr = 1;
		rw(o, general_bytes(in), 1, 0);
		return 0;
	case 0x80:
	case 0x81:
	case 0x83:
		rw(o, n, 1, reg != 7);
		return 0;
	case 0x84:
	case 0x85:
	case 0x8a:
	case 0x8b:
		o->reg_is_gpr = op & 1;
		rw(o, n, 1, 0);
		return 0;
	case 0x86:
	case 0x87:
		o->reg_is_gpr = op & 1;
		rw(o, n, 1, 1);
		return 0;
	case 0x88:
	case 0x89:
		o->reg_is_gpr = op & 1;
		rw(o, n, 0, 1);
		return 0;
	case 0x8f:
		o->how = OPERAND_POP;
		rw(o, 8, 0, 1);
		return reg || in->operand16 ? -EOPNOTSUPP : 0;
	case 0xc0:
	case 0xc1:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		rw(o, n, 1, 1);
		return 0;
	case 0xc6:
	case 0xc7:
		rw(o, n, 0, 1);
		return 0;
	case 0xa4:
	case 0xa5:
		o->how = OPERAND_STRING;
		rw(o, n, 1, 1);
		return 0;
	case 0xaa:
	case 0xab:
		o->how = OPERAND_STRING;
		rw(o, n, 0, 1);
		return 0;
	case 0xa6:
	case 0xa7:
	case 0xac:
	case 0xad:
	case 0xae:
	case 0xaf:
		o->how = OPERAND_STRING;
		rw(o, n, 1, 0);
		return 0;
	case 0xf6:
	case 0xf7:
		rw(o, n, 1, reg == 2 || reg == 3);
		return 0;
	case 0xfe:
		rw(o, n, 1, 1);
		return reg < 2 ? 0 : -EOPNOTSUPP;
	case 0xff:
		return read_ff(o, in, n);
	default:
		return -EOPNOTSUPP;
	}
}

/*
 * Instructions of the map 0f on general registers. Return: 0; -EOPNOTSUPP; 1: it is none of them.
 */
static int read_0f(struct operand *o, const struct insn *in)
{
	const uint8_t op = in->opcode;
	const uint32_t n = general_bytes(in), reg = in->modrm >> 3 & 7;

	if (op >> 4 == 4 || op == 0xaf || op == 0xb8 || op == 0xbc || op == 0xbd) {
		o->reg_is_gpr = 1;
		rw(o, n, 1, 0);
		return 0;
	}
	if (op >> 4 == 9) {
		rw(o, 1, 0, 1);
		return 0;
	}
	switch (op) {
	case 0xa3:
	case 0xab:
	case 0xb3:
	case 0xbb:
		o->reg_is_gpr = o->bits = 1;
		rw(o, n, 1, op != 0xa3);
		return 0;
	case 0xba:
		rw(o, n, 1, reg > 4);
		return reg < 4 ? -EOPNOTSUPP : 0;
	case 0xa4:
	case 0xa5:
	case 0xac:
	case 0xad:
		o->reg_is_gpr = 1;
		rw(o, n, 1, 1);
		return 0;
	case 0xb0:
	case 0xb1:
		o->compares = 1;
		/* fall through */
	case 0xc0:
	case 0xc1:
		o->reg_is_gpr = op & 1;
		rw(o, op & 1 ? n : 1, 1, 1);
		return 0;
	case 0xb6:
	case 0xb7:
	case 0xbe:
	case 0xbf:
		o->reg_is_gpr = 1;
		rw(o, op & 1 ? 2 : 1, 1, 0);
		return 0;
	case 0xc3:
		o->reg_is_gpr = 1;
		rw(o, n, 0, 1);
		return 0;
	case 0xc7:
		o->compares = 1;
		rw(o, in->rex & 8 ? 16 : 8, 1, 1);
		return reg == 1 ? 0 : -EOPNOTSUPP;
	default:
		return 1;
	}
}

static uint32_t scalar(const struct vector *v)
{
	return v->pp == PP_F3 ? 4 : v->pp == PP_F2 ? 8 : v->bytes;
}

static uint32_t by_w(const struct vector *v)
{
	return v->wide ? 8 : 4;
}

static uint32_t mask_bytes(const struct vector *v)
{
	return v->pp == PP_66 ? v->wide ? 4 : 1 : v->wide ? 8 : 2;
}

/* The operand's bytes in the map 0f, legacy and with a vector prefix. 0: refused. */
static uint32_t vector_0f(const struct insn *in, const struct vector *v, int vex)
{
	const uint8_t op = in->opcode;

	if (op >= 0x51 && op <= 0x5f && op != 0x5a && op != 0x5b && (op < 0x54 || op > 0x57))
		return scalar(v);
	switch (op) {
	case 0x10:
	case 0x11:
	case 0xc2:
		return scalar(v);
	case 0x12:
		return v->pp == PP_F3 ? v->bytes : v->pp != PP_F2 || v->bytes == 16 ? 8 : v->bytes;
	case 0x13:
	case 0x17:
	case 0xd6:
		return 8;
	case 0x16:
		return v->pp == PP_F3 ? v->bytes : 8;
	case 0x2a:
		return v->pp < PP_F3 ? 8 : by_w(v);
	case 0x2c:
	case 0x2d:
		return v->pp == PP_NONE ? 8 : scalar(v);
	case 0x2e:
	case 0x2f:
		return v->pp == PP_66 ? 8 : 4;
	case 0x5a:
		return v->pp == PP_NONE ? v->bytes / 2 : scalar(v);
	case 0x60:
	case 0x61:
	case 0x62:
		return v->pp == PP_NONE ? 4 : v->bytes;
	case 0x6e:
		return by_w(v);
	case 0x78:
	case 0x79:
	case 0x7a:
	case 0x7b:
		return 0; /* EVEX's conversions */
	case 0x7e:
		return v->pp == PP_F3 ? 8 : by_w(v);
	case 0x90:
	case 0x91:
		return vex == OPERAND_VEX ? mask_bytes(v) : 0;
	case 0xae:
		return (in->modrm >> 3 & 7) == 2 || (in->modrm >> 3 & 7) == 3 ? 4 : 0;
	case 0xc4:
		return 2;
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xe1:
	case 0xe2:
	case 0xf1:
	case 0xf2:
	case 0xf3:
		return v->bytes > 16 ? 16 : v->bytes;
	case 0xe6:
		return v->pp == PP_F3 ? v->bytes / 2 : v->bytes;
	default:
		if (op < 0x10 || (op >= 0x18 && op < 0x28) || (op >= 0x30 && op < 0x50) ||
		    (op >= 0x80 && op < 0xc2) || (op >= 0xc7 && op < 0xd0))
			return 0;
		/* MMX (no prefix) accesses 8 bytes; SSE and AVX the whole vector */
		return v->pp == PP_NONE && op >= 0x60 && !vex && op != 0xc6 ? 8 : v->bytes;
	}
}

static uint32_t vector_0f38(const struct insn *in, const struct vector *v, int vex)
{
	static const uint8_t parts[8] = {2, 4, 8, 2, 4, 2, 0, 0};
	const uint8_t op = in->opcode;
	const uint32_t high = op >> 4;

	if ((high == 2 || high == 3 || (high == 1 && vex == OPERAND_EVEX && v->pp == PP_F3)) &&
	    (op & 15) < 6)
		return v->bytes / parts[op & 7];
	if ((high == 9 || high == 10 || high == 11) && (op & 15) < 6)
		return 0; /* gathers and scatters */
	if ((high == 9 || high == 10 || high == 11) && op & 1 && (op & 15) > 8)
		return by_w(v);
	switch (op) {
	case 0x13:
		return v->bytes / 2;
	case 0x18:
	case 0x58:
		return 4;
	case 0x19:
	case 0x59:
		return 8;
	case 0x1a:
	case 0x5a:
		return 16;
	case 0x1b:
	case 0x5b:
		return 32;
	case 0x2d:
	case 0x43:
	case 0x4d:
	case 0x4f:
	case 0xcb:
	case 0xcd:
		return vex == OPERAND_EVEX ? by_w(v) : v->bytes;
	case 0x78:
		return 1;
	case 0x79:
		return 2;
	case 0x62:
	case 0x63:
	case 0x88:
	case 0x89:
	case 0x8a:
	case 0x8b:
	case 0xc6:
	case 0xc7:
		return 0; /* compress, expand: a mask gives the width; prefetches of gathers */
	default:
		if (op >= 0xf0)
			return vex == OPERAND_VEX && op != 0xf4 ? by_w(v) : 0;
		return v->pp == PP_NONE && !vex ? (op < 0x20 ? 8 : 16) : v->bytes;
	}
}

static uint32_t vector_0f3a(const struct insn *in, const struct vector *v, int vex)
{
	switch (in->opcode) {
	case 0x0a:
	case 0x17:
	case 0x21:
		return 4;
	case 0x0b:
		return 8;
	case 0x14:
	case 0x20:
		return 1;
	case 0x15:
		return 2;
	case 0x16:
	case 0x22:
	case 0x27:
	case 0x51:
	case 0x55:
	case 0x57:
	case 0xf0:
		return by_w(v);
	case 0x18:
	case 0x19:
	case 0x38:
	case 0x39:
		return 16;
	case 0x1a:
	case 0x1b:
	case 0x3a:
	case 0x3b:
		return 32;
	case 0x1d:
		return v->bytes / 2;
	default:
		if (in->opcode >= 0x60 && in->opcode < 0x64)
			return 16;
		return v->pp == PP_NONE && !vex && in->opcode == 0x0f ? 8 : v->bytes;
	}
}

static uint32_t pp_of(const struct insn *in)
{
	return in->rep == 0xf3 ? PP_F3 : in->rep == 0xf2 ? PP_F2 : in->operand16 ? PP_66 : PP_NONE;
}

/* The fields of VEX and EVEX. @code: the instruction. Return: 0; -EOPNOTSUPP. */
static int read_payload(struct vector *v, struct operand *o, const struct insn *in,
			const uint8_t *code)
{
	const uint8_t *p = code;
	uint32_t third;

	while (*p != 0xc5 && *p != 0xc4 && *p != 0x62 && p < code + in->opcode_at)
		p++;
	o->first = (uint8_t)(p - code);
	if (*p == 0x62 && in->opcode_at - o->first == 4) {
		*v = (struct vector){.map = p[1] & 7,
				     .pp = p[2] & 3,
				     .wide = p[2] >> 7,
				     .bytes = 16u << (p[3] >> 5 & 3),
				     .broadcast = p[3] >> 4 & 1};
		o->vex = OPERAND_EVEX;
		o->is_masked = (p[3] & 7) != 0;
		return v->bytes > 64 ? -EOPNOTSUPP : 0;
	}
	if (*p == 0xc5 && in->opcode_at - o->first == 2)
		*v = (struct vector){.map = 1, .pp = p[1] & 3, .bytes = p[1] & 4 ? 32 : 16};
	else if (*p == 0xc4 && in->opcode_at - o->first == 3)
		*v = (struct vector){.map = p[1] & 31,
				     .pp = p[2] & 3,
				     .wide = p[2] >> 7,
				     .bytes = p[2] & 4 ? 32 : 16};
	else
		return -EOPNOTSUPP; /* XOP */
	o->vex = OPERAND_VEX;
	third = ~(uint32_t)code[in->opcode_at - 1] >> 3 & 15;
	if ((v->map == 2 || v->map == 3) && in->opcode >= 0xf0) {
		o->reg_is_gpr = 1;
		o->third = (uint8_t)third;
	}
	return 0;
}

int operand_read(struct operand *o, const struct insn *in, const uint8_t *code, int writes)
{
	struct vector v = {.pp = pp_of(in), .wide = in->rex >> 3 & 1, .bytes = 16};
	uint32_t n;
	int err;

	*o = (struct operand){.third = 0xff};
	if (in->map == INSN_MAP_ONE)
		return read_one(o, in, writes);
	if (in->map == INSN_MAP_0F) {
		err = read_0f(o, in);
		if (err <= 0)
			return err;
		v.map = 1;
	} else if (in->map == INSN_MAP_0F38) {
		v.map = 2;
		if (in->opcode == 0xf0 || in->opcode == 0xf1) {
			n = in->rep == 0xf2 && in->opcode == 0xf0 ? 1 : general_bytes(in);
			o->reg_is_gpr = 1;
			rw(o, n, !writes, writes);
			return 0;
		}
		if (in->opcode == 0xf6) {
			o->reg_is_gpr = 1;
			rw(o, by_w(&v), 1, 0);
			return 0;
		}
	} else if (in->map == INSN_MAP_0F3A) {
		v.map = 3;
	} else if (in->map == INSN_MAP_MORE) {
		err = read_payload(&v, o, in, code);
		if (err)
			return err;
	} else {
		return -EOPNOTSUPP;
	}
	o->vectors = 1;
	n = v.map == 1	 ? vector_0f(in, &v, o->vex)
	    : v.map == 2 ? vector_0f38(in, &v, o->vex)
	    : v.map == 3 ? vector_0f3a(in, &v, o->vex)
			 : 0;
	if (v.broadcast && n == v.bytes)
		n = by_w(&v);
	rw(o, n, !writes, writes);
	return n ? 0 : -EOPNOTSUPP;
}
