/* SPDX-License-Identifier: MIT */
/* The events of the systems syscalls and raw_syscalls. */
#ifndef VESTIGE_EVENTS_SYSCALL_EVENT_H
#define VESTIGE_EVENTS_SYSCALL_EVENT_H

/* Let them be known. Constructor context. */
void syscall_events_start(void);

#endif
