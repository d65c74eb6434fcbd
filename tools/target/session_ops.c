/* SPDX-License-Identifier: MIT */
/*
 * A session as a target: the table of operations (target.h). Writes are kept for later members
 * (writes.h). Any thread. Tests: tests/tracefs/test_sessions.py.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/time_ns.h"
#include "tools/target/counts.h"
#include "tools/target/image.h"
#include "tools/target/meaning.h"
#include "tools/target/members_pipe.h"
#include "tools/target/members_raw.h"
#include "tools/target/session.h"

#define WAIT_NS UINT64_C(1000000000)

static struct session *of(struct target *t)
{
	return (struct session *)t;
}

/* Does a write to it empty the buffer? */
static bool is_emptying(const char *path, bool truncate)
{
	return !strcmp(path, "current_tracer") || !strcmp(path, "trace_clock") ||
	       (!strcmp(path, "trace") && truncate);
}

/*
 * The records of dead members are removed, too: no other command can remove them, and they would be
 * in `trace` for ever.
 */
static void empty_dead(struct session *s)
{
	for (unsigned int i = 0; i < s->nr_members; i++)
		if (!process_lives(s->members[i]))
			unlinkat(s->members[i]->image.dir.fd, s->members[i]->image.name, 0);
	session_refresh(s);
}

/* Is the thread one of the process's? */
static bool is_thread_of(const struct process *p, int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", p->image.pid, tid);
	return !access(path, F_OK);
}

/* A mark is written to one member alone, since the kernel makes one record of it. Locked. */
static int write_mark(struct session *s, const char *path, const char *text, size_t n, int tid)
{
	struct process *to = NULL;

	for (unsigned int i = 0; i < s->nr_members; i++) {
		struct process *p = s->members[i];

		if (!process_lives(p))
			continue;
		if (is_thread_of(p, tid)) {
			to = p;
			break;
		}
		to = to ? to : p;
	}
	return to ? image_write_as(&to->image, path, text, n, false, tid) : -ESRCH;
}

/* The tracer cannot change while the session's records are read. */
static int check_tracer(struct session *s, const char *path, const char *text, size_t n)
{
	struct process *p;
	bool has_pipes;
	int err;

	pthread_mutex_lock(&s->lock);
	has_pipes = s->pipe_readers.nr_open != 0;
	pthread_mutex_unlock(&s->lock);
	p = has_pipes ? session_first(s) : NULL;
	err = p ? process_check_tracer(p, path, text, n) : 0;
	process_put(p);
	return err;
}

/* Keep a write that all members have carried out, for later members. Locked. */
static int add_write(struct session *s, struct written *w)
{
	int err;

	for (unsigned int i = 0; i < s->nr_members; i++)
		if (process_lives(s->members[i]))
			session_set_done(s->members[i], w->end_ns);
	err = writes_add(&s->writes, w);
	session_show_writes(s);
	session_watch(s);
	return err;
}

/*
 * Is a member stopped, after an operation on all members that began at @begin_ns has waited for
 * another one? Then do not wait for this one, too: the session's lock is held during the wait.
 */
static bool waited_long(const struct process *p, uint64_t begin_ns)
{
	return time_ns(CLOCK_MONOTONIC) - begin_ns > WAIT_NS && image_stopped(p->image.pid);
}

/* Does the file take filters? A wrong one may be ESRCH. */
static bool has_filter(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && (!strcmp(slash, "/filter") || !strcmp(slash, "/trigger"));
}

