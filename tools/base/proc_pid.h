/* SPDX-License-Identifier: MIT */
/*
 * What the kernel says of a process or thread in /proc/PID/stat, status and comm; proc(5) has the
 * fields. @pid may be a thread's. No function calls fail(). Any thread.
 */
#ifndef VESTIGE_TOOLS_PROC_PID_H
#define VESTIGE_TOOLS_PROC_PID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_COMM_BYTES 16 /* TASK_COMM_LEN of the kernel */

struct proc_stat {
	char comm[PROC_COMM_BYTES];
	char state; /* 'Z': the main thread has ended; others may live on, see @threads */
	int parent; /* 0: a process of another PID namespace */
	long threads;
	unsigned long long start; /* field 22, in ticks since the machine's start */
	int cpu;		  /* where it ran last */
	bool has_code;		  /* field 26: false in execve(), and of a thread of the kernel */
	bool has_environ; /* fields 50 and 51: it has an environment; false if not permitted */
};

/* Returns a descriptor of /proc/PID/stat for proc_stat_at(), or -1 with errno. */
int proc_stat_open(int pid);

/* Reads the fields as they are now. Return: false: the process is gone. */
bool proc_stat_at(int fd, struct proc_stat *s);

/* All in one. Return: false: there is no such process, or no free descriptor. */
bool proc_stat(int pid, struct proc_stat *s);

/* A line that is not in the file is 0. */
struct proc_status {
	char comm[PROC_COMM_BYTES];
	char state;
	int tgid;		      /* the process of a thread */
	int parent;		      /* of the process */
	int tracer;		      /* by ptrace() */
	int inner_pid;		      /* in its own PID namespace */
	unsigned int uid, euid, suid; /* its real, effective and saved user */
	int seccomp;		      /* SECCOMP_MODE_STRICT, SECCOMP_MODE_FILTER */
	int kernel_thread;	      /* 1: is one; older kernels do not say */
	bool has_memory;	      /* no: a thread of the kernel, or it has ended */
	uint64_t effective_caps;      /* bit N: CAP_ number N */
};

/* Return: 0; -ENOENT, -ESRCH: there is no such process; another -errno. */
int proc_status(int pid, struct proc_status *s);

/* The name without its newline. Return: false: @comm stays as it is. */
bool proc_comm(int pid, char *comm, size_t room);

#endif
