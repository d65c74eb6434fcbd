/* SPDX-License-Identifier: MIT */
/* Writes the kernel's last records about a process before it ends or executes another program. */
#ifndef VESTIGE_SOURCES_SCHED_FLUSH_H
#define VESTIGE_SOURCES_SCHED_FLUSH_H

/* Start or stop watching the calls that end the process's memory. Under the tree lock. */
void sched_flush_see(int on);

#endif
