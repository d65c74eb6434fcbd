/* SPDX-License-Identifier: MIT */
/*
 * See insn.h. Each map has a table with one letter for each opcode: the form of the bytes behind
 * it.
 *
 *	.	nothing			m	modrm, and SIB and displacement if it has them
 *	b	1 byte			B	modrm and 1 byte
 *	w	2 bytes			Z	modrm and 2 or 4 bytes
 *	z	2 or 4 bytes		r	modrm, of registers always
 *	v	2, 4 or 8 bytes		e	the 3 bytes of `enter`
 *	s	a short branch		l	a long one
 *	o	an address		F	modrm; an immediate if the modrm means `test`
 *	p	a prefix		-	no instruction in 64-bit mode
 *
 * A long branch with a 16-bit prefix is refused, because vendors differ about it. Tests:
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

/* The meaning of a letter: MODRM, and how an immediate's bytes are found. */
enum {
	IMM_BYTES = 0x07, /* a mask: the number of its bytes */
	IMM_ASKS = 0x08,  /* imm_bytes() gives the number */
	MODRM = 0x10,
	REGISTERS = 0x20, /* the modrm always names registers */
	NOTHING = 0x40,	  /* no instruction */
};

static const uint8_t forms[128] = {
	['b'] = 1,
	['s'] = 1,
	['w'] = 2,
	['e'] = 3,
	['l'] = 4,
	['z'] = IMM_ASKS,
	['v'] = IMM_ASKS,
	['o'] = IMM_ASKS,
	['m'] = MODRM,
	['r'] = MODRM | REGISTERS,
	['B'] = MODRM | 1,
	['Z'] = MODRM | IMM_ASKS,
	['F'] = MODRM | IMM_ASKS,
	['p'] = NOTHING,
	['-'] = NOTHING,
	[0] = NOTHING,
};

/* More than the longest instruction with the most prefixes, so a read needs no check. */
#define ROOM 32u

/* Reads bytes; the caller has made sure that there are ROOM. */
struct cursor {
	const uint8_t *code;
	size_t at;
};

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
	uint8_t b = *c->code;

	for (; one_byte[b] == 'p' && b != 0x0f && c->at < INSN_MAX_BYTES; b = c->code[++c->at]) {
		in->rex = (b & 0xf0) == 0x40 ? b : 0;
		if (in->rex)
			continue;
		if (b == 0x66)
			in->operand16 = 1;
		else if (b == 0x67)
			in->address32 = 1;
		else if (b == 0xf0)
			in->lock = 1;
		else if (b == 0xf2 || b == 0xf3)
			in->rep = b;
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

/* VEX, EVEX or XOP; its first byte was read already. @payload: bytes before the opcode. */
static char read_vector(struct insn *in, struct cursor *c, uint32_t payload, uint32_t map)
{
	/* these contain their prefixes, and no other may precede them */
	if (in->rex || in->rep || in->operand16 || in->lock)
		return 0;
	c->at += payload;
	in->opcode_at = (uint8_t)c->at;
	in->map = INSN_MAP_MORE;
	in->opcode = c->code[c->at++];
	return vector_letter(map, in->opcode);
}

/* An opcode behind 0f. */
static char read_opcode_0f(struct insn *in, struct cursor *c)
{
	uint8_t b = c->code[c->at];

	in->opcode_at = (uint8_t)c->at++;
	/* with a prefix 78 is another instruction, of an old processor */
	if (b == 0x78 && (in->operand16 || in->rep))
		return 0;
	in->map = b == 0x0f ? INSN_MAP_3DNOW : INSN_MAP_0F;
	in->opcode = b;
	if (b != 0x38 && b != 0x3a)
		return two_bytes[b];
	in->map = b == 0x38 ? INSN_MAP_0F38 : INSN_MAP_0F3A;
	in->opcode_at = (uint8_t)c->at;
	in->opcode = c->code[c->at++];
	return in->map == INSN_MAP_0F38 ? 'm' : 'B';
}

static char read_opcode(struct insn *in, struct cursor *c)
{
	uint8_t b = c->code[c->at], next = c->code[c->at + 1];

	in->opcode_at = (uint8_t)c->at++;
	if (b == 0x0f)
		return read_opcode_0f(in, c);
	if (b == 0xc5)
		return read_vector(in, c, 1, 1);
	if (b == 0xc4)
		return read_vector(in, c, 2, next & 31 && (next & 31) < 4 ? next & 31 : 0);
	if (b == 0x62)
		return read_vector(in, c, 3, (next & 7) != 4 && (next & 15) < 7 ? next & 7 : 0);
	if (b == 0x8f && (next & 31) >= 8)
		return read_vector(in, c, 2, next & 31);
	in->opcode = b;
	return one_byte[b];
}

static void read_modrm(struct insn *in, struct cursor *c, int registers)
{
	uint8_t modrm = c->code[c->at++], sib = 0, mod, rm;

	in->has_modrm = 1;
	in->modrm = modrm;
	mod = modrm >> 6;
	rm = modrm & 7;
	if (mod == 3 || registers)
		return;
	if (rm == 4) {
		in->sib_at = (uint8_t)c->at;
		sib = c->code[c->at++];
	}
	if (mod == 1)
		in->disp_bytes = 1;
	else if (mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5))
		in->disp_bytes = 4;
	in->rip_relative = !mod && rm == 5;
	in->disp_at = in->disp_bytes ? (uint8_t)c->at : 0;
	c->at += in->disp_bytes;
}

