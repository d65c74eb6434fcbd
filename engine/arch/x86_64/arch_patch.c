/* SPDX-License-Identifier: MIT */
/*
 * Encodings of sites, slots and islands. No state. The NOP forms are from the AMD and Intel
 * manuals; gcc emits NOPs of one byte, clang the longest ones. Tests:
 * tests/unit/test_engine_base.c.
 */
#include "arch_patch.h"

#include "engine/base/mem.h"

/* Recommended multi-byte NOPs by length. */
static const uint8_t nops[][9] = {
	{0x90},
	{0x66, 0x90},
	{0x0f, 0x1f, 0x00},
	{0x0f, 0x1f, 0x40, 0x00},
	{0x0f, 0x1f, 0x44, 0x00, 0x00},
	{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
	{0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
	{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	{0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
};

int arch_is_marker(const uint8_t *p, uint64_t n)
{
	return n >= 4 && p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e && p[3] == 0xfa;
}

uint32_t arch_nop_length(const uint8_t *p, uint64_t n)
{
	uint32_t i = 0, modrm, len;

	while (i < n && i < 10 && (p[i] == 0x66 || p[i] == 0x2e))
		i++;
	if (i < n && p[i] == 0x90)
		return i + 1;
	if (i + 2 >= n || p[i] != 0x0f || p[i + 1] != 0x1f)
		return 0;
	modrm = p[i + 2];
	if (modrm & 0x38)
		return 0; /* 0f 1f /0 alone is the NOP that compilers emit */
	len = i + 3;
	if (modrm >> 6 != 3 && (modrm & 7) == 4)
		len++;
	if (modrm >> 6 == 1)
		len += 1;
	else if (modrm >> 6 == 2)
		len += 4;
	return len <= n ? len : 0;
}

uint32_t arch_nop_bytes(const uint8_t *p, uint64_t n)
{
	uint32_t at = 0, len;

	while (at < 64 && (len = arch_nop_length(p + at, n - at)))
		at += len;
	return at;
}

void arch_make_nops(uint8_t *bytes, uint32_t n)
{
	while (n) {
		uint32_t len = n > 9 ? 9 : n;

		memcpy(bytes, nops[len - 1], len);
		bytes += len;
		n -= len;
	}
}

void arch_make_off(uint8_t *bytes, const uint8_t *on, uint32_t n)
{
	if (n == ARCH_SITE_FULL)
		*bytes++ = 0x40; /* a REX prefix without effect */
	*bytes++ = 0xa9;
	memcpy(bytes, on + n - 4, 4);
}

void arch_make_site(uint8_t *bytes, uint32_t n, int jump, int32_t disp)
{
	if (n == ARCH_SITE_FULL) {
		*bytes++ = 0xff;
		*bytes++ = jump ? 0x25 : 0x15;
	} else {
		*bytes++ = jump ? 0xe9 : 0xe8;
	}
	memcpy(bytes, &disp, 4);
}

int arch_is_padded_return(const uint8_t *p)
{
	return p[0] == 0xc3 && arch_nop_bytes(p + 1, 32) >= ARCH_JUMP_BYTES - 1;
}

static uint64_t relative(const uint8_t *end)
{
	int32_t disp;

	memcpy(&disp, end - 4, 4);
	return (uint64_t)end + (uint64_t)(int64_t)disp;
}

int arch_read_call(const uint8_t *p, uint64_t n, struct arch_call *call)
{
	if (n >= 5 && p[0] == 0xe8)
		*call = (struct arch_call){5, 0, relative(p + 5)};
	else if (n >= 6 && p[0] == 0x67 && p[1] == 0xe8)
		*call = (struct arch_call){6, 0, relative(p + 6)};
	else if (n >= 6 && p[0] == 0xff && p[1] == 0x15)
		*call = (struct arch_call){6, 1, relative(p + 6)};
	else
		return 0;
	return 1;
}

int arch_is_saved_around(const uint8_t *p, uint32_t bytes)
{
	/* push %r10, pop %r10 */
	return p[-2] == 0x41 && p[-1] == 0x52 && p[bytes] == 0x41 && p[bytes + 1] == 0x5a;
}

uint64_t arch_stub_slot(const uint8_t *p)
{
	if (arch_is_marker(p, ARCH_MARKER_BYTES))
		p += ARCH_MARKER_BYTES;
	p += *p == 0xf2; /* bnd */
	return p[0] == 0xff && p[1] == 0x25 ? relative(p + 6) : 0;
}

int arch_is_unbound(const uint8_t *p, uint32_t index)
{
	uint32_t pushed;

	if (arch_is_marker(p, ARCH_MARKER_BYTES))
		p += ARCH_MARKER_BYTES;
	memcpy(&pushed, p + 1, 4);
	/* push $index, jmp or bnd jmp */
	return p[0] == 0x68 && pushed == index && (p[5] == 0xe9 || (p[5] == 0xf2 && p[6] == 0xe9));
}

uint64_t arch_jump_target(const uint8_t *p)
{
	int32_t disp;

	if (*p == 0xf2)
		p++;
	if (*p != 0xe9)
		return 0;
	memcpy(&disp, p + 1, 4);
	return (uint64_t)p + 5 + (uint64_t)(int64_t)disp;
}

uint64_t arch_jump_through(const uint8_t *p, uint64_t n)
{
	int32_t disp;

	if (n < 11)
		return 0;
	if (arch_is_marker(p, n))
		p += ARCH_MARKER_BYTES;
	if (*p == 0xf2)
		p++;
	if (p[0] != 0xff || p[1] != 0x25)
		return 0;
	memcpy(&disp, p + 2, 4);
	return (uint64_t)p + 6 + (uint64_t)(int64_t)disp;
}

void arch_make_jump(uint8_t *bytes, int32_t disp)
{
	bytes[0] = 0xe9;
	memcpy(bytes + 1, &disp, 4);
}

void arch_make_numbered(uint8_t *bytes, uint32_t number, int32_t pointer_disp)
{
	/* endbr64; mov $number, %ecx; jmp *pointer; int3 */
	static const uint8_t code[ARCH_NUMBERED_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa, 0xb9, 0, 0, 0,
							  0,	0xff, 0x25, 0,	  0,	0, 0, 0xcc};

	memcpy(bytes, code, sizeof(code));
	memcpy(bytes + 5, &number, 4);
	pointer_disp += 1;
	memcpy(bytes + 11, &pointer_disp, 4);
}

void arch_make_island(uint8_t bytes[16], int32_t pointer_disp, uint64_t word)
{
	bytes[0] = 0xff;
	bytes[1] = 0x25;
	memcpy(bytes + 2, &pointer_disp, 4);
	bytes[6] = bytes[7] = 0xcc;
	memcpy(bytes + 8, &word, 8);
}
