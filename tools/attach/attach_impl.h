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

/*
 * Call @fn for each mapping; a non-zero result ends it. Return: that result; 0; or -errno with
 * fail() set.
 */
int attach_each_map(int pid, int (*fn)(const struct attach_map *m, void *arg), void *arg);

/* Read @bytes of the process's memory at @at. Return: 0 or -errno. */
int attach_peek(int pid, uint64_t at, void *to, size_t bytes);

/* Write to memory of any protection. The process must be traced by us. Return: 0 or -errno. */
int attach_poke(int pid, uint64_t at, const void *from, size_t bytes);

/* Identifies the image of a process: after exec it has another one. */
struct attach_image {
	uint64_t at; /* 0: not known */
	uint8_t bytes[16];
};

/*
 * attach_image() - the image of process @pid. Return: 0; -ESRCH: it has ended; -ENOEXEC: it is a
 * program of 32 bits; -errno.
 * attach_image_same() - whether @pid exists and has image @i; a fork's child has its parent's.
 */
int attach_image(int pid, struct attach_image *i);
bool attach_image_same(int pid, const struct attach_image *i);

/*
 * Whether process @pid shares the memory of @parent: so does a child of vfork() or posix_spawn()
 * until it executes a program. False, too, if we have no permission to find out.
 */
bool attach_shares_memory(int pid, int parent);

/* Whether the engine is in the memory of process @pid. Return: 1; 0; -errno with fail() set. */
int attach_has_engine(int pid);

/*
 * attach_check() - whether the engine can be loaded. @loaded: set if it is there already.
 * @filtered: set if a thread has a seccomp filter.
 * Return: 0 or -errno with fail() set.
 */
int attach_check(int pid, bool *loaded, bool *filtered);

/*
 * attach_check_program() - whether the engine can be loaded into the program in file @fd. Return:
 * 0; or -errno with fail() set: ENOEXEC: a program of 32 bits, or no ELF file; ENOTSUP: a static
 * program, one of another C library, or of Go.
 */
int attach_check_program(int pid, int fd);

/* Explain a refused ptrace(): fail(). */
int attach_refused(int pid, int err);

/* The facts by which attach_explain() finds the reason of a refusal. */
struct attach_refusal {
	int pid;
	long yama;		     /* kernel.yama.ptrace_scope; -1: this kernel has none */
	long me;		     /* our effective user */
	long real, effective, saved; /* users of the process; -1: not known */
};

/* fail() with the reason. Return: -EPERM. */
int attach_explain(const struct attach_refusal *r);

/*
 * attach_seccomp() - whether the filters of thread @tid, which we have stopped, allow all system
 * calls of the engine. @call: gets the name of one that they refuse. Return: 0; -EPERM with @call;
 * -EACCES: we may not read the filters; -EINVAL: the kernel cannot show them; -errno.
 */
int attach_seccomp(int tid, const char **call);

/* libvestige.so by a path that is valid in the process. */
struct attach_library {
	char path[PATH_MAX];
	int pipe, guard; /* if it is a copy: a pipe to the child that unlinks it, and its pid */
};

/*
 * attach_library_open() - find such a path, or make a copy. attach_library_close() - call it when
 * the library is loaded, or will not be; it removes a copy. Return: 0 or -errno with fail() set.
 */
int attach_library_open(struct attach_library *l, int pid);
void attach_library_close(struct attach_library *l);

/*
 * The functions of the process that the code calls. create is pthread_create(), or 0 if the stopped
 * thread itself must call dlopen().
 */
struct attach_functions {
	uint64_t dlopen, dlerror;
	uint64_t attr_init, attr_stack, attr_detached, create;
};

struct attach_points;

/*
 * attach_points_open() - read the process's objects. @f: gets the functions to call.
 * Return: 0 or -errno with fail() set.
 */
int attach_points_open(int pid, struct attach_points **points, struct attach_functions *f);
void attach_points_close(struct attach_points *p);

/* Whether the process has loaded or unloaded objects since. */
bool attach_points_stale(const struct attach_points *p);

/* Why stopped thread @tid is not at a safe point for dlopen(), a text; NULL: it is. */
const char *attach_point_refused(struct attach_points *p, int tid, uint64_t pc, uint64_t sp);

/* --- of a CPU --- */

#define ATTACH_MEMORY_BYTES 0x81000u /* the code maps these: a page, which stays, and a stack */
#define ATTACH_PATH_BYTES   3584

struct attach_call {
	struct attach_functions f;
	uint64_t code;	/* where the code goes */
	uint64_t page;	/* where it maps its memory */
	uint64_t magic; /* of the answer */
	char path[ATTACH_PATH_BYTES];
};

/*
 * attach_find_room() - choose addresses for the code and its page. Return: 0 or -errno with fail()
 * set. attach_has_stack() - whether the stack that ends at @sp has room for the code's data.
 */
int attach_find_room(int pid, struct attach_call *call);
bool attach_has_stack(int pid, uint64_t sp);

/* Bytes of the code, with its data; 0: this CPU is not known. */
size_t attach_code_bytes(void);

/* The program counter and stack pointer of a stopped thread. Return: 0 or -errno. */
int attach_registers(int tid, uint64_t *pc, uint64_t *sp);

/* Whether the instruction before @pc is a system call's. */
bool attach_behind_syscall(int pid, uint64_t pc);

enum attach_return {
	ATTACH_RETURN_NONE,
	ATTACH_RETURN_CALL,   /* the instruction before it is a call */
	ATTACH_RETURN_SIGNAL, /* it is where a signal handler returns to */
};

/* Whether @word, of a stack, can be a return address. */
enum attach_return attach_return_kind(int pid, uint64_t word);

/* The number of bytes that the code needs below the stack pointer. */
size_t attach_stack_bytes(void);

enum attach_state {
	ATTACH_RUNS,
	ATTACH_LOADED,
	ATTACH_REFUSED, /* by the loader */
	ATTACH_NO_THREAD,
};

/* The answer that the code writes at the start of its page. */
struct attach_answer {
	uint64_t state;
	uint64_t error;	  /* of pthread_create(); 0: there is no text */
	uint64_t is_back; /* 1: the stopped thread has returned to its own code */
	uint64_t magic;	  /* if it is not attach_call.magic, this is memory of the program */
};

/*
 * attach_go() - write the code, and its data below the thread's stack pointer, and then set the
 * registers. Return: 0; -errno: the process is not affected.
 * attach_answer() - read the answer so far. @text: gets the loader's message. Return: 0; -EFAULT:
 * the code has not begun; -ESRCH; -errno.
 */
int attach_go(int pid, int tid, const struct attach_call *call);
int attach_answer(int pid, const struct attach_call *call, struct attach_answer *answer, char *text,
		  size_t room);

/*
 * For a thread that was only stopped: restart its system call, which would else fail with EINTR
 * (signal(7)).
 */
void attach_restart(int tid);

#endif
