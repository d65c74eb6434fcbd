/* SPDX-License-Identifier: MIT */
/*
 * How a `syscall` in a text is made to lead to an island. There are two ways, each one store:
 *
 *	1. The instruction itself, two bytes, becomes a short jump to five bytes of padding near by,
 *	which jump to the island. A thread that is blocked in the call is behind the instruction. A
 *	thread that arrives executes the old or the new one. No other instruction changes.
 *
 *	2. Without padding within reach: an instruction of five bytes or more before it, in straight
 *	code, becomes the jump, and the island begins with the code between. A thread that jumps
 *	into that code makes the call without the engine.
 *
 * Padding is between functions, and behind an instruction that does not continue, up to the next
 * target of a jump. rt_sigreturn is left alone: debuggers recognise the return from a handler by
 * its bytes. Pure functions. Tests: tests/engine/events/syscalls.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "arch_patch.h"
#include "engine/base/mem.h"
#include "engine/core/text_patch.h"
#include "engine/hook/libc/syscall_sites.h"
#include "object/x86_64/insn.h"
#include "engine/hook/x86_64/syscall_entry.h"

#define SYSCALL_BYTES 2u
#define MAX_NUMBER    4096u
#define MAX_BEFORE    6u /* instructions between the jump and the call */

const uint32_t syscall_island_bytes = ISLAND_BYTES;

/* The CFA is rsp; the return address is *((rip & -ISLAND_BYTES) + ISLAND_BACK). */
const uint8_t syscall_island_rules[] = {0x0c, 7,    0,		 0x16, 16,
					8,    0x80, 0,		 0x09, (uint8_t)-ISLAND_BYTES,
					0x1a, 0x23, ISLAND_BACK, 0x06};
const size_t syscall_island_rules_bytes = sizeof(syscall_island_rules);

static int is_syscall(const uint8_t *p)
{
	return p[0] == 0x0f && p[1] == 0x05;
}

/* The number that an instruction loads into eax; -1: none. */
static int32_t loaded_number(const uint8_t *p, uint32_t bytes)
{
	uint32_t nr = MAX_NUMBER;

	if (bytes == 2 && p[0] == 0x31 && p[1] == 0xc0)
		return 0;
	if (bytes == 5 && p[0] == 0xb8)
		memcpy(&nr, p + 1, 4);
	if (bytes == 7 && p[0] == 0x48 && p[1] == 0xc7 && p[2] == 0xc0)
		memcpy(&nr, p + 3, 4);
	return nr < MAX_NUMBER ? (int32_t)nr : -1;
}

/*
 * Whether an instruction surely does not change eax. Knows the instructions that prepare a call, by
 * the operand that they write: the modrm's lower bits, its middle bits, nothing or a vector.
 */
static int keeps_eax(const struct insn *in)
{
	int low_is_eax = in->modrm >> 6 == 3 && !(in->modrm & 7) && !(in->rex & 1);
	int middle_is_eax = !(in->modrm >> 3 & 7) && !(in->rex & 4);

	if (in->kind == INSN_NOP || in->kind == INSN_ENDBR || in->kind == INSN_JUMP_IF)
		return 1;
	if (in->kind != INSN_OTHER)
		return 0;
	if (in->map == INSN_MAP_0F)
		return in->opcode == 0x11 || in->opcode == 0x16 || in->opcode == 0x28 ||
		       in->opcode == 0x29 || in->opcode == 0x6c || in->opcode == 0x6f ||
		       in->opcode == 0x7f || in->opcode == 0xef;
	if (in->map != INSN_MAP_ONE)
		return 0;
	switch (in->opcode) {
	case 0x01: /* add, or, and, sub, xor, mov to the lower */
	case 0x09:
	case 0x21:
	case 0x29:
	case 0x31:
	case 0x81:
	case 0x83:
	case 0x88:
	case 0x89:
	case 0xc6:
	case 0xc7:
		return !low_is_eax;
	case 0x03: /* the same to the middle, movslq, lea */
	case 0x0b:
	case 0x23:
	case 0x2b:
	case 0x33:
	case 0x63:
	case 0x8b:
	case 0x8d:
		return !middle_is_eax;
	case 0x39: /* cmp, test */
	case 0x3b:
	case 0x84:
	case 0x85:
		return 1;
	default:
		return in->opcode > 0xb8 && in->opcode <= 0xbf;
	}
}

