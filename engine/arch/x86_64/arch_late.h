/* SPDX-License-Identifier: MIT */
/*
 * Sites on x86-64 that are first used while the program runs. A thread may be between any two of
 * the compiler's NOPs, for any time. So the bytes that it has not executed yet must still do
 * nothing after the change. The site becomes a call (or jump) of five bytes. Only the first byte is
 * switched. The other four are the displacement, which does nothing when a thread executes it from
 * any of its bytes on. Pure functions: nothing here writes to text.
 */
#ifndef VESTIGE_ARCH_LATE_H
#define VESTIGE_ARCH_LATE_H

#include <stdint.h>

#define ARCH_LATE_BYTES 5u /* of the site: the opcode and the displacement */
#define ARCH_LATE_TAIL	3u /* bytes at most after the site that change with it */

/* How the NOPs of a function can be changed. */
struct arch_late {
	uint8_t skip;	 /* bytes before the site: each becomes a NOP of one byte */
	uint8_t off;	 /* the site's first byte while it is off */
	uint8_t fixed;	 /* the displacement's lower half stays as it is: `low` */
	uint8_t plain;	 /* its last byte must not be a prefix: the program's code follows */
	uint8_t nr_tail; /* bytes after the site that change with the displacement ... */
	uint8_t tail[ARCH_LATE_TAIL]; /* ... to these, which are one NOP */
	uint16_t low;
};

/*
 * arch_late_read() - find out which NOPs a function has, and fill in @late.
 * @p: its NOPs as the compiler made them. @n: their bytes; at least 5 are needed.
 * Return: 1; 0: such NOPs cannot be changed while a thread may be among them.
 */
int arch_late_read(const uint8_t *p, uint32_t n, struct arch_late *late);

/*
 * arch_late_next() - the first address to which the site can lead.
 * @end: the address of the site's end. @lo, @hi: the first and last address that may be returned,
 * less than 4 GiB apart.
 * Return: the address; 0: there is none.
 */
uint64_t arch_late_next(const struct arch_late *late, uint64_t end, uint64_t lo, uint64_t hi);

/* Whether @value may be the @i-th byte of the displacement (0: the lowest). */
int arch_late_byte(const struct arch_late *late, uint32_t i, uint8_t value);

/*
 * arch_late_make() - the site's bytes, @on and @off, which differ in the first byte.
 * @off_byte: arch_late.off. @disp: from the site's end. @jump: on is a jump; else a call.
 */
void arch_late_make(uint8_t off_byte, int32_t disp, int jump, uint8_t on[ARCH_LATE_BYTES],
		    uint8_t off[ARCH_LATE_BYTES]);

#endif
