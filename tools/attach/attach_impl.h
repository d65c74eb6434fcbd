/* SPDX-License-Identifier: MIT */
/* Shared by the files of tools/attach/ alone. */
#ifndef VESTIGE_TOOLS_ATTACH_IMPL_H
#define VESTIGE_TOOLS_ATTACH_IMPL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A mapping of the process: a line of /proc/PID/maps. */
struct attach_map {
	uint64_t lo, hi, offset;
	bool read, write, exec, is_private;
	char path[PATH_MAX]; /* "": none */
};

/* Call back for each; non-zero ends it. Return: that; 0; or -errno with fail() set. */
int attach_each_map(int pid, int (*fn)(const struct attach_map *m, void *arg), void *arg);

/* @bytes of the process's memory. Return: 0 or -errno. */
int attach_peek(int pid, uint64_t at, void *to, size_t bytes);

/* The same to memory of any protection. The process is traced. */
int attach_poke(int pid, uint64_t at, const void *from, size_t bytes);

/*
 * attach_check() - whether the engine can be loaded. @loaded: whether it is there already.
 * @filtered: whether a thread has a seccomp filter.
 * Return: 0 or -errno with fail() set.
 */
int attach_check(int pid, bool *loaded, bool *filtered);

/* Explain a refused ptrace(): fail(). */
int attach_refused(int pid, int err);

/*
 * attach_seccomp() - whether the filters of thread @tid, which we have stopped, let through all that
 * the engine calls. @call: the name of one that they do not. Return: 0; -EPERM with @call; -EACCES:
 * we may not read them; -EINVAL: the kernel cannot show them; -errno.
 */
int attach_seccomp(int tid, const char **call);

/* libvestige.so as the process finds it. */
struct attach_library {
	char path[PATH_MAX];
	int pipe, guard; /* of a copy: the child that unlinks it */
};

/*
 * attach_library_open() - make sure that the process finds it. attach_library_close() - it is
 * loaded, or will not be. Return: 0 or -errno with fail() set.
 */
int attach_library_open(struct attach_library *l, int pid);
void attach_library_close(struct attach_library *l);

/* The functions of the process that the code calls. */
struct attach_functions {
	uint64_t dlopen, dlerror;
};

struct attach_points;

/*
 * attach_points_open() - look at the process's objects. @f: what is called there.
 * Return: 0 or -errno with fail() set.
 */
int attach_points_open(int pid, struct attach_points **points, struct attach_functions *f);
void attach_points_close(struct attach_points *p);

/* Why thread @tid, which is stopped, must not call dlopen() now; NULL: it may. */
const char *attach_point_refused(struct attach_points *p, int tid, uint64_t pc, uint64_t sp);

/* --- of a CPU --- */

struct attach_call {
	struct attach_functions f;
	char path[PATH_MAX];
};

/* Bytes of the code, with its data; 0: this CPU is not known. */
size_t attach_code_bytes(void);

/* Where a stopped thread is. Return: 0 or -errno. */
int attach_registers(int tid, uint64_t *pc, uint64_t *sp);

/* Whether the instruction before @pc is a system call's. */
bool attach_behind_syscall(int pid, uint64_t pc);

/* Bytes below the stack pointer that are needed there. */
size_t attach_stack_bytes(void);

/* The answer that the code leaves below the thread's stack, until that memory is used again. */
struct attach_answer {
	uint64_t finished; /* 1: it is through with dlopen() */
	uint64_t handle;   /* what that returned */
	uint64_t error;	   /* address of dlerror()'s text; 0: none */
};

/*
 * attach_go() - write the code to @code and its data below the thread's stack pointer, and then set
 * the registers. @answer: where a struct attach_answer will be.
 * Return: 0; -errno: nothing that runs has changed.
 */
int attach_go(int pid, int tid, uint64_t code, const struct attach_call *call, uint64_t *answer);

/* A thread that was only stopped: its system call goes on as if nothing had been (signal(7)). */
void attach_restart(int tid);

#endif