static int op_write(struct target *t, const char *path, const char *text, size_t n, bool truncate,
		    int tid)
{
	struct written w = {.path = (char *)(uintptr_t)path,
			    .text = (char *)(uintptr_t)text,
			    .n = n,
			    .truncate = truncate};
	struct session *s = of(t);
	int err = check_tracer(s, path, text, n), kept = 0;

	if (err)
		return err;
	pthread_mutex_lock(&s->lock);
	if (image_is_marker(path)) {
		/* an open that truncates, or a close, writes nothing */
		err = n ? write_mark(s, path, text, n, tid) : 0;
		pthread_mutex_unlock(&s->lock);
		return err;
	}
	w.begin_ns = time_ns(CLOCK_MONOTONIC);
	w.depends = text && meaning_depends(path, text, n);
	for (unsigned int i = 0; i < s->nr_members; i++) {
		struct process *p = s->members[i];
		int one = 0;

		if (process_lives(p))
			one = waited_long(p, w.begin_ns) ? -ETIMEDOUT : session_carry_out(p, &w);

		/* the error of a member that ends meanwhile is ignored */
		if (one && (one != -ESRCH || (has_filter(path) && process_lives(p))) && !err)
			err = one;
	}
	if (!err && is_emptying(path, truncate))
		empty_dead(s);
	if (!err && writes_keep(path)) {
		w.end_ns = time_ns(CLOCK_MONOTONIC);
		kept = add_write(s, &w);
	} else {
		writes_free_meanings(&w);
	}
	pthread_mutex_unlock(&s->lock);
	return err ? err : kept;
}

static int op_mkdir(struct target *t, const char *instance)
{
	struct session *s = of(t);
	struct written w = {.path = (char *)(uintptr_t)instance};
	int err = 0, nr = 0, kept = 0;

	pthread_mutex_lock(&s->lock);
	w.begin_ns = time_ns(CLOCK_MONOTONIC);
	for (unsigned int i = 0; i < s->nr_members; i++) {
		int one = -ESRCH;

		if (process_lives(s->members[i]))
			one = waited_long(s->members[i], w.begin_ns)
				      ? -ETIMEDOUT
				      : process_mkdir(s->members[i], instance);
		nr += !one;
		if (one && one != -ESRCH && one != -EEXIST)
			err = one;
	}
	if (!err && nr) {
		w.end_ns = time_ns(CLOCK_MONOTONIC);
		kept = add_write(s, &w);
	}
	pthread_mutex_unlock(&s->lock);
	return err ? err : nr ? kept : -EEXIST;
}

/* Is a file of the instance open as the session's? */
static bool is_open(struct session *inside)
{
	bool open;

	pthread_mutex_lock(&inside->lock);
	open = inside->nr_open != 0;
	pthread_mutex_unlock(&inside->lock);
	return open;
}

/* Forget the writes to a removed instance: a new one of the same name must not get them. */
static void forget_instance(struct session *inside)
{
	pthread_mutex_lock(&inside->lock);
	writes_free(&inside->writes);
	session_file_remove(&inside->file);
	session_refresh(inside);
	pthread_mutex_unlock(&inside->lock);
}

/* A dead member cannot remove its instance, so remove the instance's area. Return: 0 or -errno. */
static int remove_dead(const struct image *member, const char *instance)
{
	char name[sizeof(member->name) + 1 + AREA_INSTANCE_BYTES];

	snprintf(name, sizeof(name), "%s%c%s", member->name, AREA_INSTANCE_MARK, instance);
	return unlinkat(member->dir.fd, name, 0) ? -errno : 0;
}

/* Locked. */
static int remove_instance(struct session *s, const char *instance)
{
	uint64_t begin_ns = time_ns(CLOCK_MONOTONIC);
	int err = 0, nr = 0;

	writes_forget_instance(&s->writes, instance);
	session_show_writes(s);
	for (unsigned int i = 0; i < s->nr_members; i++) {
		int one;

		if (!process_lives(s->members[i]))
			one = remove_dead(&s->members[i]->image, instance);
		else if (waited_long(s->members[i], begin_ns))
			one = -ETIMEDOUT;
		else
			one = process_rmdir(s->members[i], instance);
		nr += !one;
		if (one && one != -ESRCH && one != -ENOENT)
			err = one;
	}
	return err ? err : nr ? 0 : -ENOENT;
}

