/* SPDX-License-Identifier: MIT */
/* Reads memory of the program that may not be mapped, where a plain load could raise SIGSEGV. */
#ifndef VESTIGE_ARCH_READ_MEMORY_H
#define VESTIGE_ARCH_READ_MEMORY_H

#include "engine/arch/sys.h"

/*
 * sys_read_memory() - copy @bytes at @from to @to, by one system call. @tid: a thread of the
 * process. Any context.
 * Return: the number of bytes copied, fewer than @bytes if a page cannot be read; -EFAULT: none
 * could be read; another -errno of process_vm_readv().
 */
static inline long sys_read_memory(int tid, uint64_t from, void *to, size_t bytes)
{
	const uint64_t here[2] = {(uint64_t)to, bytes}, there[2] = {from, bytes}; /* iovec */

	return arch_syscall(SYS_process_vm_readv, tid, (long)here, 1, (long)there, 1, 0);
}

#endif