static int same_line(const uint8_t *p, uint32_t n)
{
	return (uintptr_t)p / TEXT_LINE_BYTES == (uintptr_t)(p + n - 1) / TEXT_LINE_BYTES;
}

/*
 * Whether an instruction may change the stack pointer, which unwinders expect to be as at the call.
 */
static int moves_stack(const struct insn *in)
{
	if (in->map != INSN_MAP_ONE)
		return 0;
	if ((in->opcode >= 0x50 && in->opcode < 0x60) || in->opcode == 0x68 || in->opcode == 0x6a ||
	    in->opcode == 0x8f || in->opcode == 0xc8 || in->opcode == 0xc9 ||
	    (in->opcode >= 0x9c && in->opcode <= 0x9d))
		return 1;
	if (in->opcode == 0xff && (in->modrm >> 3 & 7) == 6)
		return 1;
	if (!in->has_modrm)
		return in->opcode == 0xbc; /* mov imm, %esp */
	/* of registers: the first or the second is rsp */
	return (in->modrm >> 6 == 3 && (in->modrm & 7) == 4 && !(in->rex & 1)) ||
	       ((in->modrm >> 3 & 7) == 4 && !(in->rex & 4) &&
		(in->opcode == 0x8b || in->opcode == 0x8d || in->opcode == 0x03 ||
		 in->opcode == 0x2b));
}

static int may_move(const struct insn *in)
{
	return (in->kind == INSN_OTHER || in->kind == INSN_NOP || in->kind == INSN_JUMP_IF) &&
	       !moves_stack(in);
}

/* The addresses of the last few instructions. */
struct before {
	uint8_t *at[MAX_BEFORE];
	uint32_t nr;
};

static void push(struct before *b, uint8_t *at)
{
	uint32_t i;

	if (b->nr == MAX_BEFORE) {
		for (i = 1; i < MAX_BEFORE; i++)
			b->at[i - 1] = b->at[i];
		b->nr--;
	}
	b->at[b->nr++] = at;
}

/* The nearest one that is long enough and can be replaced; NULL: none. */
static uint8_t *long_one(const struct before *b, const uint8_t *call)
{
	const uint8_t *next = call;
	uint32_t i;

	for (i = b->nr; i--; next = b->at[i])
		if (next - b->at[i] >= (long)ARCH_JUMP_BYTES &&
		    same_line(b->at[i], ARCH_JUMP_BYTES))
			return b->at[i];
	return NULL;
}

/*
 * Whether it is `mov %rsi, %rax`, which only __syscall_cancel_arch() of glibc from 2.41 on has
 * before a call. The cancellation of a thread checks whether the thread is there.
 */
static int is_second_argument(const uint8_t *p, uint32_t bytes)
{
	return bytes == 3 && p[0] == 0x48 && p[1] == 0x89 && p[2] == 0xf0;
}

int syscall_may_be_in(const uint8_t *lo, const uint8_t *hi)
{
	for (; lo + SYSCALL_BYTES <= hi; lo++)
		if (is_syscall(lo))
			return 1;
	return 0;
}

/* Mark the targets of its branches. Return: whether all of it could be decoded. */
static int mark_targets(const uint8_t *lo, const uint8_t *hi, uint8_t *is_target)
{
	const uint8_t *p;
	struct insn in;

	for (p = lo; p < hi; p += in.bytes) {
		uint64_t to;

		if (!insn_decode(&in, p, (size_t)(hi - p)))
			return 0;
		to = (uint64_t)(p - lo) + (uint64_t)in.target;
		if (insn_has_target(&in) && to < (uint64_t)(hi - lo))
			is_target[to] = 1;
	}
	return 1;
}

