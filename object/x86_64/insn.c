/* SPDX-License-Identifier: MIT */
/*
 * See insn.h. A table for each map has the form of the bytes behind an opcode, a letter an opcode:
 *
 *	.	nothing			m	modrm and what that asks for
 *	b	1 byte			B	modrm and 1 byte
 *	w	2 bytes			Z	modrm and 2 or 4 bytes
 *	z	2 or 4 bytes		r	modrm, of registers always
 *	v	2, 4 or 8 bytes		e	enter's 3 bytes
 *	s	a short branch		l	a long one
 *	o	an address		F	modrm; an immediate when that says `test`
 *	p	a prefix		-	no instruction in 64-bit mode
 *
 * Vendors differ about a long branch with a prefix of 16 bits: it is refused. Tests:
 * tests/unit/test_insn (against another decoder, all of libc), tests/fuzz/insn.c.
 */
#include "object/x86_64/insn.h"

#include <errno.h>

#include <string.h>

static const char one_byte[] = "mmmmbz--mmmmbz-p" /* 00: 0f leads to the next map */
			       "mmmmbz--mmmmbz--"
			       "mmmmbzp-mmmmbzp-"
			       "mmmmbzp-mmmmbzp-"
			       "pppppppppppppppp" /* 40: rex */
			       "................"
			       "---mppppzZbB...." /* 60: 62 leads to EVEX */
			       "ssssssssssssssss"
			       "BZ-Bmmmmmmmmmmmm" /* 80 */
			       "..........-....."
			       "oooo....bz......" /* a0 */
			       "bbbbbbbbvvvvvvvv"
			       "BBw.--BZe.w..b-." /* c0: c4, c5 lead to VEX */
			       "mmmm---.mmmmmmmm"
			       "ssssbbbbll-s...." /* e0 */
			       "p.pp..FF......mm";

static const char two_bytes[] = "mmmm-.....-.-m.B" /* 00: 0f is 3DNow */
				"mmmmmmmmmmmmmmmm"
				"rrrr----mmmmmmmm"
				"......-.--------" /* 30: 38, 3a lead on */
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"BBBBmmm.mm--mmmm" /* 70 */
				"llllllllllllllll"
				"mmmmmmmmmmmmmmmm"
				"...mBm--...mBmmm" /* a0 */
				"mmmmmmmmmmBmmmmm"
				"mmBmBBBm........" /* c0 */
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm";

_Static_assert(sizeof(one_byte) == 257 && sizeof(two_bytes) == 257, "a letter an opcode");

struct cursor {
	const uint8_t *code;
	size_t n, at;
};

/* The next byte, which stays. Return: 0..255, or -1: there is none. */
static int peek(const struct cursor *c)
{
	return c->at < c->n && c->at < INSN_MAX_BYTES ? c->code[c->at] : -1;
}

static int take(struct cursor *c)
{
	int b = peek(c);

	c->at += b >= 0;
	return b;
}

static int32_t read_signed(const uint8_t *p, uint32_t bytes)
{
	int32_t word;

	if (bytes == 1)
		return (int8_t)*p;
	if (bytes == 2)
		return (int16_t)(p[0] | p[1] << 8);
	memcpy(&word, p, 4);
	return word;
}

/* Prefixes, REX among them. It counts only where the opcode follows at once. */
static void read_prefixes(struct insn *in, struct cursor *c)
{
	for (;;) {
		int b = peek(c);

		if (b < 0 || one_byte[b] != 'p' || b == 0x0f)
			return;
		c->at++;
		in->rex = (b & 0xf0) == 0x40 ? (uint8_t)b : 0;
		if (b == 0x66)
			in->operand16 = 1;
		else if (b == 0x67)
			in->address32 = 1;
		else if (b == 0xf0)
			in->lock = 1;
		else if (b == 0xf2 || b == 0xf3)
			in->rep = (uint8_t)b;
	}
}

/*
 * The form for an opcode of the maps that belong to VEX, EVEX and XOP alone; 0: no such map.
 */
