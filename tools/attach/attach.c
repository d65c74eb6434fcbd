/* SPDX-License-Identifier: MIT */
/* See attach.h. Tests: tests/cli/test_attach.py, test_attach_points.py. */
#include "tools/attach/attach.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/attach/attach_impl.h"
#include "tools/base/fail.h"
#include "tools/base/proc_pid.h"
#include "tools/base/time_ns.h"
#include "tools/target/image.h"
#include "tools/target/no_area.h"
#include "tools/target/process_env.h"

#define FINISH_MS 10000 /* until dlopen() comes back */
#define AGENT_MS  10000 /* until the agent answers */
#define LIBC_MS	  2000	/* until the loader of a program that has just begun has mapped libc */
#define EXEC_MS	  200	/* until an exec has made the image */
#define STEP_MS	  2
#define MAX_ROUND 16  /* threads that are tried before the next pause */
#define STOP_MS	  100 /* until a thread has stopped */
#define MAX_LATE  16u

struct attach {
	int pid;
	unsigned int wait_s;
	uint64_t until; /* no thread is tried after this */
	struct attach_points *points;
	struct attach_image image;
	struct attach_call call;
	struct attach_library library;
	const char *why;  /* the last reason against a thread */
	int spawned;	  /* the child for which that thread waits; 0: none is known */
	bool warm;	  /* unwind tables were read once, with a thread stopped for a moment */
	bool is_replaced; /* it executed another program: all that was read is of the former one */
	unsigned int next;
	/* threads that have not stopped yet after a request: in a vfork(), or waiting for a disk */
	int late[MAX_LATE];
	unsigned int nr_late;
	struct attach_result *result;
};

