/* SPDX-License-Identifier: MIT */
/*
 * Sites on x86-64 that are first used while the program runs: a thread may be between any two of
 * the compiler's NOPs, for as long as it likes. So each byte that it has yet to execute must still
 * do nothing after the change. The site becomes a call (or jump) of five bytes. Only the first byte
 * is switched; the other four are a displacement that does nothing when it is executed from any of
 * its bytes on. Pure functions: nothing here writes to text.
 */
#ifndef VESTIGE_ARCH_LATE_H
#define VESTIGE_ARCH_LATE_H

#include <stdint.h>

#define ARCH_LATE_BYTES 5u /* of the site: the opcode and the displacement */
#define ARCH_LATE_TAIL	3u

/* What can be done with the NOPs of a function. */
struct arch_late {
	uint8_t skip;	 /* bytes before the site: each becomes a NOP of one byte */
	uint8_t off;	 /* the site's first byte while it is off */
	uint8_t fixed;	 /* the displacement's lower half stays as it is: `low` */
	uint8_t plain;	 /* its last byte must not be a prefix: the program's code follows */
	uint8_t nr_tail; /* bytes behind the site that change with the displacement ... */
	uint8_t tail[ARCH_LATE_TAIL]; /* ... to these, which are NOPs by themselves */
	uint16_t low;
};

/*
 * arch_late_read() - find out which NOPs a function has.
 * @p: its NOPs as the compiler made them, @n bytes, 5 or more.
 * Return: 1, or 0: such NOPs cannot be changed while a thread may be among them.
 */
int arch_late_read(const uint8_t *p, uint32_t n, struct arch_late *late);

/*
 * arch_late_next() - the first address to which the site can lead.
 * @end: the site's end. @lo, @hi: from where to where (inclusive), less than 4 GiB.
 * Return: the address; 0: there is none.
 */
uint64_t arch_late_next(const struct arch_late *late, uint64_t end, uint64_t lo, uint64_t hi);

/* Whether @value may be the @i-th byte of the displacement (0: the lowest). */
int arch_late_byte(const struct arch_late *late, uint32_t i, uint8_t value);

/* The site's bytes: on, a call or a jump, and off. */
void arch_late_make(uint8_t off_byte, int32_t disp, int jump, uint8_t on[ARCH_LATE_BYTES],
		    uint8_t off[ARCH_LATE_BYTES]);

#endif