static char vector_letter(uint32_t map, uint8_t opcode)
{
	switch (map) {
	case 1:
		return two_bytes[opcode] == 'B' || two_bytes[opcode] == '.' ? two_bytes[opcode]
									    : 'm';
	case 2:
	case 5:
	case 6:
	case 9:
		return 'm';
	case 3:
	case 8:
		return 'B';
	case 10:
		return 'Z';
	default:
		return 0;
	}
}

/* VEX, EVEX or XOP, of which the first byte is taken. @payload: bytes before the opcode. */
static char read_vector(struct insn *in, struct cursor *c, uint32_t payload, uint32_t map)
{
	int opcode;

	/* these have prefixes of their own, and bear no other */
	if (in->rex || in->rep || in->operand16 || in->lock)
		return 0;
	c->at += payload;
	in->opcode_at = (uint8_t)c->at;
	opcode = take(c);
	if (opcode < 0)
		return 0;
	in->map = INSN_MAP_MORE;
	in->opcode = (uint8_t)opcode;
	return vector_letter(map, in->opcode);
}

static char read_opcode(struct insn *in, struct cursor *c)
{
	int b, next;

	in->opcode_at = (uint8_t)c->at;
	b = take(c);
	next = peek(c);
	if (b < 0)
		return 0;
	if (next >= 0 && b == 0xc5)
		return read_vector(in, c, 1, 1);
	if (next >= 0 && b == 0xc4)
		return read_vector(in, c, 2, next & 31 && (next & 31) < 4 ? next & 31 : 0);
	if (next >= 0 && b == 0x62)
		return read_vector(in, c, 3, (next & 7) != 4 && (next & 15) < 7 ? next & 7 : 0);
	if (next >= 0 && b == 0x8f && (next & 31) >= 8)
		return read_vector(in, c, 2, next & 31);
	in->opcode = (uint8_t)b;
	if (b != 0x0f)
		return one_byte[b];
	in->opcode_at = (uint8_t)c->at;
	b = take(c);
	/* with a prefix 78 is another instruction, of an old processor */
	if (b < 0 || (b == 0x78 && (in->operand16 || in->rep)))
		return 0;
	in->map = b == 0x0f ? INSN_MAP_3DNOW : INSN_MAP_0F;
	in->opcode = (uint8_t)b;
	if (b != 0x38 && b != 0x3a)
		return two_bytes[b];
	in->map = b == 0x38 ? INSN_MAP_0F38 : INSN_MAP_0F3A;
	in->opcode_at = (uint8_t)c->at;
	b = take(c);
	if (b < 0)
		return 0;
	in->opcode = (uint8_t)b;
	return in->map == INSN_MAP_0F38 ? 'm' : 'B';
}

/* Return: 0; -1: the instruction is cut off. */
static int read_modrm(struct insn *in, struct cursor *c, int registers)
{
	int modrm = take(c), sib = 0, mod, rm;

	if (modrm < 0)
		return -1;
	in->has_modrm = 1;
	in->modrm = (uint8_t)modrm;
	mod = modrm >> 6;
	rm = modrm & 7;
	if (mod == 3 || registers)
		return 0;
	if (rm == 4) {
		in->sib_at = (uint8_t)c->at;
		sib = take(c);
		if (sib < 0)
			return -1;
	}
	if (mod == 1)
		in->disp_bytes = 1;
	else if (mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5))
		in->disp_bytes = 4;
	in->rip_relative = !mod && rm == 5;
	in->disp_at = in->disp_bytes ? (uint8_t)c->at : 0;
	c->at += in->disp_bytes;
	return 0;
}

