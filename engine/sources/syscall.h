/* SPDX-License-Identifier: MIT */
/* System calls that the program makes through libc, before and after them: see source.h. */
#ifndef VESTIGE_SOURCES_SYSCALL_H
#define VESTIGE_SOURCES_SYSCALL_H

#include <stdint.h>

#include "engine/core/syscalls.h"
#include "engine/sources/source.h"

struct syscall_enter_listener {
	struct source_link link;
	/* @args: as the kernel gets them, one for each register of a system call. */
	void (*call)(uint64_t nr, const uint64_t *args);
};

struct syscall_exit_listener {
	struct source_link link;
	void (*call)(uint64_t nr, uint64_t ret);
};

/*
 * A listener may also be called for numbers to which only others listen. The owner sets its
 * callbacks.
 */
struct syscall_listener {
	struct syscall_enter_listener enter;
	struct syscall_exit_listener exit;
	uint32_t nr_wanted;
};

/*
 * syscall_listen() - @l listens to calls with the number @nr (@on 1), or no longer (@on 0). Calls
 * are counted. @nr: SYSCALLS_MAX: all numbers. Return: 0; -errno: nothing has changed. Under the
 * tree lock.
 */
int syscall_listen(struct syscall_listener *l, uint32_t nr, int on);

/*
 * The calls that a source knows: rows of any struct that begins with the number, `uint16_t nr`.
 * SYSCALL_TABLE(rows) makes a table.
 */
struct syscall_table {
	const void *rows;
	uint32_t nr_rows, row_bytes;
};
#define SYSCALL_TABLE(rows_)                                                                       \
	{                                                                                          \
		(rows_), ARRAY_SIZE(rows_), sizeof((rows_)[0])                                     \
	}

/* The row with a number; NULL: there is none. Any context. */
const void *syscall_table_find(const struct syscall_table *t, uint64_t nr);

/* syscall_listen() for all calls of a table. Return: 0; -errno: it listens to none of them. */
int syscall_table_listen(const struct syscall_table *t, struct syscall_listener *l, int on);

#endif
