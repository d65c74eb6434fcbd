/* SPDX-License-Identifier: MIT */
/*
 * Calls of a program's objects into other objects, by probes at the stubs of their procedure
 * linkage tables: one event for each called function, in the system `libcall`. Events of libc
 * functions have the arguments. Functions with a result have a second event, NAME__return, with the
 * result, and with errno if the call failed.
 */
#ifndef VESTIGE_TOOLS_LIBCALL_H
#define VESTIGE_TOOLS_LIBCALL_H

#include <stdbool.h>
#include <stddef.h>

#define LIBCALL_SYSTEM "libcall"
#define LIBCALL_RETURN "__return" /* behind the name of the event of a call's return */

struct libcalls {
	char **commands; /* of dynamic_events, `p:libcall/open /bin/prog:0x1030 path=...` */
	char **undo;	 /* for each, the command that removes the event */
	size_t nr, room, room_undo;
};

/*
 * libcall_add() - add the calls of one object. @path: its file, by the path in the process. An
 * object without stubs (-fno-plt) adds none. Return: 0 or -errno with fail() set: EINVAL: a path
 * with blanks, commas, semicolons or quotes; ENOMEM; errors of elf_code_load().
 */
int libcall_add(struct libcalls *l, const char *path);

/* Does a word of -e name such events: `libcall`, `libcall:open`, `libcall:op*`? */
bool libcall_is_named(const char *event);

/*
 * Report that @event is such an event, but --libcall is missing. Return: -EINVAL with fail() set.
 */
int libcall_is_missing(const char *event);

#endif
