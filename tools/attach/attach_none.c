/* SPDX-License-Identifier: MIT */
/* See attach_impl.h: a CPU that is not known. */
#include <errno.h>

#include "tools/attach/attach_impl.h"

size_t attach_code_bytes(void)
{
	return 0;
}

size_t attach_stack_bytes(void)
{
	return 0;
}

int attach_registers(int tid, uint64_t *pc, uint64_t *sp)
{
	(void)tid;
	*pc = *sp = 0;
	return -ENOTSUP;
}

bool attach_behind_syscall(int pid, uint64_t pc)
{
	(void)pid;
	(void)pc;
	return false;
}

enum attach_return attach_return_kind(int pid, uint64_t word)
{
	(void)pid;
	(void)word;
	return ATTACH_RETURN_NONE;
}

int attach_go(int pid, int tid, const struct attach_call *call)
{
	(void)pid;
	(void)tid;
	(void)call;
	return -ENOTSUP;
}

int attach_answer(int pid, const struct attach_call *call, struct attach_answer *answer, char *text,
		  size_t room)
{
	(void)pid;
	(void)call;
	(void)answer;
	(void)room;
	text[0] = '\0';
	return -ENOTSUP;
}

void attach_restart(int tid)
{
	(void)tid;
}
