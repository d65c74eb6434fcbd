/* SPDX-License-Identifier: MIT */
/*
 * Loading the engine into a process that runs without it: one of its threads is stopped by ptrace
 * where it can hold no lock that dlopen() needs, and its registers are set once, to code that starts
 * a thread, which calls dlopen(), restores all that it has changed, and goes on where the thread
 * was. From that moment the thread needs no help: it finishes even if this program is killed.
 *
 *	attach_check.c	 whether the process can be attached to, and what to do if not
 *	attach_seccomp.c whether its filters of system calls allow it
 *	attach_library.c the library as the process finds it, below its root
 *	attach_point.c	 whether a thread is at a safe point, by unwinding its stack (libdw)
 *	attach_<cpu>.c	 the code, and registers
 *	attach_image.c	 whether it still runs the same program
 *	attach_children.c which processes come and execute others
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
	bool slept;	/* and was put to sleep by `vestige detach` */
	int tid;	/* the thread that was stopped */
	unsigned int tries;
	uint64_t held_ns;  /* how long this program held it */
	uint64_t still_ns; /* how long it did not run its own code, with that */
};

/*
 * attach_process() - load libvestige.so into process @pid and wait until its agent answers.
 * @wait_s: seconds in which a thread must come to a safe point.
 * Return: 0, also where it was there; or -errno with fail() set: ESRCH no such process, or a
 * zombie, EPERM not allowed, or a thread of the kernel, EBUSY a debugger has it, or it is stopped,
 * ENOEXEC, ENOTSUP it is a program to which this cannot be done, EAGAIN no thread came to a safe
 * point, ELIBACC its loader refused the library.
 */
int attach_process(int pid, unsigned int wait_s, struct attach_result *r);

#define ATTACH_WAIT_S 10u /* seconds: the default of --wait */

/*
 * attach_cgroup() - the processes of a control group and of those below it. @name: its path, from
 * /sys/fs/cgroup or the root; or the name of its folder, which a systemd unit has; or 12 or more
 * characters of a container's id. @pids: to be freed with free(). Return: 0 or -errno with fail()
 * set: ENOENT there is none, ESRCH it has no process.
 */
int attach_cgroup(const char *name, int **pids, size_t *nr);

struct attach_children {
	unsigned int wait_s;	    /* as of attach_process(), for each of them */
	bool quiet;		    /* no line for each process that is attached to */
	void (*refused)(void *arg); /* called for each that cannot be; a line says why */
	void *arg;
};

/*
 * attach_children() - follow processes that have the engine, and the children that they have and
 * make, until all have ended or SIGINT, SIGTERM or SIGHUP comes: the ones that lose the engine by
 * exec, and children that never had it, are attached to. Lines on stderr (note.h) say which.
 * @pids: @nr of them. Return: 0, or -errno with fail() set: ENOMEM, or what opening /proc says.
 */
int attach_children(const int *pids, size_t nr, const struct attach_children *how);

#endif