static int op_rmdir(struct target *t, const char *instance)
{
	struct session *s = of(t), *inside;
	int err;

	inside = session_get(s->target.name, instance, &err);
	if (!inside)
		return err;
	if (is_open(inside)) {
		err = -EBUSY;
	} else {
		pthread_mutex_lock(&s->lock);
		err = remove_instance(s, instance);
		pthread_mutex_unlock(&s->lock);
		if (!err)
			forget_instance(inside);
	}
	session_put(inside);
	return err;
}

static void op_opened(struct target *t, int change)
{
	struct session *s = of(t);

	pthread_mutex_lock(&s->lock);
	s->nr_open += (unsigned int)change;
	pthread_mutex_unlock(&s->lock);
}

struct names {
	char (*names)[64];
	unsigned int nr;
};

static int take_name(void *arg, int pid)
{
	struct names *n = arg;
	struct process *p;
	unsigned int i;
	int err;

	p = process_get(pid, NULL, &err);
	if (!p)
		return 0;
	for (i = 0; i < n->nr && strcmp(n->names[i], p->head.session); i++)
		;
	if (i == n->nr && n->nr < MAX_SESSIONS && p->head.session[0] &&
	    !strchr(p->head.session, '/') && p->head.session[0] != '.')
		strcpy(n->names[n->nr++], p->head.session);
	process_put(p);
	return 0;
}

static void op_list(int (*put)(void *arg, const char *name), void *arg)
{
	struct names n = {.names = calloc(MAX_SESSIONS, sizeof(*n.names))};

	if (!n.names)
		return;
	process_list(take_name, &n);
	for (unsigned int i = 0; i < n.nr && !put(arg, n.names[i]); i++)
		;
	free(n.names);
}

static bool op_has_name(const char *name)
{
	return name && *name;
}

static struct target *op_get(const char *name, const char *instance, int *err)
{
	struct session *s = session_get(name, instance, err);

	return s ? &s->target : NULL;
}

static void op_put(struct target *t)
{
	session_put(of(t));
}

static struct target *op_first(struct target *t)
{
	struct process *p = session_first(of(t));

	return p ? &p->target : NULL;
}

static bool op_lives(struct target *t)
{
	struct process *p = session_first(of(t));
	bool lives = p && process_lives(p);

	process_put(p);
	return lives;
}

/* A session has the files of its members. */
static int op_find(struct target *t, const char *path, struct target_file *file)
{
	struct process *p = session_first(of(t));
	int err = p ? process_find(p, path, file) : -ENOENT;

	process_put(p);
	return err;
}

static int op_files(struct target *t, const char *dir, target_put_file *put, void *arg)
{
	struct process *p = session_first(of(t));
	int err = p ? process_files(p, dir, put, arg) : -ENOENT;

	process_put(p);
	return err;
}

static int op_print(struct target *t, const char *path, struct out *o)
{
	return session_print(of(t), path, o);
}

static int op_names(struct target *t, struct out *o)
{
	struct process *p = session_first(of(t));
	int err = p ? process_names(p, o) : fail(ENOENT, "no members");

	process_put(p);
	return err;
}

static int op_counts(struct target *t, struct counts *c)
{
	struct process **members;
	unsigned int nr;
	int err = 0;

	session_look(of(t), true);
	nr = session_members(of(t), &members);
	for (unsigned int i = 0; i < nr; i++) {
		if (!err)
			err = counts_area(c, &members[i]->image, members[i]->fd);
		process_put(members[i]);
	}
	free(members);
	return err;
}

static int open_all(struct target *t,
		    int (*open)(const char *const *paths, unsigned int nr, struct reader **out),
		    struct reader **r)
{
	struct process **members;
	const char **paths;
	unsigned int nr;
	int err;

	session_look(of(t), true);
	nr = session_members(of(t), &members);
	paths = calloc(nr + 1u, sizeof(*paths));
	err = paths ? 0 : fail(ENOMEM, "out of memory");
	for (unsigned int i = 0; i < nr && !err; i++) {
		paths[i] = members[i]->image.path;
		image_drain(&members[i]->image);
	}
	if (!err)
		err = nr ? open(paths, nr, r) : fail(ENOENT, "no members");
	for (unsigned int i = 0; i < nr; i++)
		process_put(members[i]);
	free(members);
	free(paths);
	return err;
}

