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

/* What tells the program that a process runs from one that it executes later. */
struct attach_image {
	uint64_t at; /* 0: not known */
	uint8_t bytes[16];
};

/*
 * attach_image() - the image of process @pid. Return: 0; -ESRCH it has ended; -ENOEXEC it is of 32
 * bits; -errno.
 * attach_image_same() - whether @pid is there and runs that image, or one forked from it.
 */
int attach_image(int pid, struct attach_image *i);
bool attach_image_same(int pid, const struct attach_image *i);

/*
 * Whether process @pid has the memory of @parent, as a child of vfork() and posix_spawn() until it
 * has executed a program. False, too, if we may not ask.
 */
bool attach_shares_memory(int pid, int parent);

/* Whether the engine is in the memory of process @pid. Return: 1; 0; -errno with fail() set. */
int attach_has_engine(int pid);

/*
 * attach_check() - whether the engine can be loaded. @loaded: whether it is there already.
 * @filtered: whether a thread has a seccomp filter.
 * Return: 0 or -errno with fail() set.
 */
int attach_check(int pid, bool *loaded, bool *filtered);

/*
 * attach_check_program() - whether the program in file @fd, an ELF file as it may be, is one into
 * which the engine can be loaded. Return: 0; or with fail() set ENOEXEC: of 32 bits, or no ELF file;
 * ENOTSUP: static, of another C library, or Go.
 */
int attach_check_program(int pid, int fd);

/* Explain a refused ptrace(): fail(). */
int attach_refused(int pid, int err);

/* The facts from which attach_explain() words a refusal. */
struct attach_refusal {
	int pid;
	long yama;		     /* kernel.yama.ptrace_scope; -1: this kernel has none */
	long me;		     /* our effective user */
	long real, effective, saved; /* users of the process; -1: not known */
};

/* Return: -EPERM with fail() set. */
int attach_explain(const struct attach_refusal *r);

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

/*
 * The functions of the process that the code calls; @create, pthread_create(), is 0 where the
 * thread itself has to call dlopen().
 */
struct attach_functions {
	uint64_t dlopen, dlerror;
	uint64_t attr_init, attr_stack, attr_detached, create;
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

#define ATTACH_MEMORY_BYTES 0x81000u /* what the code maps: a page, which stays, and a stack */
#define ATTACH_PATH_BYTES   3584

struct attach_call {
	struct attach_functions f;
	uint64_t code;	/* where the code goes */
	uint64_t page;	/* where it maps its memory */
	uint64_t magic; /* of the answer */
	char path[ATTACH_PATH_BYTES];
};

/* Bytes of the code, with its data; 0: this CPU is not known. */
size_t attach_code_bytes(void);

/* Where a stopped thread is. Return: 0 or -errno. */
int attach_registers(int tid, uint64_t *pc, uint64_t *sp);

/* Whether the instruction before @pc is a system call's. */
bool attach_behind_syscall(int pid, uint64_t pc);

/* Bytes below the stack pointer that are needed there. */
size_t attach_stack_bytes(void);

enum attach_state {
	ATTACH_RUNS,
	ATTACH_LOADED,
	ATTACH_REFUSED, /* by the loader */
	ATTACH_NO_THREAD,
};

/* What the code leaves at the beginning of its page. */
struct attach_answer {
	uint64_t state;
	uint64_t error;	  /* of pthread_create(); 0: there is no text */
	uint64_t is_back; /* 1: the thread that was stopped goes on with its own code */
	uint64_t magic;	  /* else it is memory of the program */
};

/*
 * attach_go() - write the code, and its data below the thread's stack pointer, and then set the
 * registers. Return: 0; -errno: nothing that runs has changed.
 * attach_answer() - what there is of the answer. @text: of the loader. Return: 0; -EFAULT: the code
 * has not begun; -ESRCH; -errno.
 */
int attach_go(int pid, int tid, const struct attach_call *call);
int attach_answer(int pid, const struct attach_call *call, struct attach_answer *answer, char *text,
		  size_t room);

/* A thread that was only stopped: its system call goes on as if nothing had been (signal(7)). */
void attach_restart(int tid);

#endif
