/* SPDX-License-Identifier: MIT */
/*
 * See sched_calls.h. A process is told by its maker when the call has returned, a wait before it
 * begins, as the kernel has it. What libc calls within itself is not seen: the processes of system()
 * and popen(). vfork() has its wrapper in assembler, since it returns twice.
 * fork: the child goes on with the same wrappers. Tests: tests/engine/events/sched.
 */
#include "engine/events/sched_calls.h"

#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/core/interpose.h"
#include "engine/events/sched_event.h"

#define REAL(row, type) ((__typeof__(type) *)(row).real)

static pid_t wrap_fork(void);
static pid_t wrap_fork_only(void);
static int wrap_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		      const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);
static int wrap_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);
static int wrap_clone(int (*fn)(void *), void *stack, int flags, void *arg, void *ptid, void *tls,
		      void *ctid);
void sched_wrap_vfork(void);

enum { FORK, FORK_ONLY, VFORK, SPAWN, SPAWNP, CLONE };
static struct interposed makers[] = {
	[FORK] = {.name = "fork", .wrapper = wrap_fork},
	[FORK_ONLY] = {.name = "_Fork", .wrapper = wrap_fork_only},
	[VFORK] = {.name = "vfork", .wrapper = sched_wrap_vfork},
	[SPAWN] = {.name = "posix_spawn", .wrapper = wrap_spawn},
	[SPAWNP] = {.name = "posix_spawnp", .wrapper = wrap_spawnp},
	[CLONE] = {.name = "clone", .wrapper = wrap_clone},
};

/* Where sched_wrap_vfork() goes when the system call fails. */
void **const sched_real_vfork = &makers[VFORK].real;

static pid_t made(pid_t pid)
{
	if (pid > 0)
		sched_event_fork(pid);
	return pid;
}

static pid_t wrap_fork(void)
{
	return made(REAL(makers[FORK], pid_t(void))());
}

static pid_t wrap_fork_only(void)
{
	return made(REAL(makers[FORK_ONLY], pid_t(void))());
}

/* The parent, whose child has ended or executed another program. */
void sched_vfork_returned(pid_t pid);
void sched_vfork_returned(pid_t pid)
{
	made(pid);
}

typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, char *const[], char *const[]);

static int spawned(struct interposed *row, pid_t *pid, const char *path,
		   const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
		   char *const argv[], char *const envp[])
{
	pid_t child = 0;
	int err = REAL(*row, spawn_fn)(&child, path, actions, attr, argv, envp);

	if (!err) {
		made(child);
		if (pid)
			*pid = child;
	}
	return err;
}

static int wrap_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return spawned(&makers[SPAWN], pid, path, actions, attr, argv, envp);
}

static int wrap_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return spawned(&makers[SPAWNP], pid, file, actions, attr, argv, envp);
}

typedef int clone_fn(int (*)(void *), void *, int, void *, void *, void *, void *);

/* Those that the caller does not give are what happens to lie there, and go on as that. */
static int wrap_clone(int (*fn)(void *), void *stack, int flags, void *arg, void *ptid, void *tls,
		      void *ctid)
{
	int tid = REAL(makers[CLONE], clone_fn)(fn, stack, flags, arg, ptid, tls, ctid);

	return made(tid);
}

static pid_t wrap_wait(int *status);
static pid_t wrap_waitpid(pid_t pid, int *status, int options);
static pid_t wrap_wait3(int *status, int options, struct rusage *usage);
static pid_t wrap_wait4(pid_t pid, int *status, int options, struct rusage *usage);
static int wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);

enum { WAIT, WAITPID, WAIT3, WAIT4, WAITID };
static struct interposed waits[] = {
	[WAIT] = {.name = "wait", .wrapper = wrap_wait},
	[WAITPID] = {.name = "waitpid", .wrapper = wrap_waitpid},
	[WAIT3] = {.name = "wait3", .wrapper = wrap_wait3},
	[WAIT4] = {.name = "wait4", .wrapper = wrap_wait4},
	[WAITID] = {.name = "waitid", .wrapper = wrap_waitid},
};

/* Whom wait4() waits for: a process, a group of them; 0: its own group, or any. */
static void waits_for(pid_t pid)
{
	sched_event_wait(pid == -1 ? 0 : pid < 0 ? -pid : pid);
}

static pid_t wrap_wait(int *status)
{
	waits_for(-1);
	return REAL(waits[WAIT], pid_t(int *))(status);
}

static pid_t wrap_waitpid(pid_t pid, int *status, int options)
{
	waits_for(pid);
	return REAL(waits[WAITPID], pid_t(pid_t, int *, int))(pid, status, options);
}

static pid_t wrap_wait3(int *status, int options, struct rusage *usage)
{
	waits_for(-1);
	return REAL(waits[WAIT3], pid_t(int *, int, struct rusage *))(status, options, usage);
}

static pid_t wrap_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	waits_for(pid);
	return REAL(waits[WAIT4], pid_t(pid_t, int *, int, struct rusage *))(pid, status, options,
									     usage);
}

static int wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	sched_event_wait(type == P_ALL ? 0 : (pid_t)id);
	return REAL(waits[WAITID], int(idtype_t, id_t, siginfo_t *, int))(type, id, info, options);
}

static void wrap_exit(int status);
static void wrap_exit_c99(int status);

enum { EXIT, EXIT_C99 };
static struct interposed ends[] = {
	[EXIT] = {.name = "_exit", .wrapper = wrap_exit},
	[EXIT_C99] = {.name = "_Exit", .wrapper = wrap_exit_c99},
};

static void wrap_exit(int status)
{
	sched_event_exit();
	REAL(ends[EXIT], void(int))(status);
}

static void wrap_exit_c99(int status)
{
	sched_event_exit();
	REAL(ends[EXIT_C99], void(int))(status);
}

/* A static program's calls cannot be led here: what its threads do is told all the same. */
static int see(struct interposed *rows, uint32_t n, int on)
{
	int err = 0;

	if (on)
		err = interpose_want(rows, n);
	else
		interpose_drop(rows, n);
	return err == -ENODEV ? 0 : err;
}

int sched_calls_fork(int on)
{
	return see(makers, ARRAY_SIZE(makers), on);
}

int sched_calls_wait(int on)
{
	return see(waits, ARRAY_SIZE(waits), on);
}

int sched_calls_exit(int on)
{
	return see(ends, ARRAY_SIZE(ends), on);
}
