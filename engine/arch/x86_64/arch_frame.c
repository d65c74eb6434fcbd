/* SPDX-License-Identifier: MIT */
/* Names of registers, see arch_frame.h. Pure. Tests: tests/engine/events/kprobe, .../usdt. */
#include "arch_frame.h"

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"

static const char names[ARCH_NR_REGS][4] = {
	[ARCH_R15] = "r15",   [ARCH_R14] = "r14", [ARCH_R13] = "r13", [ARCH_R12] = "r12",
	[ARCH_BP] = "bp",     [ARCH_BX] = "bx",	  [ARCH_R11] = "r11", [ARCH_R10] = "r10",
	[ARCH_R9] = "r9",     [ARCH_R8] = "r8",	  [ARCH_AX] = "ax",   [ARCH_CX] = "cx",
	[ARCH_DX] = "dx",     [ARCH_SI] = "si",	  [ARCH_DI] = "di",   [ARCH_REG_IP] = "ip",
	[ARCH_REG_SP] = "sp",
};

uint32_t arch_reg_named(const char *name, size_t n)
{
	uint32_t i;

	for (i = 0; i < ARCH_NR_REGS; i++)
		if (strlen(names[i]) == n && !memcmp(names[i], name, n))
			break;
	return i;
}

uint32_t arch_reg_operand(const char *text, size_t n)
{
	char name[4] = {0};
	size_t i;

	if (n < 3 || n > 5 || *text != '%')
		return ARCH_NR_REGS;
	memcpy(name, text + 1, n - 1);
	n--;
	if (name[0] == 'r' && n > 1 && is_digit(name[1])) {
		/* r9, r9d, r9w, r9b */
		if (name[n - 1] == 'd' || name[n - 1] == 'w' || name[n - 1] == 'b')
			n--;
		return arch_reg_named(name, n);
	}
	if (n == 3 && (name[0] == 'r' || name[0] == 'e'))
		return arch_reg_named(name + 1, 2);
	if (n == 3 && name[2] == 'l')
		return arch_reg_named(name, 2);
	if (n == 2 && name[1] == 'l') {
		name[1] = 'x';
		return arch_reg_named(name, 2);
	}
	for (i = 0; i < n && name[i] != 'h'; i++)
		;
	return i == n && n == 2 ? arch_reg_named(name, 2) : ARCH_NR_REGS;
}

int arch_operand_is_ip(const char *text, size_t n)
{
	return n == 4 && !memcmp(text, "%rip", 4);
}

uint32_t arch_stub_rule(const uint8_t *expression, uint32_t n)
{
	/* rsp + 8 + ((rip & 15) >= N) << 3: in a stub of 16 bytes the push ends at offset N */
	static const uint8_t form[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a,
				       0x30, 0x2a, 0x33, 0x24, 0x22};
	uint32_t i;

	for (i = 0; n == sizeof(form) && i < n; i++)
		if (expression[i] != form[i] && i != 6)
			n = 0;
	return n == sizeof(form) && expression[6] > 0x30 && expression[6] < 0x40
		       ? expression[6] - 0x30u
		       : 0;
}
