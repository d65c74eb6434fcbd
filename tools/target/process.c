/* SPDX-License-Identifier: MIT */
/*
 * Processes as targets: a table of the processes in use, found by PID. An entry is used again while
 * its process lives and its area is the same file. A dead process is looked up again, since its PID
 * may be another process's now. Any thread. Locks: no other lock is taken under the table's or
 * under a process's own. Tests: tests/tracefs/.
 */
#include "tools/target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/area/area.h"
#include "tools/base/fail.h"

#define MAX_IDLE 8u

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct process *table;
static unsigned int nr_idle;  /* of the table, without references */
static unsigned int max_idle; /* more than these are freed */

static void process_free(struct process *p)
{
	image_unwatch(&p->watch);
	if (p->fd >= 0)
		close(p->fd);
	if (p->top_fd >= 0)
		close(p->top_fd);
	image_close(&p->image);
	file_tree_free(&p->tree);
	agent_dir_forget(&p->branch);
	pthread_mutex_destroy(&p->lock);
	pipe_readers_free(&p->pipe_readers);
	free(p);
}

static void unlink_process(struct process *p)
{
	struct process **at = &table;

	while (*at && *at != p)
		at = &(*at)->next;
	if (*at)
		*at = p->next;
}

/* A reference. Table locked. */
static struct process *take(struct process *p)
{
	nr_idle -= !p->refs++;
	return p;
}

struct process *process_ref(struct process *p)
{
	pthread_mutex_lock(&table_lock);
	take(p);
	pthread_mutex_unlock(&table_lock);
	return p;
}

/* The last unused ones stay while we serve: the next request is most likely for one of them. */
void process_put(struct process *p)
{
	struct process *idle = NULL, *each;

	if (!p)
		return;
	pthread_mutex_lock(&table_lock);
	nr_idle += !--p->refs;
	if (nr_idle > max_idle) {
		for (each = table; each; each = each->next)
			if (!each->refs)
				idle = each;
		unlink_process(idle);
		nr_idle--;
	}
	pthread_mutex_unlock(&table_lock);
	if (idle)
		process_free(idle);
}

bool process_lives(struct process *p)
{
	if (__atomic_load_n(&p->ended, __ATOMIC_RELAXED))
		return false;
	if (image_watch_state(&p->watch, p->image.start) != 'Z' ||
	    image_lives(p->image.pid, p->image.start))
		return true;
	if (image_has_ended(p->image.pid, p->image.start))
		__atomic_store_n(&p->ended, true, __ATOMIC_RELAXED);
	return false;
}

bool process_has_hists(struct process *p)
{
	const struct area_table *t = AREA_TABLE(&p->head, AREA_HISTS);
	const off_t at = (const char *)t - (const char *)&p->head;
	struct area_table hists;

	if (__atomic_load_n(&p->no_hists, __ATOMIC_RELAXED))
		return false;
	if (process_lives(p) || p->head.header_bytes < sizeof(p->head) ||
	    pread(p->fd, &hists, sizeof(hists), at) != (ssize_t)sizeof(hists) || hists.count)
		return true;
	__atomic_store_n(&p->no_hists, true, __ATOMIC_RELAXED);
	return false;
}

