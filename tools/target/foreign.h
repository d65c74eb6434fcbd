/* SPDX-License-Identifier: MIT */
/* Traced processes with another root or in another PID namespace, usually in containers. */
#ifndef VESTIGE_TOOLS_FOREIGN_H
#define VESTIGE_TOOLS_FOREIGN_H

/*
 * foreign_list() - list those that image_open() finds by their PID in our namespace. Their areas
 * are below their own root, or are named by the PID in their namespace, so our folder does not list
 * them. If VESTIGE_DIR is set the list is empty, since then only that folder is used.
 * @put: called with each PID; non-zero to stop. Costs some microseconds for each process of the
 * machine.
 */
void foreign_list(int (*put)(void *arg, int pid), void *arg);

#endif
