/* SPDX-License-Identifier: MIT */
/*
 * See arch_access.h. The instruction is copied. In the copy, the operand in memory is addressed by
 * a register that the instruction does not use.
 *
 * An operand of 1, 2, 4 or 8 bytes: the copy works on a word on the handler's stack. The word's
 * value is read from memory in one access and written to memory in one access. If the instruction
 * reads and writes, it is repeated until no other thread wrote in between. So the reported values
 * are exactly what the program read and wrote. Any other operand: the copy works on the memory
 * itself. The reported values are what was there before it (a read) or after it (a write).
 *
 * A copy depends only on its bytes. It is never freed, and it is used again for equal bytes. The
 * memory of the copies is mapped readable and executable; it is written through /proc/self/mem. A
 * copy runs on the registers of the handler's context; the vector registers are loaded from the
 * context and saved to it. The repetitions of a string instruction (rep) are done one by one, at
 * most MAX_REPEATS in one handler.
 *
 * fork: the child has the copies that were complete. Tests: tests/engine/tracers/mmiotrace.
 */
#include "arch_access.h"

#include <errno.h>
#include <ucontext.h>

#include "arch_access_run.h"
#include "arch_barrier.h"
#include "arch_operand.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/hash.h"
#include "engine/base/mem.h"

#define MAX_REPEATS 4096u
#define NR_REGS	    16u
#define FLAGS	    16u /* their index */
#define FLAG_ZERO   0x40u
#define FLAG_TRAP   0x100u
#define SP	    4u
#define STATES	    0xe7u /* x87, SSE, AVX and AVX-512 of the extended state */
#define STATE_MAGIC 0x46505853u

#define COPY_BYTES 32u
#define NR_COPIES  2048u

enum { COPY_EMPTY, COPY_WRITING, COPY_READY };
static uint8_t *copies;
static uint8_t copy_states[NR_COPIES] BIG_ZEROS;

/* The registers in ucontext, by their numbers in instructions. */
static const uint8_t context_reg[NR_REGS] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8,	 REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

/* The state of one handler. */
struct access {
	greg_t *context;
	uint64_t regs[NR_REGS + 1];
	uint64_t pc;
	struct insn in;
	struct operand o;
	uint8_t code[INSN_MAX_BYTES];
	void *state;
	uint64_t states;
	struct arch_access_user *u;
};

int arch_access_recover(void *context, uint64_t address)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint64_t ip = (uint64_t)regs[REG_RIP];

	if (copies && ip - (uint64_t)copies < (uint64_t)COPY_BYTES * NR_COPIES) {
		/* the address is passed in the word of the stack pointer, which has no other use */
		(*(uint64_t **)(regs[REG_RSP] + REGS_AT))[SP] = address;
		regs[REG_RIP] = (greg_t)(uintptr_t)arch_access_fail;
		return 1;
	}
	if (ip - (uint64_t)arch_access_get <
	    (uint64_t)arch_access_refuse - (uint64_t)arch_access_get) {
		regs[REG_RIP] = (greg_t)(uintptr_t)arch_access_refuse;
		return 1;
	}
	return 0;
}

/*
 * A copy of the @n bytes at @code, followed by the jump to TAIL_AT: an earlier one, or a new one.
 * NULL: the table is full, or the copy could not be written.
 */