static uint32_t imm_bytes(const struct insn *in, char letter)
{
	int wide = in->rex & 8, z = in->operand16 && !wide ? 2 : 4;

	switch (letter) {
	case 'b':
	case 'B':
	case 's':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'l':
		return 4;
	case 'z':
	case 'Z':
		/* XOP's have no 16 bits */
		return in->map == INSN_MAP_MORE ? 4 : z;
	case 'v':
		return wide ? 8 : z;
	case 'o':
		return in->address32 ? 4 : 8;
	case 'F':
		if (in->modrm >> 3 & 6)
			return 0;
		return in->opcode == 0xf6 ? 1 : z;
	default:
		return 0;
	}
}

static uint8_t kind_of_0f(const struct insn *in)
{
	uint8_t op = in->opcode;

	if (op == 0x05 || op == 0x34)
		return INSN_SYSCALL;
	if (op == 0x07 || op == 0x35)
		return INSN_RETURN;
	if (op == 0x0b || op == 0xb9 || op == 0xff)
		return INSN_TRAP;
	if (op == 0x1e && in->rep == 0xf3 && in->modrm == 0xfa)
		return INSN_ENDBR;
	if (op == 0x1f)
		return INSN_NOP;
	return op >> 4 == 8 ? INSN_JUMP_IF : INSN_OTHER;
}

static uint8_t kind_of_one(const struct insn *in)
{
	uint8_t op = in->opcode, reg = in->modrm >> 3 & 7;

	if (op >> 4 == 7)
		return INSN_JUMP_IF;
	switch (op) {
	case 0x90:
		return in->rex & 1 || in->rep ? INSN_OTHER : INSN_NOP;
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xcf:
		return INSN_RETURN;
	case 0xc7:
		return in->modrm == 0xf8 ? INSN_TRANSACTION : INSN_OTHER;
	case 0xcc:
		return INSN_INT3;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
		return INSN_LOOP;
	case 0xe8:
		return INSN_CALL;
	case 0xe9:
	case 0xeb:
		return INSN_JUMP;
	case 0xf4:
		return INSN_TRAP;
	case 0xff:
		if (reg == 2 || reg == 3)
			return INSN_CALL_INDIRECT;
		return reg == 4 || reg == 5 ? INSN_JUMP_INDIRECT : INSN_OTHER;
	default:
		return INSN_OTHER;
	}
}

uint32_t insn_decode(struct insn *in, const uint8_t *code, size_t n)
{
	struct cursor c = {code, n, 0};
	char letter;

	*in = (struct insn){0};
	read_prefixes(in, &c);
	letter = read_opcode(in, &c);
	if (!letter || letter == '-' || letter == 'p')
		return 0;
	if ((letter == 'm' || letter == 'r' || letter == 'B' || letter == 'Z' || letter == 'F') &&
	    read_modrm(in, &c, letter == 'r'))
		return 0;
	in->imm_bytes = (uint8_t)imm_bytes(in, letter);
	in->imm_at = in->imm_bytes ? (uint8_t)c.at : 0;
	c.at += in->imm_bytes;
	if (c.at > n || c.at > INSN_MAX_BYTES)
		return 0;
	if (in->map == INSN_MAP_ONE)
		in->kind = kind_of_one(in);
	else if (in->map == INSN_MAP_0F)
		in->kind = kind_of_0f(in);
	if (in->operand16 && !(in->rex & 8) &&
	    (letter == 'l' || in->kind == INSN_TRANSACTION || in->kind == INSN_JUMP_INDIRECT ||
	     in->kind == INSN_CALL_INDIRECT))
		return 0;
	if (insn_has_target(in))
		in->target = (int64_t)c.at + read_signed(code + in->imm_at, in->imm_bytes);
	in->bytes = (uint8_t)c.at;
	return in->bytes;
}

/* The displacement that leads from @end to @target. Return: 0 or -ERANGE. */
static int put_displacement(uint8_t *out, uint64_t end, uint64_t target)
{
	int64_t d = (int64_t)(target - end);
	int32_t word = (int32_t)d;

	if (word != d)
		return -ERANGE;
	memcpy(out, &word, 4);
	return 0;
}

static int move_jump(uint64_t target, uint64_t to, uint8_t *out)
{
	out[0] = 0xe9;
	return put_displacement(out + 1, to + 5, target) ? -ERANGE : 5;
}

