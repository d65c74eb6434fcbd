/* SPDX-License-Identifier: MIT */
/*
 * See process.h. A new process is reported by the parent when the call has returned; a wait is
 * reported before it begins, as the kernel does. New threads come from core/thread.h. The wrapper
 * of vfork() is in assembler, since vfork() returns twice. fork: the child goes on with the same
 * wrappers. Tests:
 * tests/engine/events/sched.
 */
#include "engine/sources/process.h"

#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/core/interpose.h"
#include "engine/core/thread.h"

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
	INTERPOSED(FORK, "fork", wrap_fork),
	INTERPOSED(FORK_ONLY, "_Fork", wrap_fork_only),
	INTERPOSED(VFORK, "vfork", sched_wrap_vfork),
	INTERPOSED(SPAWN, "posix_spawn", wrap_spawn),
	INTERPOSED(SPAWNP, "posix_spawnp", wrap_spawnp),
	INTERPOSED(CLONE, "clone", wrap_clone),
};

/* The address where sched_wrap_vfork() goes if the system call fails. */
void **const sched_real_vfork = &makers[VFORK].real;

static void notify_fork(int id)
{
	SOURCE_NOTIFY(struct process_listener, load_acquire(&process_forks.first), id);
}

static pid_t made(pid_t pid)
{
	if (pid > 0)
		notify_fork(pid);
	return pid;
}

static pid_t wrap_fork(void)
{
	return made(INTERPOSE_REAL(makers[FORK], pid_t(void))());
}

static pid_t wrap_fork_only(void)
{
	return made(INTERPOSE_REAL(makers[FORK_ONLY], pid_t(void))());
}

/* Called in the parent when its child has ended or executed another program. */
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
	int err = INTERPOSE_REAL(*row, spawn_fn)(&child, path, actions, attr, argv, envp);

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

/*
 * Arguments that the caller does not pass have whatever is in the registers, and are passed on
 * unchanged.
 */
static int wrap_clone(int (*fn)(void *), void *stack, int flags, void *arg, void *ptid, void *tls,
		      void *ctid)
{
	int tid = INTERPOSE_REAL(makers[CLONE], clone_fn)(fn, stack, flags, arg, ptid, tls, ctid);

	return made(tid);
}

static pid_t wrap_wait(int *status);
static pid_t wrap_waitpid(pid_t pid, int *status, int options);
static pid_t wrap_wait3(int *status, int options, struct rusage *usage);
static pid_t wrap_wait4(pid_t pid, int *status, int options, struct rusage *usage);
static int wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);

enum { WAIT, WAITPID, WAIT3, WAIT4, WAITID };
static struct interposed waits[] = {
	INTERPOSED(WAIT, "wait", wrap_wait),	   INTERPOSED(WAITPID, "waitpid", wrap_waitpid),
	INTERPOSED(WAIT3, "wait3", wrap_wait3),	   INTERPOSED(WAIT4, "wait4", wrap_wait4),
	INTERPOSED(WAITID, "waitid", wrap_waitid),
};

static void notify_wait(int pid)
{
	SOURCE_NOTIFY(struct process_listener, load_acquire(&process_waits.first), pid);
}

/* Report a wait of wait4(): @pid, or a process of a group; 0: of the own group, or any process. */
static void waits_for(pid_t pid)
{
	notify_wait(pid == -1 ? 0 : pid < 0 ? -pid : pid);
}

static pid_t wrap_wait(int *status)
{
	waits_for(-1);
	return INTERPOSE_REAL(waits[WAIT], pid_t(int *))(status);
}

static pid_t wrap_waitpid(pid_t pid, int *status, int options)
{
	waits_for(pid);
	return INTERPOSE_REAL(waits[WAITPID], pid_t(pid_t, int *, int))(pid, status, options);
}

static pid_t wrap_wait3(int *status, int options, struct rusage *usage)
{
	waits_for(-1);
	return INTERPOSE_REAL(waits[WAIT3], pid_t(int *, int, struct rusage *))(status, options,
										usage);
}

static pid_t wrap_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	waits_for(pid);
	return INTERPOSE_REAL(waits[WAIT4], pid_t(pid_t, int *, int, struct rusage *))(
		pid, status, options, usage);
}