/* The bytes of an immediate, if the letter alone does not give them. */
static uint32_t imm_bytes(const struct insn *in, char letter)
{
	int wide = in->rex & 8, z = in->operand16 && !wide ? 2 : 4;

	switch (letter) {
	case 'v':
		return wide ? 8 : z;
	case 'o':
		return in->address32 ? 4 : 8;
	case 'F':
		if (in->modrm >> 3 & 6)
			return 0;
		return in->opcode == 0xf6 ? 1 : z;
	default:
		/* XOP has no 16-bit form */
		return in->map == INSN_MAP_MORE ? 4 : z;
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

#define KIND_ASKS 0xffu /* bytes behind the opcode decide it */

static const uint8_t kinds[256] = {
	[0x70 ... 0x7f] = INSN_JUMP_IF,
	[0x90] = KIND_ASKS,
	[0xc2] = INSN_RETURN,
	[0xc3] = INSN_RETURN,
	[0xc7] = KIND_ASKS,
	[0xca] = INSN_RETURN,
	[0xcb] = INSN_RETURN,
	[0xcc] = INSN_INT3,
	[0xcf] = INSN_RETURN,
	[0xe0 ... 0xe3] = INSN_LOOP,
	[0xe8] = INSN_CALL,
	[0xe9] = INSN_JUMP,
	[0xeb] = INSN_JUMP,
	[0xf4] = INSN_TRAP,
	[0xff] = KIND_ASKS,
};

static uint8_t kind_of_one(const struct insn *in)
{
	uint8_t kind = kinds[in->opcode], reg = in->modrm >> 3 & 7;

	if (kind != KIND_ASKS)
		return kind;
	if (in->opcode == 0x90)
		return in->rex & 1 || in->rep ? INSN_OTHER : INSN_NOP;
	if (in->opcode == 0xc7)
		return in->modrm == 0xf8 ? INSN_TRANSACTION : INSN_OTHER;
	if (reg == 2 || reg == 3)
		return INSN_CALL_INDIRECT;
	return reg == 4 || reg == 5 ? INSN_JUMP_INDIRECT : INSN_OTHER;
}

/* Decode from a copy that has room behind it, when @n is small. */
static __attribute__((noinline)) uint32_t decode_few(struct insn *in, const uint8_t *code, size_t n)
{
	uint8_t copy[ROOM] = {0};

	memcpy(copy, code, n);
	return insn_decode(in, copy, ROOM) <= n ? in->bytes : 0;
}

uint32_t insn_decode(struct insn *in, const uint8_t *code, size_t n)
{
	struct cursor c = {code, 0};
	uint8_t form;
	char letter;

	if (n < ROOM)
		return decode_few(in, code, n);
	*in = (struct insn){0};
	read_prefixes(in, &c);
	letter = read_opcode(in, &c);
	form = forms[(uint8_t)letter];
	if (form & NOTHING)
		return 0;
	if (form & MODRM)
		read_modrm(in, &c, form & REGISTERS);
	in->imm_bytes = (uint8_t)(form & IMM_ASKS ? imm_bytes(in, letter) : form & IMM_BYTES);
	in->imm_at = in->imm_bytes ? (uint8_t)c.at : 0;
	c.at += in->imm_bytes;
	if (c.at > INSN_MAX_BYTES)
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

/* loop and jrcxz have no long form: it leads to a long jump, over a short one past that jump. */
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

/* Whether the operand uses the stack pointer, whose value is different after a push. */
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