/* Is its area's file still there? */
static bool has_area(const struct process *p)
{
	struct stat st;

	return !fstatat(p->image.dir.fd, p->image.name, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_dev == p->dev && st.st_ino == p->ino;
}

/* Is its area still there, and does a thread of it run? It may end at any moment. */
static bool is_current(struct process *p)
{
	return has_area(p) && (image_watch_runs(&p->watch) || process_lives(p));
}

void process_forget_gone(void)
{
	struct process *gone = NULL, **at = &table, *p;

	pthread_mutex_lock(&table_lock);
	while ((p = *at)) {
		if (p->refs || has_area(p)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		nr_idle--;
		p->next = gone;
		gone = p;
	}
	pthread_mutex_unlock(&table_lock);
	for (; gone; gone = p) {
		p = gone->next;
		process_free(gone);
	}
}

static int read_head(struct process *p, uint64_t bytes)
{
	ssize_t n = pread(p->fd, &p->head, sizeof(p->head), 0);

	if (n != (ssize_t)sizeof(p->head))
		return fail(EAGAIN, "%s is not filled in", p->image.path);
	p->head.session[sizeof(p->head.session) - 1] = '\0';
	return meta_check_head(&p->head, bytes, p->image.path);
}

/* Open p->image. Return: 0 or -errno; in both cases process_free() may be called. */
static int open_image(struct process *p, int pid, const char *instance)
{
	struct image top;
	int err = image_open(instance ? &top : &p->image, pid);

	if (err || !instance)
		return err;
	err = image_open_instance(&top, instance, &p->image);
	image_close(&top);
	return err;
}

/* A new one, of what @open opens. */
static struct process *make(int (*open)(struct process *p, const void *arg), const void *arg,
			    int *err)
{
	struct process *p = calloc(1, sizeof(*p));
	struct stat st;
	uint64_t bytes;

	if (!p) {
		*err = fail(ENOMEM, "out of memory for a process");
		return NULL;
	}
	p->target.ops = &process_ops;
	p->fd = p->top_fd = -1;
	p->watch = IMAGE_NO_WATCH;
	pthread_mutex_init(&p->lock, NULL);
	*err = open(p, arg);
	if (*err) {
		p->image.dir.fd = -1;
		process_free(p);
		return NULL;
	}
	p->fd = area_open(p->image.dir.fd, p->image.name, O_RDWR, &bytes);
	*err = p->fd < 0 ? p->fd : read_head(p, bytes);
	if (!*err && fstat(p->fd, &st))
		*err = fail_errno(errno, "%s", p->image.path);
	if (!*err) {
		p->dev = st.st_dev;
		p->ino = st.st_ino;
		p->image.dev = st.st_dev;
		p->image.ino = st.st_ino;
		p->uid = st.st_uid;
		if (p->image.alive)
			image_watch(p->image.pid, p->image.start, &p->watch);
		snprintf(p->target.name, sizeof(p->target.name), "%d", p->image.pid);
		if (p->image.instance[0])
			p->top_fd = area_open(p->image.dir.fd, p->image.process, O_RDONLY, &bytes);
		if (pipe_readers_init(&p->pipe_readers, p->head.nr_cpus))
			*err = fail(ENOMEM, "out of memory for a process");
	}
	if (*err) {
		process_free(p);
		return NULL;
	}
	return p;
}

/* The one of the table that is the same file; takes a reference. Table locked. */
static struct process *same(const struct process *p)
{
	for (struct process *each = table; each; each = each->next)
		if (each->dev == p->dev && each->ino == p->ino &&
		    !strcmp(each->image.name, p->image.name))
			return take(each);
	return NULL;
}

/* A new one, or the same of the table, whose reference is returned. */
static struct process *put_in_table(struct process *p)
{
	struct process *old;

	pthread_mutex_lock(&table_lock);
	old = same(p);
	if (!old) {
		p->refs = 1;
		p->next = table;
		table = p;
	}
	pthread_mutex_unlock(&table_lock);
	if (!old)
		return p;
	process_free(p);
	return old;
}

struct wanted {
	int pid;
	const char *instance;
};

static int open_wanted(struct process *p, const void *arg)
{
	const struct wanted *w = arg;

	return open_image(p, w->pid, w->instance);
}

struct process *process_get(int pid, const char *instance, int *err)
{
	const struct wanted wanted = {pid, instance};
	struct process *p, *candidate = NULL;

	pthread_mutex_lock(&table_lock);
	for (p = table; p && !candidate; p = p->next)
		if (p->image.pid == pid && !strcmp(p->image.instance, instance ? instance : "") &&
		    !__atomic_load_n(&p->ended, __ATOMIC_RELAXED))
			candidate = take(p);
	pthread_mutex_unlock(&table_lock);
	if (candidate && is_current(candidate))
		return candidate;
	process_put(candidate);
	p = make(open_wanted, &wanted, err);
	return p ? put_in_table(p) : NULL;
}

static int open_file(struct process *p, const void *arg)
{
	return areas_open(arg, &p->image);
}

struct process *process_get_file(const struct area_file *file, int *err)
{
	struct process *p = make(open_file, file, err);

	return p ? put_in_table(p) : NULL;
}

void process_list(int (*put)(void *arg, int pid), void *arg)
{
	struct areas *a = areas_now();
	int last = 0;

	for (size_t i = 0; a && i < a->nr; i++) {
		if (a->files[i].instance[0] || a->files[i].pid == last)
			continue;
		last = a->files[i].pid;
		if (put(arg, last))
			break;
	}
	areas_put(a);
}

void process_opened(struct process *p, int change)
{
	pthread_mutex_lock(&p->lock);
	p->nr_open += (unsigned int)change;
	pthread_mutex_unlock(&p->lock);
}

int process_mkdir(struct process *p, const char *instance)
{
	int err = image_mkdir(&p->image, instance);

	return err == -ESRCH && !process_lives(p) ? -EROFS : err;
}

int process_rmdir(struct process *p, const char *instance)
{
	bool busy = false;
	int err;

	pthread_mutex_lock(&table_lock);
	for (struct process *each = table; each; each = each->next)
		if (each->image.pid == p->image.pid && each->image.start == p->image.start &&
		    !strcmp(each->image.instance, instance) && each->nr_open)
			busy = true;
	pthread_mutex_unlock(&table_lock);
	if (busy)
		return -EBUSY;
	err = image_rmdir(&p->image, instance);
	return err == -ESRCH && !process_lives(p) ? -EROFS : err;
}

void processes_serve(bool on)
{
	pthread_mutex_lock(&table_lock);
	max_idle = on ? MAX_IDLE : 0;
	pthread_mutex_unlock(&table_lock);
}
