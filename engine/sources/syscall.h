/* SPDX-License-Identifier: MIT */
/* System calls that the program makes through libc, before and after them: see source.h. */
#ifndef VESTIGE_SOURCES_SYSCALL_H
#define VESTIGE_SOURCES_SYSCALL_H

#include <stdint.h>

#include "engine/core/syscalls.h"
#include "engine/sources/source.h"

struct syscall_enter_listener {
	struct source_link link;
	/* @args: as the kernel gets them, as many as the CPU has registers for. */
	void (*call)(uint64_t nr, const uint64_t *args);
};

struct syscall_exit_listener {
	struct source_link link;
	void (*call)(uint64_t nr, uint64_t ret);
};

/* It is also called for numbers that only others listen to. Its callbacks are set by its owner. */
struct syscall_listener {
	struct syscall_enter_listener enter;
	struct syscall_exit_listener exit;
	uint32_t nr_wanted;
};

/*
 * syscall_listen() - @l listens to calls with the number @nr once more, or once less; SYSCALLS_MAX:
 * all numbers. Return: 0 or -errno, and then nothing has changed. Under the tree's lock.
 */
int syscall_listen(struct syscall_listener *l, uint32_t nr, int on);

/*
 * Calls that a source knows: rows of any struct that begins with the number, `uint16_t nr`. A table
 * is made by SYSCALL_TABLE(rows).
 */
struct syscall_table {
	const void *rows;
	uint32_t nr_rows, row_bytes;
};
#define SYSCALL_TABLE(rows_)                                                                       \
	{                                                                                          \
		(rows_), ARRAY_SIZE(rows_), sizeof((rows_)[0])                                     \
	}

/* The row of a number; NULL: there is none. Any context. */
const void *syscall_table_find(const struct syscall_table *t, uint64_t nr);

/* syscall_listen() for all calls of a table; 0 or -errno, and then to none of them. */
int syscall_table_listen(const struct syscall_table *t, struct syscall_listener *l, int on);

#endif
