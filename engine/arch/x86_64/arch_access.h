/* SPDX-License-Identifier: MIT */
/*
 * Takes an instruction that faulted on memory, and does its reads and writes at another address
 * that maps the same memory. Any context.
 */
#ifndef VESTIGE_ARCH_ACCESS_H
#define VESTIGE_ARCH_ACCESS_H

#include <stdint.h>

/* Where the operands are, and the functions that accesses are reported to. */
struct arch_access_user {
	/*
	 * Where the @bytes at @at can be reached. *@watched: whether they are of the memory that
	 * faults. Return: NULL: part of them is, and part is not.
	 */
	uint8_t *(*reach)(struct arch_access_user *u, uint64_t at, uint32_t bytes, int *watched);
	/* Watched memory was read or written: at most 8 bytes. */
	void (*note)(struct arch_access_user *u, uint64_t at, uint32_t bytes, int is_write,
		     uint64_t value, uint64_t pc);
	uint64_t fault; /* in: the address that faulted; at -EFAULT: the one that does */
};

/*
 * arch_access_do() - do the instruction that faulted, at the addresses that @u->reach gives, and
 * set @context to the state after it. @context: of the fault's handler. Return: 0; -EOPNOTSUPP: it
 * is one that is not known; -EFAULT: it faults for another reason, at @u->fault. Then nothing has
 * changed, except that some repetitions of a repeated instruction may be done.
 */
int arch_access_do(void *context, struct arch_access_user *u);

/*
 * arch_access_recover() - whether a fault is one of arch_access_do()'s own; then that ends with
 * -EFAULT when the handler of this fault returns. @context, @address: of the fault.
 */
int arch_access_recover(void *context, uint64_t address);

/* A word of memory that may not be there, in a handler or not. Return: 0; -EFAULT. */
int arch_access_get_word(uint64_t *value, const void *from);

/* Memory for the copies of instructions. Control context. Return: 0; -ENOMEM; -errno of /proc. */
int arch_access_start(void);

/* In a fork's child. */
void arch_access_fork(void);

#endif
