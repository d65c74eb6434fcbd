/* SPDX-License-Identifier: MIT */
/* Numbers of a size that is known only when the program runs: memcpy() would be a call then. */
#ifndef VESTIGE_TOOLS_LOAD_NUMBER_H
#define VESTIGE_TOOLS_LOAD_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * load_number() - the unsigned number at @at, which need not be aligned.
 * @bytes: its size, 0 to 8; of another size only the first 8 are read. @swap: it has the other byte
 * order. Return: the number; of size 0 it is 0.
 */
static inline uint64_t load_number(const void *at, unsigned int bytes, bool swap)
{
	uint64_t v = 0;
	uint32_t v4;
	uint16_t v2;

	switch (bytes) {
	case 0:
		return 0;
	case 1:
		return *(const unsigned char *)at;
	case 2:
		memcpy(&v2, at, 2);
		return swap ? __builtin_bswap16(v2) : v2;
	case 4:
		memcpy(&v4, at, 4);
		return swap ? __builtin_bswap32(v4) : v4;
	case 3:
	case 5:
	case 6:
	case 7:
		memcpy(&v, at, bytes);
		return swap ? __builtin_bswap64(v) >> (64 - 8 * bytes) : v;
	default:
		memcpy(&v, at, 8);
		return swap ? __builtin_bswap64(v) : v;
	}
}

#endif
