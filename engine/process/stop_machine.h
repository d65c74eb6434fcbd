/* SPDX-License-Identifier: MIT */
/* Stops all threads of the process for a moment, as the kernel's stop_machine() stops CPUs. */
#ifndef VESTIGE_PROCESS_STOP_MACHINE_H
#define VESTIGE_PROCESS_STOP_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* A stopped thread. */
struct stopped_thread {
	int tid;
	uint8_t state;	 /* of stop_machine.c */
	int signal;	 /* signal that it was about to take */
	uint64_t ip;	 /* its next instruction */
	uint64_t before; /* the same, or the system call instruction if that begins again */
	uint64_t sp;
};

/*
 * stop_machine() - call @fn while no other thread of the process runs. @fn is called in a child
 * process that shares the memory: it may access memory and call stopped_read(), and must take no
 * lock. The kernel continues all threads when the child ends or is killed. @within_ns: how long
 * threads may be stopped before @fn is called. @tid: the thread for which it failed; 0: none.
 * Return: 0; -EAGAIN: a thread did not stop in time (it is in a vfork(), or has no CPU), or the
 * number of threads keeps growing; -EPERM: ptrace() is refused, or there is a debugger; -EACCES:
 * the caller has a seccomp filter; -ENOMEM; -errno of clone(), or of open() in /proc. Agent or
 * constructor context, with any signals blocked or not; one caller at a time.
 */
int stop_machine(void (*fn)(const struct stopped_thread *threads, uint32_t nr, void *arg),
		 void *arg, uint64_t within_ns, int *tid);

/*
 * stopped_read() - read the process's memory at @at, in the function that stop_machine() calls.
 * Return: bytes, fewer at the end of the mapping; or -errno.
 */
long stopped_read(uint64_t at, void *to, size_t bytes);

#endif