static int wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	notify_wait(type == P_ALL ? 0 : (pid_t)id);
	return INTERPOSE_REAL(waits[WAITID], int(idtype_t, id_t, siginfo_t *, int))(type, id, info,
										    options);
}

static void wrap_exit(int status);
static void wrap_exit_c99(int status);
static int wrap_execve(const char *path, char *const argv[], char *const envp[]);
static int wrap_execv(const char *path, char *const argv[]);
static int wrap_execvp(const char *file, char *const argv[]);
static int wrap_execvpe(const char *file, char *const argv[], char *const envp[]);
static int wrap_fexecve(int fd, char *const argv[], char *const envp[]);

/* process_ends uses the first two of them, process_leaves all. */
enum { EXIT, EXIT_C99, EXECVE, EXECV, EXECVP, EXECVPE, FEXECVE };
static struct interposed leaves[] = {
	INTERPOSED(EXIT, "_exit", wrap_exit),	      INTERPOSED(EXIT_C99, "_Exit", wrap_exit_c99),
	INTERPOSED(EXECVE, "execve", wrap_execve),    INTERPOSED(EXECV, "execv", wrap_execv),
	INTERPOSED(EXECVP, "execvp", wrap_execvp),    INTERPOSED(EXECVPE, "execvpe", wrap_execvpe),
	INTERPOSED(FEXECVE, "fexecve", wrap_fexecve),
};

static void notify_end(void)
{
	SOURCE_NOTIFY(struct process_end_listener, load_acquire(&process_ends.first));
}

static void leave(void)
{
	SOURCE_NOTIFY(struct process_end_listener, load_acquire(&process_leaves.first));
}

static void wrap_exit(int status)
{
	notify_end();
	leave();
	INTERPOSE_REAL(leaves[EXIT], void(int))(status);
}

static void wrap_exit_c99(int status)
{
	notify_end();
	leave();
	INTERPOSE_REAL(leaves[EXIT_C99], void(int))(status);
}

static int wrap_execve(const char *path, char *const argv[], char *const envp[])
{
	leave();
	return INTERPOSE_REAL(leaves[EXECVE],
			      int(const char *, char *const[], char *const[]))(path, argv, envp);
}

static int wrap_execv(const char *path, char *const argv[])
{
	leave();
	return INTERPOSE_REAL(leaves[EXECV], int(const char *, char *const[]))(path, argv);
}

static int wrap_execvp(const char *file, char *const argv[])
{
	leave();
	return INTERPOSE_REAL(leaves[EXECVP], int(const char *, char *const[]))(file, argv);
}

static int wrap_execvpe(const char *file, char *const argv[], char *const envp[])
{
	leave();
	return INTERPOSE_REAL(leaves[EXECVPE],
			      int(const char *, char *const[], char *const[]))(file, argv, envp);
}

static int wrap_fexecve(int fd, char *const argv[], char *const envp[])
{
	leave();
	return INTERPOSE_REAL(leaves[FEXECVE], int(int, char *const[], char *const[]))(fd, argv,
										       envp);
}

/*
 * Switch wrappers. A static program's calls cannot be interposed; its threads are seen all the
 * same.
 */
static int see(struct interposed *rows, uint32_t n, int on)
{
	return interpose_possible() ? interpose_switch(rows, n, on) : 0;
}

/* Threads: one was made, or one ends. */
static void watch_threads(const struct source *s, int on)
{
	int forks = s == &process_forks ? on : process_forks.first != NULL;
	int ends = s == &process_ends ? on : process_ends.first != NULL;

	threads_watch(forks ? notify_fork : NULL, ends ? notify_end : NULL);
}

static int want_forks(struct source *s, int on)
{
	int err = see(makers, ARRAY_SIZE(makers), on);

	if (!err)
		watch_threads(s, on);
	return err;
}

static int want_waits(struct source *s, int on)
{
	(void)s;
	return see(waits, ARRAY_SIZE(waits), on);
}

static int want_ends(struct source *s, int on)
{
	int err = see(leaves, EXECVE, on);

	if (!err)
		watch_threads(s, on);
	return err;
}

static int want_leaves(struct source *s, int on)
{
	(void)s;
	return see(leaves, ARRAY_SIZE(leaves), on);
}

struct source process_forks = {.want = want_forks};
struct source process_waits = {.want = want_waits};
struct source process_ends = {.want = want_ends};
struct source process_leaves = {.want = want_leaves};
