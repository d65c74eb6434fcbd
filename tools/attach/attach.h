/* SPDX-License-Identifier: MIT */
/*
 * Loads the engine into a process that runs without it. ptrace stops one of its threads at a safe
 * point, where it holds no lock that dlopen() needs. The thread's registers are set once, to code
 * that starts a new thread, which calls dlopen(). Then the code restores all that it has changed,
 * and the thread continues where it was. From the moment the registers are set the code needs no
 * help: it finishes even if this program is killed.
 *
 *	attach_check.c	 whether the process can be attached to, and what to do if not
 *	attach_seccomp.c whether its filters of system calls allow it
 *	attach_library.c the path of the library for the process, below its root
 *	attach_room.c	 where the code goes, and its data
 *	attach_point.c	 whether a thread is at a safe point, by unwinding its stack (libdw)
 *	attach_<cpu>.c	 the code, and registers
 *	attach_image.c	 whether it still runs the same program
 *	attach_children.c new children, and exec, of processes that are followed
 * 	attach.c the order of these steps
 */
#ifndef VESTIGE_TOOLS_ATTACH_H
#define VESTIGE_TOOLS_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct attach_result {
	bool was_there; /* the engine had been loaded before */
	bool slept;	/* and `vestige detach` had put it to sleep */
	int tid;	/* the thread that was stopped */
	unsigned int tries;
	uint64_t held_ns;  /* how long this program held it */
	uint64_t still_ns; /* how long it did not run its own code, held_ns included */
};

/*
 * attach_process() - load libvestige.so into process @pid and wait until its agent answers.
 * @wait_s: seconds in which a thread must come to a safe point.
 * Return: 0, also if it was there; or -errno with fail() set: ESRCH: no such process, or a zombie;
 * EPERM: not allowed, or a thread of the kernel; EBUSY: a debugger is attached, or it is stopped;
 * ENOEXEC, ENOTSUP: not possible with this program; EAGAIN: no thread came to a safe point;
 * ELIBACC: its loader refused the library.
 */
int attach_process(int pid, unsigned int wait_s, struct attach_result *r);

#define ATTACH_WAIT_S 10u /* seconds: the default of --wait */

/*
 * attach_cgroup() - the processes of a control group and of the groups below it. @name: its path,
 * from /sys/fs/cgroup or the root; or the name of its folder, such as a systemd unit's; or 12 or
 * more characters of a container's id. @pids: to be freed with free(). Return: 0 or -errno with
 * fail() set: ENOENT: there is no such group; ESRCH: it has no process.
 */
int attach_cgroup(const char *name, int **pids, size_t *nr);

struct attach_children {
	unsigned int wait_s;	    /* as of attach_process(), for each of them */
	bool quiet;		    /* no line for each process that is attached to */
	void (*refused)(void *arg); /* called for each process that cannot have it */
	void *arg;
};

/*
 * attach_children() - follow processes that have the engine, and their present and later children,
 * until all have ended or SIGINT, SIGTERM or SIGHUP comes. It attaches to processes that lose the
 * engine by exec, and to children that never had it. Lines on stderr (note.h) report them.
 * @pids: @nr of them. Return: 0, or -errno with fail() set: ENOMEM, or errors of opening /proc.
 */
int attach_children(const int *pids, size_t nr, const struct attach_children *how);

#endif