static int op_records(struct target *t, struct reader **r)
{
	return open_all(t, reader_open_areas, r);
}

static int op_snapshot(struct target *t, struct reader **r)
{
	return open_all(t, reader_open_taken_snapshots, r);
}

/* From now on later members are found without a request. */
static int op_pipe_open(struct target *t, unsigned int cpu, void **pipe)
{
	struct session *s = of(t);
	struct members_pipe *made;
	int err;

	pthread_mutex_lock(&s->lock);
	err = s->pipe_readers.cpus ? pipe_readers_take(&s->pipe_readers, cpu) : -ENOENT;
	if (!err)
		session_watch(s);
	pthread_mutex_unlock(&s->lock);
	if (err)
		return err;
	err = members_pipe_open(s, cpu, &made);
	if (!err) {
		*pipe = made;
		return 0;
	}
	pthread_mutex_lock(&s->lock);
	pipe_readers_give(&s->pipe_readers, cpu);
	pthread_mutex_unlock(&s->lock);
	return err;
}

static ssize_t op_pipe_read(void *pipe, char *buf, size_t bytes, bool nonblock,
			    int (*interrupted)(void))
{
	return members_pipe_read(pipe, buf, bytes, nonblock, interrupted);
}

static bool op_pipe_ready(void *pipe)
{
	return members_pipe_ready(pipe);
}

static void op_pipe_close(struct target *t, unsigned int cpu, void *pipe)
{
	struct session *s = of(t);

	members_pipe_close(pipe);
	pthread_mutex_lock(&s->lock);
	pipe_readers_give(&s->pipe_readers, cpu);
	pthread_mutex_unlock(&s->lock);
}

static int op_raw_open(struct target *t, unsigned int cpu, void **raw, uint32_t *bytes)
{
	struct session *s = of(t);
	struct members_raw *made;
	int err = members_raw_get(s, cpu, &made);

	if (err)
		return err;
	pthread_mutex_lock(&s->lock);
	s->pipe_readers.nr_open++;
	session_watch(s);
	pthread_mutex_unlock(&s->lock);
	*raw = made;
	*bytes = raw_page_bytes(members_raw_now(made, false));
	return 0;
}

static int op_raw_page(void *raw, unsigned int cpu, void *page, enum raw_how how)
{
	return raw_page(members_raw_now(raw, how == RAW_ALL), cpu, page, how);
}

static bool op_raw_ready(void *raw, unsigned int cpu)
{
	return raw_ready(members_raw_now(raw, false), cpu);
}

static bool op_raw_lives(void *raw)
{
	return members_raw_live(raw);
}

static void op_raw_close(struct target *t, unsigned int cpu, void *raw)
{
	struct session *s = of(t);

	pthread_mutex_lock(&s->lock);
	s->pipe_readers.nr_open--;
	pthread_mutex_unlock(&s->lock);
	members_raw_put(raw, cpu);
}

const struct target_ops session_ops = {
	.has_name = op_has_name,
	.get = op_get,
	.put = op_put,
	.list = op_list,
	.serve = sessions_serve,
	.first = op_first,
	.lives = op_lives,
	.grows = true,
	.find = op_find,
	.files = op_files,
	.print = op_print,
	.names = op_names,
	.records = op_records,
	.snapshot = op_snapshot,
	.counts = op_counts,
	.write = op_write,
	.mkdir = op_mkdir,
	.rmdir = op_rmdir,
	.opened = op_opened,
	.pipe_open = op_pipe_open,
	.pipe_read = op_pipe_read,
	.pipe_ready = op_pipe_ready,
	.pipe_close = op_pipe_close,
	.raw_open = op_raw_open,
	.raw_page = op_raw_page,
	.raw_ready = op_raw_ready,
	.raw_lives = op_raw_lives,
	.raw_close = op_raw_close,
};
