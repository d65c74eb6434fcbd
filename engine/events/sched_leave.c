/* SPDX-License-Identifier: MIT */
/*
 * See sched_leave.h. The calls by which a process leaves its memory without exit(): each writes first what
 * the kernel has told so far. A child of vfork() has its parent's memory, whose agent goes on. Not seen:
 * execl() and its kind, what libc calls within itself, and whoever is killed; these lose the last
 * milliseconds. fork: the child goes on with the same wrappers. Tests: tests/engine/events/switches.
 */
#include "engine/events/sched_leave.h"

#include <unistd.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/core/area.h"
#include "engine/core/interpose.h"
#include "engine/events/sched_perf.h"

#define REAL(row, type) ((__typeof__(type) *)leaves[row].real)

static void wrap_exit(int status);
static void wrap_exit_c99(int status);
static int wrap_execve(const char *path, char *const argv[], char *const envp[]);
static int wrap_execv(const char *path, char *const argv[]);
static int wrap_execvp(const char *file, char *const argv[]);
static int wrap_execvpe(const char *file, char *const argv[], char *const envp[]);
static int wrap_fexecve(int fd, char *const argv[], char *const envp[]);

enum { EXIT, EXIT_C99, EXECVE, EXECV, EXECVP, EXECVPE, FEXECVE };
static struct interposed leaves[] = {
	[EXIT] = {.name = "_exit", .wrapper = wrap_exit},
	[EXIT_C99] = {.name = "_Exit", .wrapper = wrap_exit_c99},
	[EXECVE] = {.name = "execve", .wrapper = wrap_execve},
	[EXECV] = {.name = "execv", .wrapper = wrap_execv},
	[EXECVP] = {.name = "execvp", .wrapper = wrap_execvp},
	[EXECVPE] = {.name = "execvpe", .wrapper = wrap_execvpe},
	[FEXECVE] = {.name = "fexecve", .wrapper = wrap_fexecve},
};

static int (*try_lock)(void);
static void (*unlock)(void);
static int seen;

/* A handler may have come here amid whatever holds the lock: then it is left as it is. */
static void leave(void)
{
	if (!area || area->pid != sys_getpid() || !try_lock())
		return;
	sched_perf_drain();
	unlock();
}

static void wrap_exit(int status)
{
	leave();
	REAL(EXIT, void(int))(status);
}

static void wrap_exit_c99(int status)
{
	leave();
	REAL(EXIT_C99, void(int))(status);
}

static int wrap_execve(const char *path, char *const argv[], char *const envp[])
{
	leave();
	return REAL(EXECVE, int(const char *, char *const[], char *const[]))(path, argv, envp);
}

static int wrap_execv(const char *path, char *const argv[])
{
	leave();
	return REAL(EXECV, int(const char *, char *const[]))(path, argv);
}

static int wrap_execvp(const char *file, char *const argv[])
{
	leave();
	return REAL(EXECVP, int(const char *, char *const[]))(file, argv);
}

static int wrap_execvpe(const char *file, char *const argv[], char *const envp[])
{
	leave();
	return REAL(EXECVPE, int(const char *, char *const[], char *const[]))(file, argv, envp);
}

static int wrap_fexecve(int fd, char *const argv[], char *const envp[])
{
	leave();
	return REAL(FEXECVE, int(int, char *const[], char *const[]))(fd, argv, envp);
}

void sched_leave_use_lock(int (*try)(void), void (*release)(void))
{
	try_lock = try;
	unlock = release;
}

void sched_leave_see(int on)
{
	if (on == seen)
		return;
	seen = on;
	/* a static program's calls cannot be led here: its records are late, as of who is killed */
	if (!on)
		interpose_drop(leaves, ARRAY_SIZE(leaves));
	else if (interpose_want(leaves, ARRAY_SIZE(leaves)))
		seen = 0;
}
