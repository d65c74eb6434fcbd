/* SPDX-License-Identifier: MIT */
/*
 * Executes an instruction that faulted on memory: its reads and writes are done at another address
 * that maps the same memory. Any context, if not said otherwise.
 */
#ifndef VESTIGE_ARCH_ACCESS_H
#define VESTIGE_ARCH_ACCESS_H

#include <stdint.h>

/* Functions of the caller: where operands are, and what to do with each access. */
struct arch_access_user {
	/*
	 * The address at which the @bytes at @at can be accessed. *@watched: whether they are in
	 * watched memory, which faults at @at. Return: NULL: their first and last byte are in
	 * different regions, or only one of the two is in watched memory.
	 */
	uint8_t *(*reach)(struct arch_access_user *u, uint64_t at, uint32_t bytes, int *watched);
	/* Watched memory was read or written. @bytes: 1, 2, 4 or 8. @pc: of the instruction. */
	void (*note)(struct arch_access_user *u, uint64_t at, uint32_t bytes, int is_write,
		     uint64_t value, uint64_t pc);
	uint64_t fault; /* in: the address that faulted; out, with -EFAULT: the one that faults */
};

/*
 * arch_access_do() - execute the instruction that faulted, at the addresses that @u->reach gives,
 * and set @context to the state after it. @context: of the fault's handler. Some repetitions of a
 * string instruction may be left: then @context is at the instruction again.
 * Return: 0; -EOPNOTSUPP: the instruction is not supported; -EFAULT: it faults at @u->fault for
 * another reason. After an error @context is unchanged.
 */
int arch_access_do(void *context, struct arch_access_user *u);

/*
 * arch_access_recover() - whether a fault happened in an access that arch_access_do() or
 * arch_access_get_word() made. If so, @context is changed: when the handler of this fault returns,
 * that access fails with -EFAULT. @context, @address: of the fault.
 */
int arch_access_recover(void *context, uint64_t address);

/*
 * Read the 8 bytes at @from, which may not be mapped. The handler of SIGSEGV must call
 * arch_access_recover(). Return: 0; -EFAULT.
 */
int arch_access_get_word(uint64_t *value, const void *from);

/* Map the memory for copies of instructions, once. Control context. Return: 0; -errno of mmap(). */
int arch_access_start(void);

/* In a fork's child: drop copies that another thread of the parent was writing. */
void arch_access_fork(void);

#endif
