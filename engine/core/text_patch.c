/* SPDX-License-Identifier: MIT */
/*
 * Writing to text, see text_patch.h. Owns nothing but whether other threads may run. Text is
 * written through its own addresses, writable for as long as it takes; pwrite() to /proc/self/mem
 * promises no 2-byte store. Constructor or agent context, one caller at a time. fork: the child
 * has the text as it stands. Costs: bench
 * "switching". Tests: tests/engine/.
 */
#include "engine/core/text_patch.h"

#include <errno.h>
#include <linux/membarrier.h>

#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"

static int live;
static int registered;

int text_start(void)
{
	int err = sys_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);

	registered = !err;
	return err;
}

void text_go_live(void)
{
	live = 1;
}

int text_open(uint64_t lo, uint64_t hi)
{
	if (live && !registered)
		return -ENOTSUP;
	return sys_mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC);
}

void text_close(uint64_t lo, uint64_t hi)
{
	sys_mprotect((void *)lo, hi - lo, PROT_READ | PROT_EXEC);
}

void text_switch(uint8_t *at, const uint8_t *bytes, uint32_t n)
{
	if (n == ARCH_SITE_MIN)
		*(volatile uint8_t *)at = bytes[0];
	else
		/* one store, aligned or not: x86 keeps it whole within a line */
		*(volatile uint16_t *)at = (uint16_t)(bytes[0] | bytes[1] << 8);
}

void text_store(uint8_t *at, const uint8_t *bytes, uint32_t n)
{
	uint8_t *end = (uint8_t *)(((uintptr_t)at | (TEXT_LINE_BYTES - 1)) + 1);
	uint64_t word;
	uint8_t *to = end - at < 8 ? end - 8 : at;

	memcpy(&word, to, 8);
	memcpy((uint8_t *)&word + (at - to), bytes, n);
	*(volatile uint64_t *)to = word;
}

int text_sync(void)
{
	if (!live)
		return 0;
	return sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}