/* The end of the padding behind an instruction that does not continue. */
static uint8_t *end_of_padding(uint8_t *p, uint8_t *lo, uint8_t *hi, const uint8_t *is_target)
{
	struct insn in;

	while (p < hi && !is_target[p - lo] && insn_decode(&in, p, (size_t)(hi - p)) &&
	       (in.kind == INSN_NOP || in.kind == INSN_INT3))
		p += in.bytes;
	return p;
}

void syscall_scan(uint8_t *lo, uint8_t *hi, uint8_t *is_target, const struct syscall_found *found,
		  void *arg)
{
	struct before before = {.nr = 0};
	int whole = mark_targets(lo, hi, is_target), by_argument = 0;
	int32_t nr = -1, loaded;
	struct insn in;
	uint8_t *p, *end;

	for (p = lo; p < hi && insn_decode(&in, p, (size_t)(hi - p)); p += in.bytes) {
		/* a jump may come here with another number in eax */
		if (is_target[p - lo] || !whole)
			nr = -1;
		if (in.kind == INSN_SYSCALL && is_syscall(p) && nr != SYS_rt_sigreturn) {
			struct syscall_site site = {.call = p,
						    .back = p + SYSCALL_BYTES,
						    .before = long_one(&before, p),
						    .nr = (int16_t)nr,
						    .refused = by_argument};

			found->site(arg, &site);
		}
		loaded = loaded_number(p, in.bytes);
		if (loaded >= 0 || !keeps_eax(&in))
			nr = loaded;
		by_argument = is_second_argument(p, in.bytes) || (by_argument && keeps_eax(&in));
		if (may_move(&in))
			push(&before, p);
		else
			before.nr = 0;
		if (!whole || insn_goes_on(&in))
			continue;
		end = end_of_padding(p + in.bytes, lo, hi, is_target);
		if (end < hi && end > p + in.bytes)
			found->pad(arg, p + in.bytes, end);
	}
}

/*
 * Copy the code from @site->before on, to run at @to; @out has SYSCALL_PRE_MAX bytes. Return: bytes
 * or -errno.
 */
static int move_before(const struct syscall_site *site, uint64_t to, uint8_t *out)
{
	uint8_t one[INSN_MAX_MOVED];
	const uint8_t *p;
	struct insn in;
	uint32_t n = 0;

	for (p = site->before; p < site->call; p += in.bytes) {
		int moved;

		if (!insn_decode(&in, p, (size_t)(site->call - p)))
			return -EOPNOTSUPP;
		moved = insn_move(&in, p, (uint64_t)p, to + n, one);
		if (moved < 0)
			return moved;
		if (n + (uint32_t)moved > SYSCALL_PRE_MAX)
			return -ENOSPC;
		memcpy(out + n, one, (size_t)moved);
		n += (uint32_t)moved;
	}
	return (int)n;
}

static int32_t from(const uint8_t *end, const uint8_t *to)
{
	return (int32_t)(to - end);
}

struct code {
	uint8_t *p;
};

static void put(struct code *c, const void *bytes, uint32_t n)
{
	memcpy(c->p, bytes, n);
	c->p += n;
}

/* Put an instruction whose last four bytes are the distance to @to. */
static void put_to(struct code *c, const void *bytes, uint32_t n, const void *to)
{
	int32_t disp = from(c->p + n + 4, to);

	put(c, bytes, n);
	put(c, &disp, 4);
}

/*
 * Put a tail: a call that returns on another stack, or in a child too; then its number goes into
 * ecx, and it jumps to @next.
 */
static void put_tail(struct code *c, uint32_t nr, const uint8_t *next)
{
	static const uint8_t syscall_and_move[] = {0x0f, 0x05, 0xb9};
	uint8_t jump[] = {0xeb, 0};

	put(c, syscall_and_move, sizeof(syscall_and_move));
	put(c, &nr, 4);
	if (c->p == next)
		return;
	jump[1] = (uint8_t)(next - (c->p + sizeof(jump)));
	put(c, jump, sizeof(jump));
}

