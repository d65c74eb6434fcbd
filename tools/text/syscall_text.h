/* SPDX-License-Identifier: MIT */
/* Records of system calls as the kernel's trace shows them. */
#ifndef VESTIGE_TOOLS_SYSCALL_TEXT_H
#define VESTIGE_TOOLS_SYSCALL_TEXT_H

#include <stdbool.h>
#include <traceevent/event-parse.h>

#include "tools/text/out.h"

/*
 * syscall_text() - `sys_close(fd: 3)`, `sys_close -> 0x0`, in place of the event's name and its
 * text. @data: the record; the caller has checked that its fields lie inside it. @verbose: with the
 * arguments' types. Return: false: it is no event of the system syscalls, and nothing was written.
 */
bool syscall_text(struct out *o, const struct tep_event *ev, const char *data, bool verbose);

#endif
