/* SPDX-License-Identifier: MIT */
/*
 * See attach.h: follows processes and their children. Each turn lists /proc: a PID that was not
 * there before is a new process, which is followed if its parent is. After exec (attach_image()) a
 * process has lost the engine, and is attached to again as soon as its loader has finished. A
 * fork's child has the engine. Owns the list; one thread. Cost: a reading of /proc in each turn,
 * and one system call for each process that is followed.
 * Tests: tests/cli/test_attach_children.py.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tools/attach/attach.h"
#include "tools/attach/attach_impl.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/proc_pid.h"
#include "tools/base/signals.h"
#include "tools/base/time_ns.h"

#define TURN_MS 10

/* A process that is followed. */
struct child {
	int pid, parent; /* parent 0: one of the user's @pids */
	struct attach_image image;
	enum { NEW, HAS_ENGINE, REFUSED } state;
	bool was_said;	/* the line about its engine was printed */
	uint64_t until; /* NEW: time of the last try */
};

struct followed_children {
	struct child *rows;
	size_t nr, room;
	int *seen; /* the PIDs of /proc at the last turn, ascending as it lists them */
	size_t nr_seen;
	unsigned int missed; /* children that ended before they had the engine */
	const struct attach_children *how;
};

static const char *name_of(int pid, char name[32])
{
	snprintf(name, 32, "?");
	proc_comm(pid, name, 32);
	return name;
}

/* The parent of a process; 0: one of another PID namespace; -1: the process has ended. */
static int parent_of(int pid)
{
	struct proc_stat s;

	return proc_stat(pid, &s) && s.state != 'Z' && s.state != 'X' ? s.parent : -1;
}

static bool has_ended(int pid)
{
	return parent_of(pid) < 0;
}

static uint64_t try_until(const struct followed_children *f)
{
	return time_ns(CLOCK_MONOTONIC) + (uint64_t)f->how->wait_s * 1000000000;
}

static struct child *find(struct followed_children *f, int pid)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->rows[i].pid == pid)
			return &f->rows[i];
	return NULL;
}

static int add(struct followed_children *f, int pid, int parent)
{
	if (ARRAY_ROOM(f->rows, f->nr, f->room, 16))
		return fail(ENOMEM, "out of memory");
	f->rows[f->nr++] = (struct child){.pid = pid, .parent = parent, .until = try_until(f)};
	return 0;
}

/* Follow the children among the processes that came since the last turn. */
static int look_for_children(struct followed_children *f)
{
	DIR *dir = opendir("/proc");
	size_t nr = 0, room = 0, before = 0;
	int *now = NULL, parent, err = 0;
	struct dirent *e;

	while (dir && !err && (e = readdir(dir))) {
		int pid = atoi(e->d_name);

		if (pid <= 0)
			continue;
		while (before < f->nr_seen && f->seen[before] < pid)
			before++;
		if (before == f->nr_seen || f->seen[before] != pid) {
			parent = find(f, pid) ? 0 : parent_of(pid);
			if (parent > 0 && find(f, parent))
				err = add(f, pid, parent);
		}
		if (!err && ARRAY_ROOM(now, nr, room, 256))
			err = fail(ENOMEM, "out of memory");
		if (!err)
			now[nr++] = pid;
	}
	if (!dir)
		err = fail_errno(errno, "/proc");
	else
		closedir(dir);
	free(f->seen);
	f->seen = now;
	f->nr_seen = nr;
	return err;
}

static void say_attached(const struct followed_children *f, struct child *c)
{
	char name[32];

	if (f->how->quiet)
		return;
	if (c->was_said)
		note("process %d executes another program (%s): the engine is in it again", c->pid,
		     name_of(c->pid, name));
	else
		note("the engine is in process %d (%s), a child of process %d", c->pid,
		     name_of(c->pid, name), c->parent);
	c->was_said = true;
}

/*
 * Is a failure final, so that no later try can succeed? @image: from before the try. During an exec
 * a process has no program yet, which looks like a program of 32 bits.
 */
static bool is_final(int pid, const struct attach_image *image, int err)
{
	bool loaded, filtered;

	return (err == -ENOEXEC && image->at) || err == -EPERM || err == -EACCES ||
	       attach_check(pid, &loaded, &filtered) == -ENOTSUP;
}

