/* SPDX-License-Identifier: MIT */
/*
 * Calls of a program's objects into other objects, by probes at the stubs of their procedure linkage
 * tables: one event a function that is called, of the system `libcall`. Functions of
 * libc have their arguments. Those with a result have a second event, NAME__return, with the
 * result, and with errno where the call failed.
 */
#ifndef VESTIGE_TOOLS_LIBCALL_H
#define VESTIGE_TOOLS_LIBCALL_H

#include <stdbool.h>
#include <stddef.h>

#define LIBCALL_SYSTEM "libcall"
#define LIBCALL_RETURN "__return" /* behind the name of the event of a call's return */

struct libcalls {
	char **commands; /* of dynamic_events, `p:libcall/open /bin/prog:0x1030 path=...` */
	char **undo;	 /* of each */
	size_t nr, room, room_undo;
};

/*
 * libcall_add() - the calls of one object. @path: its file, as the process has it. An object without
 * stubs (-fno-plt) adds none. Return: 0 or -errno with fail() set: EINVAL a path with blanks, commas,
 * semicolons or quotes; ENOMEM; and what elf_code_load() says.
 */
int libcall_add(struct libcalls *l, const char *path);

/* Does the word of -e name events of these: `libcall`, `libcall:open`, `libcall:op*`? */
bool libcall_is_named(const char *event);

/* Fail, as @event of these is wanted without --libcall. Return: -EINVAL with fail() set. */
int libcall_is_missing(const char *event);

#endif
