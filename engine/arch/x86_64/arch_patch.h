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

/*
 * The number of bytes from @p on that are NOPs, of any length. At most @n are read, and no NOP that
 * begins at 64 or more.
 */
uint32_t arch_nop_bytes(const uint8_t *p, uint64_t n);

/*
 * arch_make_off() - the form of a site while it is off: `test $imm32, %eax` of the same length. Its
 * immediate is the displacement of @on. @n: 5 or 6.
 */
void arch_make_off(uint8_t *bytes, const uint8_t *on, uint32_t n);

/*
 * The site of a static branch (jump label) has ARCH_JUMP_BYTES. On: a jump. Off: `test $imm32,
 * %eax`, where imm32 is the jump's displacement. Only the first byte differs.
 */
#define ARCH_BRANCH_ON	0xe9
#define ARCH_BRANCH_OFF 0xa9

static inline int arch_branch_is(const uint8_t *p, int on)
{
	return *p == (on ? ARCH_BRANCH_ON : ARCH_BRANCH_OFF);
}

/* One store: another thread executes either the old or the new instruction. */
static inline void arch_branch_set(uint8_t *p, int on)
{
	*(volatile uint8_t *)p = on ? ARCH_BRANCH_ON : ARCH_BRANCH_OFF;
}

#define arch_one_nop ((uint8_t)0x90)

/*
 * arch_make_nops() - fill @n bytes with as few NOPs as possible.
 * @n: 1 .. 64.
 */
void arch_make_nops(uint8_t *bytes, uint32_t n);

/*
 * arch_make_site() - a site that is on.
 * @n: 6: through the slot at @disp; 5: to the island at @disp. @disp: in bytes from the site's end.
 * @jump: it jumps; else it calls.
 */
void arch_make_site(uint8_t *bytes, uint32_t n, int jump, int32_t disp);

/* Whether the function at @p is a single return with padding after it, so that a jump has room. */
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
 * arch_read_call() - decode the call at @p, where @n bytes may be read. The call is direct (the
 * linker may have put a prefix before it) or through a word relative to the instruction.
 * Return: 1; 0: it is another instruction.
 */
int arch_read_call(const uint8_t *p, uint64_t n, struct arch_call *call);

/*
 * In nested functions of GNU C, gcc saves r10 around the call of __fentry__: it pushes r10 before
 * the call and pops it after, each in ARCH_SAVED_BYTES. arch_is_saved_around() - whether it does so
 * around the call of @bytes at @p.
 */
int arch_is_saved_around(const uint8_t *p, uint32_t bytes);
#define ARCH_SAVED_BYTES 2u

/*
 * The address of the word through which the PLT stub at @p jumps. 16 bytes at @p must be readable.
 * 0: there is no stub.
 */
uint64_t arch_stub_slot(const uint8_t *p);

/*
 * Whether the code at @p leads to the loader, which binds the @index-th word of an object's PLT.
 * Such a word points to this code before the first call. 16 bytes at @p must be readable.
 */
int arch_is_unbound(const uint8_t *p, uint32_t index);

/* Whether a jump that arch_jump_target() or arch_jump_through() finds may begin with this byte. */
static inline int arch_may_be_jump(uint8_t first)
{
	return first == 0xe9 || first == 0xff || first == 0xf2;
}

/*
 * The target of the direct jump at @p, which may have a bnd prefix; 0: there is none. 6 bytes at @p
 * must be readable.
 */
uint64_t arch_jump_target(const uint8_t *p);

/*
 * arch_jump_through() - the address of the pointer through which the code at @p jumps. endbr64 and
 * a bnd prefix may come before the jump. @n: bytes that may be read, 11 or more.
 * Return: the address; 0: there is no such jump, or @n is less than 11.
 */
uint64_t arch_jump_through(const uint8_t *p, uint64_t n);

/* A jump of ARCH_JUMP_BYTES. @disp: in bytes from its end. */
void arch_make_jump(uint8_t *bytes, int32_t disp);

/*
 * arch_make_numbered() - make a function of ARCH_NUMBERED_BYTES that passes its first three
 * arguments on, adds @number as the fourth, and jumps through the pointer at @pointer_disp (in
 * bytes from the end of the code).
 */
#define ARCH_NUMBERED_BYTES 16u
void arch_make_numbered(uint8_t *bytes, uint32_t number, int32_t pointer_disp);

/*
 * arch_make_island() - make 16 bytes of code and data: at offset 0 a jump of 6 bytes through the
 * pointer at @pointer_disp (in bytes from the end of the jump), at offset 8 @word.
 */
void arch_make_island(uint8_t bytes[16], int32_t pointer_disp, uint64_t word);

#endif
