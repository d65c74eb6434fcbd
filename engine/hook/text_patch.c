/* SPDX-License-Identifier: MIT */
/*
 * Writing to text, see text_patch.h. Owns nothing but whether other threads may run. Text is
 * written through its own addresses, writable for as long as it takes; pwrite() to /proc/self/mem
 * promises no 2-byte store. Constructor or agent context, one caller at a time. fork: the child
 * may be forked while a site is a jump over itself, and then keeps it so: it is off. Costs: bench
 * "switching". Tests: tests/engine/.
 */
#include "engine/hook/text_patch.h"

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

static void store_pair(uint8_t *at, uint8_t first, uint8_t second)
{
	if (text_pair_in_line(at)) {
		uint16_t pair = (uint16_t)(first | second << 8);

		/* one store, aligned or not: x86 keeps it whole within a line */
		*(volatile uint16_t *)at = pair;
	} else {
		/* a straddling site: both forms have the same second byte */
		*(volatile uint8_t *)(at + 1) = second;
		*(volatile uint8_t *)at = first;
	}
}

void text_step(uint8_t *at, const uint8_t *bytes, uint32_t n, enum text_step step)
{
	uint8_t over[8];
	uint32_t i;

	switch (step) {
	case TEXT_FIRST:
		arch_make_jump_over(over, bytes, n);
		store_pair(at, over[0], over[1]);
		break;
	case TEXT_REST:
		for (i = 2; i < n; i++)
			*(volatile uint8_t *)(at + i) = bytes[i];
		break;
	case TEXT_LAST:
		store_pair(at, bytes[0], bytes[1]);
		break;
	}
}

int text_sync(void)
{
	if (!live)
		return 0;
	return sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}