/* Try to attach to a process without the engine. Return: whether to follow it further. */
static bool try_child(struct followed_children *f, struct child *c)
{
	struct attach_image image;
	struct attach_result r;
	char why[512];
	int err;

	/* first of all: if it executes a program after this, the next turn notices that */
	if (attach_image(c->pid, &image) == -ESRCH) {
		f->missed++;
		return false;
	}
	if (attach_has_engine(c->pid) > 0) {
		/* a fork's child; or a child of vfork(), whose parent's memory it still has */
		c->state = HAS_ENGINE;
		c->image = image;
		return true;
	}
	if (attach_shares_memory(c->pid, c->parent)) {
		c->until = try_until(f); /* it will execute a program */
		return true;
	}
	err = attach_process(c->pid, 0, &r);
	if (!err) {
		c->state = HAS_ENGINE;
		attach_image(c->pid, &c->image);
		say_attached(f, c);
		return true;
	}
	if (has_ended(c->pid)) {
		f->missed++;
		return false;
	}
	snprintf(why, sizeof(why), "%s", fail_text());
	if (is_final(c->pid, &image, err) || time_ns(CLOCK_MONOTONIC) > c->until) {
		if (attach_image_same(c->pid, &image) || !image.at) {
			note("%s", why);
			f->how->refused(f->how->arg);
			c->state = REFUSED;
			c->image = image;
		}
	}
	return true;
}

/* Check for exec in a process that has the engine or cannot have it. Return: as try_child(). */
static bool look_at(struct followed_children *f, struct child *c)
{
	if (c->image.at ? attach_image_same(c->pid, &c->image) : !has_ended(c->pid))
		return true;
	if (has_ended(c->pid))
		return false;
	c->state = NEW;
	c->until = try_until(f);
	return true;
}

static void turn(struct followed_children *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->nr; i++) {
		struct child *c = &f->rows[i];
		bool stays = c->state == NEW || look_at(f, c);

		if (stays && c->state == NEW)
			stays = try_child(f, c);
		if (stays)
			f->rows[kept++] = *c;
	}
	f->nr = kept;
}

/*
 * Read a pending signal from @fd, so that it does not end this program. Return: whether there was
 * one.
 */
static bool signalled(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct signalfd_siginfo si;

	return poll(&p, 1, TURN_MS) > 0 && read(fd, &si, sizeof(si)) == sizeof(si);
}

/* Begin with the user's @pids, which have the engine, and their present children. */
static int begin(struct followed_children *f, const int *pids, size_t nr)
{
	size_t before;
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++)
		if (!find(f, pids[i]))
			err = add(f, pids[i], 0);
	/* one may have executed another program meanwhile: it is NEW then */
	for (size_t i = 0; i < f->nr; i++)
		f->rows[i].was_said = true;
	do {
		before = f->nr;
		f->nr_seen = 0;
		if (!err)
			err = look_for_children(f);
	} while (!err && f->nr != before);
	return err;
}

int attach_children(const int *pids, size_t nr, const struct attach_children *how)
{
	struct followed_children f = {.how = how};
	sigset_t ours;
	bool over = false;
	int fd, err;

	signals_ending(&ours);
	sigprocmask(SIG_BLOCK, &ours, NULL); /* for good: a second Ctrl-C has no effect */
	fd = signalfd(-1, &ours, SFD_CLOEXEC);
	err = fd < 0 ? fail_errno(errno, "signalfd()") : begin(&f, pids, nr);
	if (!err && !how->quiet)
		note("following %s: Ctrl-C ends that, the engines stay",
		     nr > 1 ? "these processes and their children" : "it and its children");
	while (!err && f.nr && !over) {
		turn(&f);
		over = signalled(fd);
		if (!over)
			err = look_for_children(&f);
	}
	if (!err && f.missed)
		note("%u process%s ended before the engine could come: `vestige record PROGRAM` "
		     "has programs from their start",
		     f.missed, f.missed > 1 ? "es" : "");
	if (!err && !over && !how->quiet)
		note("the process%s ended",
		     nr > 1 ? "es and their children have" : " and its children have");
	if (fd >= 0)
		close(fd);
	free(f.rows);
	free(f.seen);
	return err;
}
