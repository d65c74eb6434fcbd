/* SPDX-License-Identifier: MIT */
/* System calls that a stop by ptrace() interrupts. */
#ifndef VESTIGE_ABI_STOPPED_CALLS_H
#define VESTIGE_ABI_STOPPED_CALLS_H

#include <stddef.h>
#include <sys/syscall.h>

/*
 * stop_ends_call() - whether system call @nr ends with EINTR when its thread is stopped, although
 * no signal handler ran; see signal(7). The kernel restarts all other calls. Any context.
 */
static inline int stop_ends_call(long nr)
{
	static const long calls[] = {
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
		SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_semop,  SYS_semtimedop,
		SYS_rt_sigtimedwait, SYS_msgrcv,       SYS_msgsnd, SYS_io_getevents,
	};
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == nr)
			return 1;
	return 0;
}

#endif
