/* SPDX-License-Identifier: MIT */
/*
 * The bytes at a patchable site on x86-64. Pure functions: nothing here writes to text.
 *
 *	6 bytes		function  ff 15 disp32	call *slot(%rip)
 *			graph	  ff 25 disp32	jmp *slot(%rip)
 *			off	  40 a9 disp32	test $disp32, %eax
 *	5 bytes		function  e8 disp32	call island
 *			graph	  e9 disp32	jmp graph island
 *			off	  a9 disp32	test $disp32, %eax
 *
 * A test with an immediate does nothing but set flags, which are dead where a function begins.
 */
#ifndef VESTIGE_ARCH_PATCH_H
#define VESTIGE_ARCH_PATCH_H

#include <stdint.h>

#define ARCH_SITE_MIN	  5u /* `call rel32` or `jmp rel32` to an island */
#define ARCH_SITE_FULL	  6u /* `call *slot(%rip)` or `jmp *slot(%rip)` */
#define ARCH_MARKER_BYTES 4u /* endbr64 */
#define ARCH_JUMP_BYTES	  5u

/* The 16 bytes near an object's text to which one of its sites leads. */
struct arch_slot {
	uint64_t target; /* where the site leads */
	uint64_t word;	 /* the record's head word with a stamp of 0 */
};

/* Whether there is an endbr64 at @p, where @n bytes may be read. */
int arch_is_marker(const uint8_t *p, uint64_t n);

/* Whether endbr64 or a NOP may begin with this byte. */
static inline int arch_may_be_site(uint8_t first)
{
	return first == 0x90 || first == 0x0f || first == 0x66 || first == 0x2e || first == 0xf3;
}

/* The length of the NOP at @p, of which @n bytes may be read; 0 if there is another instruction. */
uint32_t arch_nop_length(const uint8_t *p, uint64_t n);

/* The number of bytes from @p on that are NOPs, of any length; at most @n are read. */
uint32_t arch_nop_bytes(const uint8_t *p, uint64_t n);

/*
 * arch_make_off() - the form of a site while it is off: `test $imm32, %eax` of the same length,
 * with the displacement of @on for its immediate. @n: 5 or 6.
 */
void arch_make_off(uint8_t *bytes, const uint8_t *on, uint32_t n);

/*
 * A place of a static branch: ARCH_JUMP_BYTES, a jump when it is on, and a test of a constant, of
 * which the jump's displacement is the constant, when it is off. They differ in the first byte.
 */
#define ARCH_BRANCH_ON	0xe9
#define ARCH_BRANCH_OFF 0xa9

static inline int arch_branch_is(const uint8_t *p, int on)
{
	return *p == (on ? ARCH_BRANCH_ON : ARCH_BRANCH_OFF);
}

/* One store: a thread executes one or the other. */
static inline void arch_branch_set(uint8_t *p, int on)
{
	*(volatile uint8_t *)p = on ? ARCH_BRANCH_ON : ARCH_BRANCH_OFF;
}

#define arch_one_nop ((uint8_t)0x90)

/*
 * arch_make_nops() - as few NOPs as fill the bytes.
 * @n: 1 .. 64.
 */
void arch_make_nops(uint8_t *bytes, uint32_t n);

/*
 * arch_make_site() - a site that is on.
 * @n: 6: it goes through the slot at @disp; 5: to the island at @disp, from the site's end.
 * @jump: it jumps there; else it calls.
 */
void arch_make_site(uint8_t *bytes, uint32_t n, int jump, int32_t disp);

/* Whether at @p a function returns at once, with padding behind it: a jump has room there. */
int arch_is_padded_return(const uint8_t *p);

/* A call that a compiler made. */
struct arch_call {
	uint32_t bytes;
	int indirect;	 /* through the word at @target */
	uint64_t target; /* run-time address */
};

/* Whether a call may begin with this byte. */
static inline int arch_may_be_call(uint8_t first)
{
	return first == 0xe8 || first == 0xff || first == 0x67;
}

/*
 * arch_read_call() - take apart the call at @p, of which @n bytes may be read: direct (the linker
 * may have put a prefix before it) or through a word relative to the instruction. Return: 1, or 0
 * if there is something else.
 */
int arch_read_call(const uint8_t *p, uint64_t n, struct arch_call *call);

/*
 * In GNU C's nested functions gcc saves r10 around the call of __fentry__. Whether it does so
 * around the @bytes of a call at @p; then it takes ARCH_SAVED_BYTES before the call and behind it.
 */
int arch_is_saved_around(const uint8_t *p, uint32_t bytes);
#define ARCH_SAVED_BYTES 2u

/* The address of the word through which the stub of a PLT at @p jumps; 16 bytes are read. 0: no
 * stub. */
uint64_t arch_stub_slot(const uint8_t *p);

/*
 * Whether code at @p, 16 bytes of which may be read, is the way to the loader's binding of the
 * @index-th slot of an object: what such a slot holds before its first call.
 */
int arch_is_unbound(const uint8_t *p, uint32_t index);

/* Whether a jump that arch_jump_target() or arch_jump_through() knows may begin with this byte. */
static inline int arch_may_be_jump(uint8_t first)
{
	return first == 0xe9 || first == 0xff || first == 0xf2;
}

/* Where a direct jump at @p leads, 5 bytes of which may be read; 0 if there is none. */
uint64_t arch_jump_target(const uint8_t *p);

/*
 * arch_jump_through() - the address of the pointer through which a jump at @p goes, behind endbr64
 * and a bnd prefix if they are there. @n: bytes that may be read. 0: there is no such jump.
 */
uint64_t arch_jump_through(const uint8_t *p, uint64_t n);

/* A jump of ARCH_JUMP_BYTES; @disp: from its end. */
void arch_make_jump(uint8_t *bytes, int32_t disp);

/*
 * arch_make_numbered() - ARCH_NUMBERED_BYTES of code, callable: it goes on to the function at
 * @pointer_disp (from the end of the code), which gets @number as its fourth argument; the first
 * three are as they were.
 */
#define ARCH_NUMBERED_BYTES 16u
void arch_make_numbered(uint8_t *bytes, uint32_t number, int32_t pointer_disp);

/*
 * arch_make_island() - 16 bytes of code and data: a jump through the pointer at @pointer_disp (from
 * the end of the jump, which is 6 bytes behind the island's start), and the word at offset 8.
 */
void arch_make_island(uint8_t bytes[16], int32_t pointer_disp, uint64_t word);

#endif
