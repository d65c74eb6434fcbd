/* SPDX-License-Identifier: MIT */
/* A mount namespace in which a process's tree is the kernel's tracefs, for programs that know that alone. */
#ifndef VESTIGE_TOOLS_MOUNT_ENTER_H
#define VESTIGE_TOOLS_MOUNT_ENTER_H

#include "tools/target/target.h"

/*
 * enter_run() - run @argv in such a namespace and wait for it.
 * @name: PID, or the name of a session. As root, or in a user namespace of its own.
 * @t: the process, or one of the session's that lives, for its symbols.
 * @status: set to its exit status, 128+n after signal n, 126 and 127 when it cannot be run.
 * Return: 0 or -errno with fail() set.
 */
int enter_run(const char *name, const struct target *t, char **argv, int *status);

#endif
