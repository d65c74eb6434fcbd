/* SPDX-License-Identifier: MIT */
#include "tools/base/machine.h"

bool machine_has_counter(void)
{
	return false;
}

uint64_t machine_counter(void)
{
	return 0;
}

size_t machine_breakpoint(const unsigned char **bytes)
{
	*bytes = NULL;
	return 0;
}

uint64_t machine_pc_get(pid_t pid)
{
	return 0;
}

int machine_pc_set(pid_t pid, uint64_t pc)
{
	return -1;
}

const char *machine_core_register(const void *regs, unsigned int i, uint64_t *value)
{
	return NULL;
}
