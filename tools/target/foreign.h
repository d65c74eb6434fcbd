/* SPDX-License-Identifier: MIT */
/* Traced processes with another root or in another PID namespace: containers', as a rule. */
#ifndef VESTIGE_TOOLS_FOREIGN_H
#define VESTIGE_TOOLS_FOREIGN_H

/*
 * foreign_list() - those that image_open() finds by their number here. Their areas lie below their
 * own root, or have the number that they have in their namespace; so no folder of ours lists them.
 * None with VESTIGE_DIR in the environment, which names the one folder that counts.
 * @put: non-zero to stop. Costs some microseconds for each process of the machine.
 */
void foreign_list(int (*put)(void *arg, int pid), void *arg);

#endif
