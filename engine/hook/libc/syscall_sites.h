/* SPDX-License-Identifier: MIT */
/*
 * The system calls in the text of libc and the loader: the instructions that make one (sites) and
 * the jumps from there to hook/<cpu>/syscall_entry.S.
 */
#ifndef VESTIGE_HOOK_LIBC_SYSCALL_SITES_H
#define VESTIGE_HOOK_LIBC_SYSCALL_SITES_H

#include <stddef.h>
#include <stdint.h>

#define SYSCALL_CODE_MAX 8u  /* bytes of a site that are replaced */
#define SYSCALL_PRE_MAX	 32u /* bytes of an island for the code before the call */

struct syscall_site {
	uint8_t *call; /* the system call instruction */
	uint8_t *back; /* the instruction after it */
	/* code before it that runs only into it and has room for a long jump; NULL: none */
	uint8_t *before;
	/* padding near by, through which a short jump reaches the island; NULL: none */
	uint8_t *relay;
	uint8_t *at; /* the bytes that one store replaces */
	int16_t nr;  /* number of the call; -1: not known in advance */
	uint8_t bytes;
	uint8_t on;
	uint8_t refused; /* it is never patched */
	uint8_t code_off[SYSCALL_CODE_MAX], code_on[SYSCALL_CODE_MAX];
};

/*
 * What each cpu gives (hook/<cpu>/syscall_code.c).
 */

/* A range of text that is never executed. */
struct syscall_pad {
	uint8_t *lo, *hi;
};

struct syscall_found {
	void (*site)(void *arg, const struct syscall_site *site);
	void (*pad)(void *arg, uint8_t *lo, uint8_t *hi);
};

/* Whether a function is worth a closer search. */
int syscall_may_be_in(const uint8_t *lo, const uint8_t *hi);

/*
 * syscall_scan() - call back for each site and pad of a function, each sorted by address.
 * @is_target: a zeroed byte for each byte of the function.
 */
void syscall_scan(uint8_t *lo, uint8_t *hi, uint8_t *is_target, const struct syscall_found *found,
		  void *arg);

/* Take the bytes of a relay from the pads, which are sorted by address; NULL: there are none. */
uint8_t *syscall_take_pad(struct syscall_pad *pads, uint32_t nr, const struct syscall_site *site);

/*
 * syscall_lead() - make the island, the relay and the site's new code: everything but the switch.
 * @island: syscall_island_bytes. @hooks: two pointers near it, to hook_syscall and
 * hook_syscall_tail. Return: 0; -EOPNOTSUPP, -ENOSPC, -ERANGE: it is not possible.
 */
int syscall_lead(struct syscall_site *site, uint8_t *island, const uint64_t *hooks);

extern const uint32_t syscall_island_bytes;
/* The unwind rules of islands, for island_cfi_make(). */
extern const uint8_t syscall_island_rules[];
extern const size_t syscall_island_rules_bytes;

void hook_syscall(void);
void hook_syscall_tail(void);

#endif