static const uint8_t *get_copy(const uint8_t *code, uint32_t n)
{
	uint8_t bytes[COPY_BYTES] = {0};
	const int32_t tail = TAIL_AT;
	uint64_t hash = 0;
	uint32_t i, at, tries;
	int mem;
	long done;

	memcpy(bytes, code, n);
	memcpy(bytes + n, "\xff\xa4\x24", 3);
	memcpy(bytes + n + 3, &tail, 4);
	for (i = 0; i < n; i++)
		hash = hash_byte(hash, bytes[i]);
	at = (uint32_t)(hash >> 20) % NR_COPIES;
	for (i = 0; i < 64; i++, at = (at + 1) % NR_COPIES) {
		uint8_t *to = copies + (size_t)at * COPY_BYTES;

		if (compare_and_store(&copy_states[at], COPY_EMPTY, COPY_WRITING)) {
			mem = sys_open("/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
			done = mem < 0 ? mem : sys_pwrite(mem, bytes, COPY_BYTES, (uint64_t)to);
			if (mem >= 0)
				sys_close(mem);
			store_release(&copy_states[at],
				      (uint8_t)(done == COPY_BYTES ? COPY_READY : COPY_EMPTY));
			return done == COPY_BYTES ? to : NULL;
		}
		for (tries = 0; load_acquire(&copy_states[at]) == COPY_WRITING && tries < 100000000;
		     tries++)
			arch_relax();
		if (load_acquire(&copy_states[at]) == COPY_READY && !memcmp(to, bytes, COPY_BYTES))
			return to;
	}
	return NULL;
}

int arch_access_get_word(uint64_t *value, const void *from)
{
	return arch_access_get(value, from, 8);
}

int arch_access_start(void)
{
	long p;

	if (copies)
		return 0;
	p = sys_mmap(NULL, (size_t)COPY_BYTES * NR_COPIES, PROT_READ | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_failed(p))
		return (int)p;
	store_release(&copies, (uint8_t *)p);
	return 0;
}

void arch_access_fork(void)
{
	uint32_t i;

	for (i = 0; i < NR_COPIES; i++)
		if (copy_states[i] == COPY_WRITING)
			copy_states[i] = COPY_EMPTY;
}

/* The number of modrm's register, with the bit of a rex prefix. */
static uint32_t reg_of(const struct access *a)
{
	return (a->in.modrm >> 3 & 7) | (a->in.rex & 4 ? 8 : 0);
}

/* The fourth bits of the operand's base and index, as 8 or 0; VEX and EVEX have them inverted. */
static void extensions(const struct access *a, uint32_t *base, uint32_t *index)
{
	const uint8_t *first = a->code + a->o.first;

	*base = a->in.rex & 1 ? 8 : 0;
	*index = a->in.rex & 2 ? 8 : 0;
	if (a->o.vex == OPERAND_LEGACY || first[0] == 0xc5)
		return;
	*base = first[1] & 0x20 ? 0 : 8;
	*index = first[1] & 0x40 ? 0 : 8;
}

static uint64_t address_of(const struct access *a)
{
	const uint32_t mod = a->in.modrm >> 6, rm = a->in.modrm & 7;
	uint32_t base_bit, index_bit;
	uint64_t at = 0;
	int32_t disp = 0;

	extensions(a, &base_bit, &index_bit);
	if (a->in.disp_bytes == 1)
		disp = (int8_t)a->code[a->in.disp_at];
	else if (a->in.disp_bytes)
		memcpy(&disp, a->code + a->in.disp_at, 4);
	if (a->in.rip_relative)
		return a->pc + a->in.bytes + (uint64_t)(int64_t)disp;
	if (a->in.sib_at) {
		const uint8_t sib = a->code[a->in.sib_at];
		const uint32_t index = (sib >> 3 & 7) | index_bit;

		if ((sib & 7) != 5 || mod)
			at = a->regs[(sib & 7) | base_bit];
		if (index != SP)
			at += a->regs[index] << (sib >> 6);
	} else {
		at = a->regs[rm | base_bit];
	}
	at += (uint64_t)(int64_t)disp;
	/* pop computes its address with the stack pointer as it is after the pop */
	if (a->o.how == OPERAND_POP && a->in.sib_at && (a->code[a->in.sib_at] & 7) == SP &&
	    !base_bit)
		at += 8;
	return a->in.address32 ? (uint32_t)at : at;
}

/*
 * A register that is neither @not nor used by the instruction. The four can be a base without a
 * prefix or a SIB byte.
 */
static uint32_t spare(const struct access *a, uint32_t not )
{
	static const uint8_t regs[] = {7, 6, 3, 5};
	uint32_t i;

	for (i = 0; i < 3; i++)
		if (regs[i] != reg_of(a) && regs[i] != a->o.third && regs[i] != not )
			break;
	return regs[i];
}

/*
 * The instruction with its operand at the address in register @at. @sp: the register that replaces
 * the stack pointer as modrm's register; NR_REGS: none. Return: the length in bytes.
 */
static uint32_t rewrite(const struct access *a, uint32_t at, uint32_t sp, uint8_t *out)
{
	const struct insn *in = &a->in;
	uint32_t n = 0, i, reg = in->modrm >> 3 & 7;

	for (i = a->o.vex == OPERAND_LEGACY ? 0 : a->o.first; i < in->opcode_at; i++) {
		const uint8_t b = a->code[i];

		if (a->o.vex == OPERAND_LEGACY &&
		    (b == 0x67 || b == 0x2e || b == 0x36 || b == 0x3e || b == 0x26))
			continue;
		/* a rex that counts is right before the opcode and its 0f */
		out[n++] =
			a->o.vex == OPERAND_LEGACY && in->rex && b == in->rex && (b & 0xf0) == 0x40
				? b & ~3
				: b;
	}
	if (a->o.vex != OPERAND_LEGACY && out[0] != 0xc5)
		out[1] |= 0x60; /* neither base nor index is one of the upper registers */
	out[n++] = in->opcode;
	if (sp != NR_REGS)
		reg = sp;
	out[n++] = (uint8_t)(reg << 3 | at);
	memcpy(out + n, a->code + in->imm_at, in->imm_bytes);
	return n + in->imm_bytes;
}

static int has_segment(const struct access *a)
{
	uint32_t i;

	for (i = 0; i < a->in.opcode_at; i++)
		if (a->code[i] == 0x64 || a->code[i] == 0x65)
			return 1;
		else if (a->code[i] == 0xc4 || a->code[i] == 0xc5 || a->code[i] == 0x62)
			return 0;
	return 0;
}

static int run(struct access *a, uint64_t *regs, const uint8_t *copy)
{
	void *state = a->o.vectors ? a->state : NULL;
	int err;

	regs[FLAGS] &= ~(uint64_t)FLAG_TRAP;
	err = arch_access_run(regs, copy, state, a->states);
	if (err)
		a->u->fault = regs[SP];
	return err;
}

static int get(struct access *a, uint64_t *value, const uint8_t *from, uint32_t bytes)
{
	int err = arch_access_get(value, from, bytes);

	if (err)
		a->u->fault = (uint64_t)from;
	return err;
}

static int put(struct access *a, uint8_t *to, uint64_t value, uint32_t bytes)
{
	int err = arch_access_put(to, value, bytes);

	if (err)
		a->u->fault = (uint64_t)to;
	return err;
}

static void note(struct access *a, uint64_t at, uint32_t bytes, int is_write, uint64_t value)
{
	a->u->note(a->u, at, bytes, is_write, value, a->pc);
}

/* Report an access of any size, in words of at most 8 bytes. */
static void note_wide(struct access *a, uint64_t at, const uint8_t *from, uint32_t bytes,
		      int is_write)
{
	uint64_t value;
	uint32_t n;

	for (; bytes; at += n, from += n, bytes -= n) {
		n = bytes >= 8 ? 8 : bytes >= 4 ? 4 : bytes >= 2 ? 2 : 1;
		if (!arch_access_get(&value, from, n))
			note(a, at, n, is_write, value);
	}
}

static int exchange(uint8_t *at, uint64_t was, uint64_t now, uint32_t bytes)
{
	switch (bytes) {
	case 1:
		return compare_and_store(at, (uint8_t)was, (uint8_t)now);
	case 2:
		return compare_and_store((uint16_t *)at, (uint16_t)was, (uint16_t)now);
	case 4:
		return compare_and_store((uint32_t *)at, (uint32_t)was, (uint32_t)now);
	default:
		return compare_and_store((uint64_t *)at, was, now);
	}
}

/*
 * Run the copy on a word of ours. @distance: in bytes from the address of the operand to the one
 * that is accessed (bit_distance()).
 */
static int do_word(struct access *a, const uint8_t *copy, uint32_t reg, uint32_t sp, uint64_t at,
		   uint8_t *real, uint64_t distance)
{
	uint64_t word[2], regs[NR_REGS + 1], was;
	int err;

	for (;;) {
		was = 0;
		if (a->o.reads) {
			err = get(a, &was, real, a->o.bytes);
			if (err)
				return err;
		}
		word[0] = was;
		word[1] = 0;
		memcpy(regs, a->regs, sizeof(regs));
		if (sp != NR_REGS)
			regs[sp] = a->regs[SP];
		regs[reg] = (uint64_t)word - distance;
		err = run(a, regs, copy);
		if (err)
			return err;
		if (!a->o.writes)
			break;
		if (!a->o.reads) {
			err = put(a, real, word[0], a->o.bytes);
			if (err)
				return err;
			break;
		}
		if (exchange(real, was, word[0], a->o.bytes))
			break;
	}
	if (a->o.reads)
		note(a, at, a->o.bytes, 0, was);
	if (a->o.writes && (!a->o.compares || regs[FLAGS] & FLAG_ZERO))
		note(a, at, a->o.bytes, 1, word[0]);
	memcpy(a->regs, regs, sizeof(regs));
	return 0;
}

/* Run the copy on the memory itself. */
static int do_wide(struct access *a, const uint8_t *copy, uint32_t reg, uint32_t sp, uint64_t at,
		   uint8_t *real)
{
	uint64_t regs[NR_REGS + 1];
	uint8_t before[128];
	uint32_t i;
	int err;

	if (a->o.bytes > sizeof(before))
		return -EOPNOTSUPP;
	for (i = 0; a->o.reads && i < a->o.bytes; i++)
		before[i] = ((const volatile uint8_t *)real)[i];
	memcpy(regs, a->regs, sizeof(regs));
	if (sp != NR_REGS)
		regs[sp] = a->regs[SP];
	regs[reg] = (uint64_t)real;
	err = run(a, regs, copy);
	if (err)
		return err;
	if (a->o.reads)
		note_wide(a, at, before, a->o.bytes, 0);
	if (a->o.writes && (!a->o.compares || regs[FLAGS] & FLAG_ZERO))
		note_wide(a, at, real, a->o.bytes, 1);
	memcpy(a->regs, regs, sizeof(regs));
	return 0;
}

/*
 * bt and its kind: the distance in bytes from the operand's address to the word that has the bit
 * of the register's number. 0 for other instructions.
 */
static uint64_t bit_distance(const struct access *a)
{
	int64_t bit;

	if (!a->o.bits)
		return 0;
	bit = (int64_t)a->regs[reg_of(a)];
	if (a->o.bytes == 4)
		bit = (int32_t)bit;
	else if (a->o.bytes == 2)
		bit = (int16_t)bit;
	return (uint64_t)((bit >> (a->o.bytes == 8 ? 6 : a->o.bytes == 4 ? 5 : 4)) * a->o.bytes);
}

static int do_plain(struct access *a)
{
	uint8_t bytes[COPY_BYTES];
	const uint8_t *copy;
	uint32_t reg = spare(a, NR_REGS), sp = NR_REGS;
	uint64_t saved, saved_sp, sp_now, distance = bit_distance(a), at;
	int watched, err;
	uint8_t *real;

	if (a->o.third == SP)
		return -EOPNOTSUPP;
	if (a->o.reg_is_gpr && a->o.vex == OPERAND_LEGACY && reg_of(a) == SP)
		sp = spare(a, reg);
	at = a->o.vex == OPERAND_EVEX && a->in.disp_bytes == 1 ? a->u->fault
							       : address_of(a) + distance;
	real = a->u->reach(a->u, at, a->o.bytes, &watched);
	if (!real || !watched)
		return -EOPNOTSUPP;
	copy = get_copy(bytes, rewrite(a, reg, sp, bytes));
	if (!copy)
		return -EOPNOTSUPP;
	saved = a->regs[reg];
	saved_sp = sp != NR_REGS ? a->regs[sp] : 0;
	sp_now = a->regs[SP];
	if (a->o.is_masked || a->o.bytes > 8 || (a->o.bytes & (a->o.bytes - 1)))
		err = do_wide(a, copy, reg, sp, at, real);
	else
		err = do_word(a, copy, reg, sp, at, real, distance);
	if (err)
		return err;
	a->regs[reg] = saved;
	a->regs[SP] = sp_now;
	if (sp != NR_REGS) {
		a->regs[SP] = a->regs[sp];
		a->regs[sp] = saved_sp;
	}
	return 0;
}

/* push, pop, call and jump with an operand in memory; the stack is the program's. */
static int do_stack(struct access *a)
{
	const uint64_t at = address_of(a);
	uint64_t value;
	int watched, err;
	uint8_t *real = a->u->reach(a->u, at, 8, &watched);

	if (!real || !watched)
		return -EOPNOTSUPP;
	if (a->o.how == OPERAND_POP) {
		err = get(a, &value, (const uint8_t *)a->regs[SP], 8);
		if (!err)
			err = put(a, real, value, 8);
		if (err)
			return err;
		a->regs[SP] += 8;
		note(a, at, 8, 1, value);
		return 0;
	}
	err = get(a, &value, real, 8);
	if (!err && a->o.how == OPERAND_PUSH)
		err = put(a, (uint8_t *)a->regs[SP] - 8, value, 8);
	else if (!err && a->o.how == OPERAND_CALL)
		err = put(a, (uint8_t *)a->regs[SP] - 8, a->pc + a->in.bytes, 8);
	if (err)
		return err;
	note(a, at, 8, 0, value);
	if (a->o.how != OPERAND_JUMP)
		a->regs[SP] -= 8;
	if (a->o.how != OPERAND_PUSH)
		a->context[REG_RIP] = (greg_t)(value - a->in.bytes);
	return 0;
}

/*
 * One repetition of a string instruction. Registers 6 and 7 (rsi, rdi) point to the source and the
 * destination. *@watched: whether one of them is watched memory; if not, nothing is done.
 */
static int do_element(struct access *a, const uint8_t *copy, int *watched)
{
	const uint8_t op = a->in.opcode & 0xfe;
	const int has_source = op == 0xa4 || op == 0xa6 || op == 0xac;
	const int has_destination = op != 0xac, writes = op == 0xa4 || op == 0xaa;
	const uint32_t n = a->o.bytes;
	uint64_t source = 0, destination = 0, regs[NR_REGS + 1], to[2] = {0};
	uint8_t *from_real = NULL, *to_real = NULL;
	int source_watched = 0, destination_watched = 0, err = 0;

	if (has_source)
		from_real = a->u->reach(a->u, a->regs[6], n, &source_watched);
	if (has_destination)
		to_real = a->u->reach(a->u, a->regs[7], n, &destination_watched);
	if ((has_source && !from_real) || (has_destination && !to_real))
		return -EOPNOTSUPP;
	*watched = source_watched || destination_watched;
	if (!*watched)
		return 0;
	if (has_source)
		err = get(a, &source, from_real, n);
	if (!err && has_destination && !writes)
		err = get(a, &destination, to_real, n);
	if (err)
		return err;
	to[0] = destination;
	memcpy(regs, a->regs, sizeof(regs));
	regs[6] = has_source ? (uint64_t)&source : regs[6];
	regs[7] = has_destination ? (uint64_t)to : regs[7];
	err = run(a, regs, copy);
	if (!err && writes)
		err = put(a, to_real, to[0], n);
	if (err)
		return err;
	if (source_watched)
		note(a, a->regs[6], n, 0, source);
	if (destination_watched)
		note(a, a->regs[7], n, writes, to[0]);
	if (has_source)
		regs[6] = a->regs[6] + (regs[6] - (uint64_t)&source);
	if (has_destination)
		regs[7] = a->regs[7] + (regs[7] - (uint64_t)to);
	regs[SP] = a->regs[SP];
	memcpy(a->regs, regs, sizeof(regs));
	return 0;
}

static void finish(struct access *a, uint64_t behind);

/*
 * If repetitions are left, the program executes the instruction again after the handler, and does
 * them then.
 */
static int do_string(struct access *a)
{
	const uint8_t op = a->in.opcode & 0xfe;
	const int compares = op == 0xa6 || op == 0xae;
	uint8_t bytes[COPY_BYTES];
	const uint8_t *copy;
	uint32_t n = 0, i, nr;
	int err = 0, watched = 1;

	if (a->in.address32)
		return -EOPNOTSUPP;
	for (i = 0; i < a->in.bytes; i++)
		if (a->code[i] != 0xf2 && a->code[i] != 0xf3)
			bytes[n++] = a->code[i];
	copy = get_copy(bytes, n);
	if (!copy)
		return -EOPNOTSUPP;
	if (!a->in.rep) {
		err = do_element(a, copy, &watched);
		return err ? err : watched ? 0 : -EOPNOTSUPP;
	}
	for (nr = 0; nr < MAX_REPEATS && a->regs[1]; nr++) {
		err = do_element(a, copy, &watched);
		if (err || !watched)
			break;
		a->regs[1]--;
		if (compares && !(a->regs[FLAGS] & FLAG_ZERO) == (a->in.rep == 0xf3)) {
			finish(a, a->in.bytes);
			return 0;
		}
	}
	if (!nr && err)
		return err;
	if (!nr && a->regs[1])
		return -EOPNOTSUPP;
	/* registers show the repetitions that were done; if some are left, ip does not move */
	finish(a, a->regs[1] ? 0 : a->in.bytes);
	return 0;
}

static void finish(struct access *a, uint64_t behind)
{
	uint32_t i;

	for (i = 0; i < NR_REGS; i++)
		a->context[context_reg[i]] = (greg_t)a->regs[i];
	a->context[REG_EFL] = (greg_t)((a->regs[FLAGS] & ~(uint64_t)FLAG_TRAP) |
				       ((uint64_t)a->context[REG_EFL] & FLAG_TRAP));
	a->context[REG_RIP] += (greg_t)behind;
}

static void find_state(struct access *a, const ucontext_t *context)
{
	const uint8_t *state = (const uint8_t *)context->uc_mcontext.fpregs;
	uint32_t magic;
	uint64_t features;

	a->state = NULL;
	if (!state)
		return;
	memcpy(&magic, state + 464, 4);
	memcpy(&features, state + 472, 8);
	if (magic != STATE_MAGIC)
		return;
	a->state = (void *)(uintptr_t)state;
	a->states = features & STATES;
}

int arch_access_do(void *context, struct arch_access_user *u)
{
	struct access a = {.context = ((ucontext_t *)context)->uc_mcontext.gregs, .u = u};
	uint32_t i;
	int err;

	for (i = 0; i < NR_REGS; i++)
		a.regs[i] = (uint64_t)a.context[context_reg[i]];
	a.regs[FLAGS] = (uint64_t)a.context[REG_EFL];
	a.pc = (uint64_t)a.context[REG_RIP];
	/* the instruction ran, so it is readable; the page after it may not be mapped */
	for (i = 0; i < INSN_MAX_BYTES; i++) {
		uint64_t byte;

		if (i && !((a.pc + i) & 4095) && insn_decode(&a.in, a.code, i))
			break;
		if (arch_access_get(&byte, (const void *)(a.pc + i), 1))
			break;
		a.code[i] = (uint8_t)byte;
	}
	if (!insn_decode(&a.in, a.code, i) || has_segment(&a))
		return -EOPNOTSUPP;
	err = operand_read(&a.o, &a.in, a.code, (a.context[REG_ERR] & 2) != 0);
	if (err)
		return err;
	find_state(&a, context);
	if (a.o.vectors && !a.state)
		return -EOPNOTSUPP;
	if (a.o.how == OPERAND_STRING) {
		err = do_string(&a);
		if (err || a.in.rep)
			return err;
	} else {
		if (!a.in.has_modrm || a.in.modrm >> 6 == 3)
			return -EOPNOTSUPP;
		err = a.o.how == OPERAND_PLAIN ? do_plain(&a) : do_stack(&a);
		if (err)
			return err;
	}
	finish(&a, a.in.bytes);
	return 0;
}