/* Wait for a stop. Return: 1 stopped; 0 not within @ms; -errno. */
static int wait_stop(int tid, int ms, int *status)
{
	uint64_t until = time_ns(CLOCK_MONOTONIC) + (uint64_t)ms * 1000000;

	for (;;) {
		int got = waitpid(tid, status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(*status) ? 1 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (time_ns(CLOCK_MONOTONIC) > until)
			return 0;
		usleep(20);
	}
}

static bool take_late(struct attach *a, int tid)
{
	for (unsigned int i = 0; i < a->nr_late; i++)
		if (a->late[i] == tid) {
			a->late[i] = a->late[--a->nr_late];
			return true;
		}
	return false;
}

/* Is this thread ending? The kernel refuses ptrace() of it as if we had no permission. */
static bool is_ending(int tid)
{
	struct proc_stat s;

	return !proc_stat(tid, &s) || s.state == 'Z' || s.state == 'X';
}

/*
 * Stop a thread. Return: 1; 0: it ends, or does not stop now; -errno. @sig: gets a signal that
 * came.
 */
static int stop(struct attach *a, int tid, int *sig)
{
	int status, got;

	*sig = 0;
	if (!take_late(a, tid)) {
		if (a->nr_late == MAX_LATE)
			return 0;
		if (ptrace(PTRACE_SEIZE, tid, 0, 0)) {
			int err = errno;

			return err == ESRCH || (err == EPERM && is_ending(tid)) ? 0 : -err;
		}
		if (ptrace(PTRACE_INTERRUPT, tid, 0, 0))
			return 0;
	}
	got = wait_stop(tid, STOP_MS, &status);
	if (!got)
		a->late[a->nr_late++] = tid;
	if (got <= 0)
		return 0;
	if (status >> 16 != PTRACE_EVENT_STOP)
		*sig = WSTOPSIG(status);
	return 1;
}

static void let_go(int tid, int sig)
{
	if (!sig)
		attach_restart(tid);
	ptrace(PTRACE_DETACH, tid, 0, (long)sig);
}

/* fail() when the process has ended or has another image. */
static int replaced(struct attach *a)
{
	struct attach_image now;

	if (attach_image(a->pid, &now) == -ESRCH)
		return fail(ESRCH, "process %d ended while it was attached to", a->pid);
	a->is_replaced = true;
	return fail(EAGAIN,
		    "process %d executed another program while it was attached to: try again",
		    a->pid);
}

static bool is_replaced(const struct attach *a)
{
	return a->image.at && !attach_image_same(a->pid, &a->image);
}

/* Let the thread run, and wait until the engine is loaded. @begun: when the thread was stopped. */
static int follow(struct attach *a, uint64_t begun)
{
	uint64_t until = time_ns(CLOCK_MONOTONIC) + (uint64_t)FINISH_MS * 1000000;
	struct attach_answer answer;
	char text[512];
	int err;

	for (;;) {
		err = attach_answer(a->pid, &a->call, &answer, text, sizeof(text));
		if (err == -ESRCH)
			return fail(ESRCH, "process %d ended while it was attached to", a->pid);
		if (err && is_replaced(a))
			return replaced(a);
		if (err || answer.magic != a->call.magic)
			answer = (struct attach_answer){0};
		if (answer.is_back && !a->result->still_ns)
			a->result->still_ns = time_ns(CLOCK_MONOTONIC) - begun;
		if (answer.is_back && answer.state != ATTACH_RUNS)
			break;
		if (time_ns(CLOCK_MONOTONIC) > until && !answer.magic)
			return fail(ENOMEM,
				    "process %d has no memory for a stack, or did not run for %d s",
				    a->pid, FINISH_MS / 1000);
		if (time_ns(CLOCK_MONOTONIC) > until)
			return fail(EDEADLK,
				    "dlopen() in process %d has not come back after %d s: it waits "
				    "for a lock; the engine is there when it does",
				    a->pid, FINISH_MS / 1000);
		usleep(50);
	}
	if (answer.state == ATTACH_LOADED)
		return 0;
	if (answer.state == ATTACH_NO_THREAD)
		return fail_errno((int)answer.error,
				  "process %d cannot make a thread (see pids.max of its control "
				  "group, and ulimit -u)",
				  a->pid);
	return fail(ELIBACC, "its loader refuses the library: %s", text);
}

/* The child that thread @tid has made and that shares its memory (vfork()); 0: there is none. */
static int spawned_by(int pid, int tid)
{
	char path[64];
	int child, found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
	f = fopen(path, "re");
	while (f && !found && fscanf(f, "%d", &child) == 1)
		if (!syscall(SYS_kcmp, pid, child, KCMP_VM, 0, 0))
			found = child;
	if (f)
		fclose(f);
	return found;
}

/* Read the objects of the process. Threads run meanwhile: that takes some milliseconds. */
static int read_objects(struct attach *a)
{
	if (a->points)
		attach_points_close(a->points);
	a->points = NULL;
	a->warm = false;
	return attach_points_open(a->pid, &a->points, &a->call.f);
}

/* Read them for the first time. A program that has just begun has no libc for a moment. */
static int wait_objects(struct attach *a)
{
	uint64_t libc = time_ns(CLOCK_MONOTONIC) + (uint64_t)LIBC_MS * 1000000;
	int err;

	for (;;) {
		err = read_objects(a);
		if (!err)
			return 0;
		if (err != -ENOTSUP || is_replaced(a) ||
		    time_ns(CLOCK_MONOTONIC) > (libc < a->until ? libc : a->until))
			return err;
		poll(NULL, 0, STEP_MS);
	}
}

/*
 * Note why thread @tid cannot be stopped. If it just has no CPU, the reason of the last thread that
 * was stopped says more.
 */
static void note_not_stopped(struct attach *a, int tid)
{
	int child = spawned_by(a->pid, tid);

	if (child) {
		a->spawned = child;
		a->why = "it waits in vfork() or posix_spawn() until its child has executed a "
			 "program or has ended";
	} else if (!a->why) {
		a->why = "it cannot be stopped now";
	}
}

/* Try one thread. Return: 1 done; 0 not now; -errno with fail() set. */
static int try_thread(struct attach *a, int tid)
{
	uint64_t pc, sp, begun = time_ns(CLOCK_MONOTONIC);
	const char *why = NULL;
	int sig, got = stop(a, tid, &sig), err;

	if (got <= 0) {
		note_not_stopped(a, tid);
		return got ? attach_refused(a->pid, -got) : 0;
	}
	/* in another program, these are addresses of other code */
	if (is_replaced(a)) {
		let_go(tid, sig);
		return replaced(a);
	}
	err = attach_registers(tid, &pc, &sp);
	if (err || sig)
		why = sig ? "a signal comes" : "its registers cannot be read";
	else if (!attach_has_stack(a->pid, sp))
		why = "its stack has too little room";
	else
		why = attach_point_refused(a->points, tid, pc, sp);
	if (!why && !a->warm) {
		/* the second check is fast, so the thread is stopped only for a short time */
		a->warm = true;
		let_go(tid, 0);
		return try_thread(a, tid);
	}
	if (!why) {
		err = attach_go(a->pid, tid, &a->call);
		if (err) {
			let_go(tid, 0);
			return attach_refused(a->pid, -err);
		}
		a->result->held_ns = time_ns(CLOCK_MONOTONIC) - begun;
		ptrace(PTRACE_DETACH, tid, 0, 0);
		a->result->tid = tid;
		err = follow(a, begun);
		return err ? err : 1;
	}
	a->why = why;
	a->spawned = 0;
	let_go(tid, sig);
	return 0;
}

/* A round over some of its threads. Return: as try_thread(). */
static int try_round(struct attach *a)
{
	int tids[MAX_ROUND], ret = 0;
	unsigned int nr = 0, seen = 0;
	struct dirent *e;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", a->pid);
	dir = opendir(path);
	if (!dir)
		return fail(ESRCH, "process %d has ended", a->pid);
	while (nr < MAX_ROUND && (e = readdir(dir)))
		if (e->d_name[0] != '.' && seen++ >= a->next)
			tids[nr++] = atoi(e->d_name);
	closedir(dir);
	a->next = nr < MAX_ROUND ? 0 : a->next + nr;
	for (unsigned int i = 0; i < nr && !ret; i++) {
		a->result->tries++;
		ret = try_thread(a, tids[i]);
	}
	return ret;
}

static int no_point(const struct attach *a)
{
	char child[64] = "";

	if (a->spawned)
		snprintf(child, sizeof(child), " (process %d)", a->spawned);
	return fail_errno(EAGAIN,
			  "no thread of process %d came to a point at which the engine can be "
			  "loaded within %u s (the last one: %s%s): try again, or longer (--wait), "
			  "or start the program with `vestige run`",
			  a->pid, a->wait_s, a->why ? a->why : "there was none", child);
}

static int inject(struct attach *a)
{
	int ret;

	for (;;) {
		ret = try_round(a);
		if (ret)
			return ret < 0 ? ret : 0;
		if (time_ns(CLOCK_MONOTONIC) > a->until)
			return no_point(a);
		/* threads may be in objects that have come since */
		if (attach_points_stale(a->points))
			ret = read_objects(a);
		if (ret)
			return ret;
		poll(NULL, 0, STEP_MS);
	}
}

/*
 * Detach the threads that have stopped by now. The kernel detaches the others when the thread ends
 * that attached to them (attach_process()).
 */
static void let_late_go(struct attach *a)
{
	int status;

	for (unsigned int i = 0; i < a->nr_late; i++)
		if (wait_stop(a->late[i], 0, &status) > 0)
			let_go(a->late[i],
			       status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status));
}