static int move_jump_if(const struct insn *in, uint64_t target, uint64_t to, uint8_t *out)
{
	out[0] = 0x0f;
	out[1] = 0x80 | (in->opcode & 15);
	return put_displacement(out + 2, to + 6, target) ? -ERANGE : 6;
}

/* It has no long form: it jumps to a long jump, over a short one that leads behind that. */
static int move_loop(const struct insn *in, uint64_t target, uint64_t to, uint8_t *out)
{
	uint32_t at = 0;

	if (in->address32)
		out[at++] = 0x67;
	out[at++] = in->opcode;
	out[at++] = 2;
	out[at++] = 0xeb;
	out[at++] = 5;
	out[at] = 0xe9;
	return put_displacement(out + at + 1, to + at + 5, target) ? -ERANGE : (int)at + 5;
}

/* `push` and `movl` of a return address; the flags stay. */
static uint32_t push_return(uint64_t address, uint8_t *out)
{
	uint32_t lo = (uint32_t)address, hi = (uint32_t)(address >> 32);

	out[0] = 0x68;
	memcpy(out + 1, &lo, 4);
	memcpy(out + 5, "\xc7\x44\x24\x04", 4);
	memcpy(out + 9, &hi, 4);
	return 13;
}

static int copy(const struct insn *in, const uint8_t *code, uint64_t from, uint64_t to,
		uint8_t *out)
{
	int32_t disp;

	memcpy(out, code, in->bytes);
	if (!in->rip_relative)
		return in->bytes;
	/* an address of 32 bits wraps around elsewhere */
	if (in->address32)
		return -EOPNOTSUPP;
	memcpy(&disp, code + in->disp_at, 4);
	if (put_displacement(out + in->disp_at, to + in->bytes,
			     from + in->bytes + (uint64_t)(int64_t)disp))
		return -ERANGE;
	return in->bytes;
}

/* Whether the stack pointer is part of the operand: it has another value behind a push. */
static int uses_stack(const struct insn *in, const uint8_t *code)
{
	if (in->modrm >> 6 == 3)
		return (in->modrm & 7) == 4 && !(in->rex & 1);
	return in->sib_at && (code[in->sib_at] & 7) == 4 && !(in->rex & 1);
}

static int move_call_indirect(const struct insn *in, const uint8_t *code, uint64_t from,
			      uint64_t to, uint8_t *out)
{
	uint32_t n;
	int rest;

	if ((in->modrm >> 3 & 7) != 2 || uses_stack(in, code) || 13 + in->bytes > INSN_MAX_MOVED)
		return -EOPNOTSUPP;
	n = push_return(from + in->bytes, out);
	rest = copy(in, code, from, to + n, out + n);
	if (rest < 0)
		return rest;
	/* /2 is a call, /4 a jump */
	out[n + in->opcode_at + 1] ^= 2 << 3 ^ 4 << 3;
	return (int)n + rest;
}

int insn_move(const struct insn *in, const uint8_t *code, uint64_t from, uint64_t to, uint8_t *out)
{
	uint64_t target = from + (uint64_t)in->target;
	uint32_t n;
	int rest;

	switch (in->kind) {
	case INSN_JUMP:
		return move_jump(target, to, out);
	case INSN_JUMP_IF:
		return move_jump_if(in, target, to, out);
	case INSN_LOOP:
		return move_loop(in, target, to, out);
	case INSN_CALL:
		n = push_return(from + in->bytes, out);
		rest = move_jump(target, to + n, out + n);
		return rest < 0 ? rest : (int)n + rest;
	case INSN_CALL_INDIRECT:
		return move_call_indirect(in, code, from, to, out);
	case INSN_INT3:
	case INSN_TRANSACTION:
	case INSN_SYSCALL: /* the program may ask for the address of it, or of a trap */
	case INSN_TRAP:
		return -EOPNOTSUPP;
	default:
		return copy(in, code, from, to, out);
	}
}
