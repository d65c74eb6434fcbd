/* SPDX-License-Identifier: MIT */
/*
 * Runs a program in a mount namespace in which a target's tree takes the place of the kernel's
 * tracefs: for programs that know only the kernel's.
 */
#ifndef VESTIGE_TOOLS_MOUNT_ENTER_H
#define VESTIGE_TOOLS_MOUNT_ENTER_H

/*
 * enter_run() - run @argv in such a namespace and wait for it. A caller who is not root gets a user
 * namespace, too.
 * @name: of the target. @argv: ends with NULL. @status: set to the exit status; 128+n after signal
 * n; 126 or 127 if the program cannot be run.
 * Return: 0 or -errno with fail() set.
 */
int enter_run(const char *name, char **argv, int *status);

#endif
