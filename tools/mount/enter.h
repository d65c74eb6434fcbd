/* SPDX-License-Identifier: MIT */
/* A mount namespace in which a target's tree is the kernel's tracefs, for programs that know that
 * alone. */
#ifndef VESTIGE_TOOLS_MOUNT_ENTER_H
#define VESTIGE_TOOLS_MOUNT_ENTER_H

/*
 * enter_run() - run @argv in such a namespace and wait for it.
 * @name: of the target. As root, or in a user namespace of its own.
 * @status: set to its exit status, 128+n after signal n, 126 and 127 when it cannot be run.
 * Return: 0 or -errno with fail() set.
 */
int enter_run(const char *name, char **argv, int *status);

#endif