/* Write the island. @pre: the @n bytes of moved code that come first. */
static void make_island(const struct syscall_site *site, uint8_t *island, const uint8_t *pre,
			uint32_t n, const uint64_t *hooks)
{
	static const uint8_t lea_rcx[] = {0x48, 0x8d, 0x0d}, lea_r11[] = {0x4c, 0x8d, 0x1d};
	static const uint8_t jump_by[] = {0xff, 0x25}, test_eax[] = {0x85, 0xc0};
	static const uint8_t jz[] = {0x0f, 0x84};
	uint8_t *behind_tails = island + TAIL_CLONE + 7;
	struct code c = {island + ISLAND_MAIN - n};

	memset(island, 0xcc, ISLAND_BYTES);
	put(&c, pre, n);
	put_to(&c, lea_rcx, sizeof(lea_rcx), island);
	put_to(&c, jump_by, sizeof(jump_by), &hooks[0]);
	memcpy(island + ISLAND_BACK, &site->back, 8);
	c.p = island + ISLAND_TAILS;
	put_tail(&c, SYS_vfork, behind_tails);
	put_tail(&c, SYS_clone3, behind_tails);
	put_tail(&c, SYS_clone, behind_tails);
	put(&c, test_eax, sizeof(test_eax));
	put_to(&c, jz, sizeof(jz), site->back);
	put_to(&c, lea_r11, sizeof(lea_r11), island);
	put_to(&c, jump_by, sizeof(jump_by), &hooks[1]);
}

static void lead_by_relay(struct syscall_site *site, uint8_t *island, const uint64_t *hooks)
{
	make_island(site, island, NULL, 0, hooks);
	arch_make_jump(text_at(site->relay),
		       from(site->relay + ARCH_JUMP_BYTES, island + ISLAND_MAIN));
	site->at = site->call;
	site->bytes = SYSCALL_BYTES;
	site->code_on[0] = 0xeb;
	site->code_on[1] = (uint8_t)(site->relay - (site->call + SYSCALL_BYTES));
}

int syscall_lead(struct syscall_site *site, uint8_t *island, const uint64_t *hooks)
{
	uint8_t pre[SYSCALL_PRE_MAX];
	uint8_t *entry = island + ISLAND_MAIN;
	int n;

	if (site->relay) {
		lead_by_relay(site, island, hooks);
	} else {
		if (!site->before || site->refused)
			return -EOPNOTSUPP;
		n = move_before(site, (uint64_t)entry, pre);
		/* its length does not depend on its address */
		if (n >= 0)
			n = move_before(site, (uint64_t)(entry - n), pre);
		if (n < 0)
			return n;
		make_island(site, island, pre, (uint32_t)n, hooks);
		site->at = site->before;
		site->bytes = ARCH_JUMP_BYTES;
		arch_make_jump(site->code_on, from(site->at + ARCH_JUMP_BYTES, entry - n));
	}
	memcpy(site->code_off, site->at, site->bytes);
	return 0;
}

/* Take padding that a short jump reaches: the lowest, since sites come sorted. */
uint8_t *syscall_take_pad(struct syscall_pad *pads, uint32_t nr, const struct syscall_site *site)
{
	const uint8_t *lowest = site->back - 128, *highest = site->back + 127;
	uint32_t i;

	if (site->refused || !same_line(site->call, SYSCALL_BYTES))
		return NULL;
	for (i = 0; i < nr && pads[i].lo <= highest; i++) {
		uint8_t *relay = pads[i].lo;

		if (relay < lowest)
			relay += lowest - relay;
		if (relay > highest || relay + ARCH_JUMP_BYTES > pads[i].hi)
			continue;
		pads[i].lo = relay + ARCH_JUMP_BYTES;
		return relay;
	}
	return NULL;
}