/* Check a thread's filters: -EPERM with @call if they refuse a call of the engine. */
static int read_thread_filters(struct attach *a, int tid, const char **call)
{
	int sig, got, err;

	/* a thread that has no CPU stops later */
	while (!(got = stop(a, tid, &sig)) && !is_ending(tid) &&
	       time_ns(CLOCK_MONOTONIC) < a->until)
		poll(NULL, 0, STEP_MS);
	if (got < 0)
		return got;
	if (!got)
		return is_ending(tid) ? 0 : -EAGAIN; /* it does not stop */
	err = attach_seccomp(tid, call);
	let_go(tid, sig);
	return err;
}

/* Check the filters of all threads. A later thread inherits its creator's. */
static int read_filters(struct attach *a)
{
	const char *call = NULL;
	struct dirent *e;
	char path[64];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", a->pid);
	dir = opendir(path);
	if (!dir)
		return fail_errno(errno, "the threads of process %d", a->pid);
	while (!err && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			err = read_thread_filters(a, atoi(e->d_name), &call);
	closedir(dir);
	if (!err)
		return 0;
	if (call)
		return fail_errno(EPERM,
				  "process %d has a seccomp filter that forbids what the engine "
				  "needs (%s): start the program with `vestige run`",
				  a->pid, call);
	return fail_errno(-err,
			  "process %d has a seccomp filter, which may forbid what the engine needs "
			  "and cannot be read: attach as root, or start the program with `vestige "
			  "run`",
			  a->pid);
}

/* Restore our own VESTIGE_DIR, which use_its_folder() changes. */
static void use_our_folder(void)
{
	static bool kept;
	static char *ours;

	if (!kept && getenv("VESTIGE_DIR"))
		ours = strdup(getenv("VESTIGE_DIR"));
	kept = true;
	if (ours)
		setenv("VESTIGE_DIR", ours, 1);
	else
		unsetenv("VESTIGE_DIR");
}

/* The engine makes the folder that VESTIGE_DIR names, not the folders above it. */
static int check_our_folder(void)
{
	const char *env = getenv("VESTIGE_DIR"), *slash = env ? strrchr(env, '/') : NULL;
	char above[PATH_MAX];

	if (!slash || slash == env || !access(env, F_OK) || errno != ENOENT)
		return 0;
	snprintf(above, sizeof(above), "%.*s", (int)(slash - env), env);
	if (!access(above, F_OK) || errno != ENOENT)
		return 0;
	return fail_errno(ENOENT,
			  "there is no folder %s, which VESTIGE_DIR names: mkdir -p -m 700 %s", env,
			  env);
}

/* Use the folder of areas that the process's environment names, if the engine obeys that. */
static int use_its_folder(int pid)
{
	char path[PATH_MAX];
	char *dir = process_is_secure(pid) ? NULL : process_env(pid, "VESTIGE_DIR");
	bool other = image_other_root(pid);

	use_our_folder();
	if (dir && *dir && other &&
	    snprintf(path, sizeof(path), "/proc/%d/root%s", pid, dir) < (int)sizeof(path))
		setenv("VESTIGE_DIR", path, 1);
	else if (dir && *dir)
		setenv("VESTIGE_DIR", dir, 1);
	free(dir);
	snprintf(path, sizeof(path), "/proc/%d/root/dev/shm", pid);
	if (other && !getenv("VESTIGE_DIR") && access(path, F_OK) && errno == ENOENT)
		return fail(ENOENT,
			    "process %d has another root, and below that no /dev/shm for what is "
			    "recorded: make one (mode 1777)",
			    pid);
	return check_our_folder();
}

/* Wake the engine by its agent. @slept: set to whether it was asleep. */
static int ask_agent(int pid, bool *slept)
{
	struct image t;
	size_t bytes;
	char *text;
	int err = image_open(&t, pid);

	if (err)
		return err;
	err = image_read(&t, "vestige_attached", &text, &bytes);
	if (!err) {
		*slept = text[0] == '0';
		free(text);
		if (*slept)
			err = image_write(&t, "vestige_attached", "1", 1, true);
	}
	image_close(&t);
	return err;
}

/* After dlopen() has returned: the engine has made its area by then, or it has failed. */
static int check_area(int pid)
{
	struct image t;
	int err = image_open(&t, pid);

	if (!err)
		image_close(&t);
	if (err != -ESRCH || kill(pid, 0))
		return 0;
	return fail_errno(
		ENOTSUP,
		"process %d has the library now, but the engine did not start: what has a "
		"limit there (ulimit -v, -d, -l, -f) may not have been enough, its /dev/shm "
		"may be full, or prctl(PR_SET_TSC) forbids the processor's counter",
		pid);
}

static int wait_agent(struct attach *a)
{
	uint64_t until = time_ns(CLOCK_MONOTONIC) + (uint64_t)AGENT_MS * 1000000;
	int err;

	for (;;) {
		err = ask_agent(a->pid, &a->result->slept);
		if (!err)
			return 0;
		if (is_replaced(a))
			return replaced(a);
		if (time_ns(CLOCK_MONOTONIC) > until)
			return err;
		poll(NULL, 0, STEP_MS);
	}
}

/* The arguments and the result of the thread of attach_process(). */
struct attach_job {
	int pid;
	unsigned int wait_s;
	struct attach_result *result;
	int err;
	char why[1024];
};

/* Load the engine, which is not there. */
static int load(struct attach *a, bool filtered)
{
	int err;

	if (!attach_code_bytes())
		return fail(ENOTSUP, "vestige cannot attach on this CPU yet");
	if (getrandom(&a->call.magic, sizeof(a->call.magic), 0) != sizeof(a->call.magic))
		return fail_errno(errno, "getrandom()");
	err = filtered ? read_filters(a) : 0;
	if (!err)
		err = attach_find_room(a->pid, &a->call);
	if (!err)
		err = wait_objects(a);
	if (!err)
		err = attach_library_open(&a->library, a->pid);
	if (err)
		return err;
	err = strlen(a->library.path) < sizeof(a->call.path)
		      ? 0
		      : fail(ENAMETOOLONG, "%s", a->library.path);
	if (!err) {
		memcpy(a->call.path, a->library.path, strlen(a->library.path) + 1);
		err = inject(a);
	}
	attach_library_close(&a->library);
	return err ? err : check_area(a->pid);
}

/* During an exec a process has no image for a moment, as if it were of 32 bits. */
static void read_image(struct attach *a)
{
	for (int ms = 0; attach_image(a->pid, &a->image) == -ENOEXEC && ms < EXEC_MS; ms += STEP_MS)
		poll(NULL, 0, STEP_MS);
}

/* Attach to the program that the process runs now. */
static int attach_program(struct attach *a)
{
	bool filtered;
	int err;

	*a->result = (struct attach_result){0};
	a->is_replaced = false;
	read_image(a); /* first. On failure the image is not compared later */
	err = attach_check(a->pid, &a->result->was_there, &filtered);
	if (!err)
		err = use_its_folder(a->pid);
	if (!err && !a->result->was_there)
		err = no_area_to_come(a->pid);
	if (!err && !a->result->was_there)
		err = load(a, filtered);
	if (a->points)
		attach_points_close(a->points);
	a->points = NULL;
	if (!err)
		return wait_agent(a);
	/* what has failed may have been about two programs */
	return is_replaced(a) ? replaced(a) : err;
}

static int attach_now(int pid, unsigned int wait_s, struct attach_result *r)
{
	struct attach a = {.pid = pid,
			   .wait_s = wait_s,
			   .until = time_ns(CLOCK_MONOTONIC) + (uint64_t)wait_s * 1000000000,
			   .result = r};
	int err;

	/* `PROGRAM & vestige attach $!` finds the shell's child, which has not executed PROGRAM */
	do
		err = attach_program(&a);
	while (err && a.is_replaced && time_ns(CLOCK_MONOTONIC) < a.until);
	let_late_go(&a);
	return err;
}

static void *run_job(void *arg)
{
	struct attach_job *job = arg;

	job->err = attach_now(job->pid, job->wait_s, job->result);
	if (job->err)
		snprintf(job->why, sizeof(job->why), "%s", fail_text());
	return NULL;
}

/*
 * The work is done in a thread of its own. When it ends, the kernel detaches all threads that it
 * has attached to, also one that has not stopped yet (it waits in vfork()). Otherwise they would
 * stay traced while this program lives on, as `vestige top` and --children do.
 */
int attach_process(int pid, unsigned int wait_s, struct attach_result *r)
{
	struct attach_job job = {.pid = pid, .wait_s = wait_s, .result = r};
	pthread_t thread;
	int err = pthread_create(&thread, NULL, run_job, &job);

	if (err)
		return fail_errno(err, "cannot make a thread");
	pthread_join(thread, NULL);
	return job.err ? fail(-job.err, "%s", job.why) : 0;
}
