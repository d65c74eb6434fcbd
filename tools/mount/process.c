/* SPDX-License-Identifier: MIT */
/*
 * Processes of the mount: a table of those in use, each found by its PID when it is asked for. One
 * that was found is used again as long as its area's file is the same and lives; a dead one is looked
 * for anew, since its number may have gone to another. The tree of files is read from the area when
 * the process has changed it; the process is not asked.
 * Any thread. Locks: the table's, then nothing; a process's own, then nothing.
 * Tests: tests/tracefs/.
 */
#include "tools/mount/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/option.h"
#include "tools/base/fail.h"
#include "tools/reader/area.h"
#include "tools/target/events_left.h"
#include "tools/target/outside.h"

#define MAX_IDLE 8u

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct process *table;
static unsigned int nr_idle; /* of the table, without references */

static void process_free(struct process *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->top_fd >= 0)
		close(p->top_fd);
	target_close(&p->t);
	file_tree_free(&p->tree);
	branch_forget(&p->branch);
	pthread_mutex_destroy(&p->lock);
	claims_free(&p->claims);
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

/* The last ones that nobody uses stay: the next request is most likely for one of them. */
void process_put(struct process *p)
{
	struct process *idle = NULL, *each;

	if (!p)
		return;
	pthread_mutex_lock(&table_lock);
	nr_idle += !--p->refs;
	if (nr_idle > MAX_IDLE) {
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
	if (target_lives(p->t.pid, p->t.start))
		return true;
	if (target_has_ended(p->t.pid, p->t.start))
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

bool process_has_area(const struct process *p)
{
	struct stat st;

	return !fstatat(p->t.dir.fd, p->t.name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == p->dev &&
	       st.st_ino == p->ino;
}

bool process_is_current(struct process *p)
{
	return process_has_area(p) && process_lives(p);
}

static int read_head(struct process *p, uint64_t bytes)
{
	ssize_t n = pread(p->fd, &p->head, sizeof(p->head), 0);

	if (n != (ssize_t)sizeof(p->head))
		return fail(EAGAIN, "%s is not filled in", p->t.path);
	p->head.session[sizeof(p->head.session) - 1] = '\0';
	return meta_check_head(&p->head, bytes, p->t.path);
}

/* The area's place. Return: 0 or -errno; p->t is closed or to be closed by process_free() then. */
static int open_target(struct process *p, int pid, const char *instance)
{
	struct target top;
	int err = target_open(instance ? &top : &p->t, pid);

	if (err || !instance)
		return err;
	err = target_open_instance(&top, instance, &p->t);
	target_close(&top);
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
		*err = fail(ENOMEM, "no memory for a process");
		return NULL;
	}
	p->fd = p->top_fd = -1;
	pthread_mutex_init(&p->lock, NULL);
	*err = open(p, arg);
	if (*err) {
		p->t.dir.fd = -1;
		process_free(p);
		return NULL;
	}
	p->fd = area_open(p->t.dir.fd, p->t.name, O_RDWR, &bytes);
	*err = p->fd < 0 ? p->fd : read_head(p, bytes);
	if (!*err && fstat(p->fd, &st))
		*err = fail_errno(errno, "%s", p->t.path);
	if (!*err) {
		p->dev = st.st_dev;
		p->ino = st.st_ino;
		p->t.dev = st.st_dev;
		p->t.ino = st.st_ino;
		p->uid = st.st_uid;
		if (p->t.instance[0])
			p->top_fd = area_open(p->t.dir.fd, p->t.process, O_RDONLY, &bytes);
		if (claims_init(&p->claims, p->head.nr_cpus))
			*err = fail(ENOMEM, "no memory for a process");
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
		if (each->dev == p->dev && each->ino == p->ino && !strcmp(each->t.name, p->t.name))
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

	return open_target(p, w->pid, w->instance);
}

struct process *process_get(int pid, const char *instance, int *err)
{
	const struct wanted wanted = {pid, instance};
	struct process *p, *candidate = NULL;

	pthread_mutex_lock(&table_lock);
	for (p = table; p && !candidate; p = p->next)
		if (p->t.pid == pid && !strcmp(p->t.instance, instance ? instance : "") &&
		    !__atomic_load_n(&p->ended, __ATOMIC_RELAXED))
			candidate = take(p);
	pthread_mutex_unlock(&table_lock);
	if (candidate && process_is_current(candidate))
		return candidate;
	process_put(candidate);
	p = make(open_wanted, &wanted, err);
	return p ? put_in_table(p) : NULL;
}

static int open_file(struct process *p, const void *arg)
{
	return areas_open(arg, &p->t);
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

/* Read the tree again if the process has written it since. Its lock is held. */
static int refresh_tree(struct process *p)
{
	const uint64_t at = p->head.tables[AREA_FILES].offset;
	struct area_table files;
	struct area_files now;
	int err;

	if (p->has_tree && pread(p->fd, &now, sizeof(now), (off_t)at) == (ssize_t)sizeof(now) &&
	    now.gen == p->tree.gen)
		return 0;
	/* the table may not have had its first row when the process was found */
	if (pread(p->fd, &files, sizeof(files), offsetof(struct area_header, tables[AREA_FILES])) !=
		    (ssize_t)sizeof(files) ||
	    p->head.nr_tables <= AREA_FILES)
		return -EIO;
	p->head.tables[AREA_FILES] = files;
	file_tree_free(&p->tree);
	p->has_tree = false;
	err = file_tree_load(p->fd, &p->head, &p->tree);
	p->has_tree = !err;
	return err;
}

/* Return: 0; -ENOENT it has ended; -ETIMEDOUT it is stopped: a folder may have hundreds, and none of them waits. */
static int can_answer(struct process *p)
{
	if (target_answers(p->t.pid, p->t.start))
		return 0;
	return process_lives(p) ? -ETIMEDOUT : -ENOENT;
}

struct left {
	const char *name;
	struct process_file *file;
	bool found;
};

/* Files of an event that are written, too. */
static bool is_set(const char *name)
{
	return !strcmp(name, "enable") || !strcmp(name, "filter") || !strcmp(name, "trigger");
}

static int take_left(void *arg, const char *name, bool is_dir)
{
	struct left *l = arg;

	if (strcmp(name, l->name))
		return 0;
	l->file->is_dir = is_dir;
	l->file->mode = is_dir ? 0755 : is_set(name) ? 0644 : 0444;
	l->found = true;
	return 1;
}

/* Of a process that cannot answer: whether its area tells of it. */
static bool find_left(struct process *p, const char *dir, const char *name,
		      struct process_file *file)
{
	struct left l = {.name = name, .file = file};

	events_left_list(&p->t, dir, take_left, &l);
	return l.found;
}

/*
 * How often the folder may have changed, by the process's files: of an instance too the top's, since events
 * that are defined there are in all. Locked. Return: BRANCH_NO_GEN when it cannot be told.
 */
static uint32_t gen_of(struct process *p, const char *dir)
{
	const struct area_table *t = &p->head.tables[AREA_FILES];
	struct area_table top;
	struct area_files now;
	int fd = p->fd;

	if (strncmp(dir, "events", strlen("events")))
		return BRANCH_NO_GEN; /* instances come and go without a word */
	if (p->t.instance[0] && p->top_fd < 0)
		return BRANCH_NO_GEN;
	if (p->top_fd >= 0) {
		fd = p->top_fd;
		t = &top;
		if (pread(fd, &top, sizeof(top),
			  offsetof(struct area_header, tables[AREA_FILES])) != (ssize_t)sizeof(top))
			return BRANCH_NO_GEN;
	}
	if (!t->offset || pread(fd, &now, sizeof(now), (off_t)t->offset) != (ssize_t)sizeof(now))
		return BRANCH_NO_GEN;
	return now.gen;
}

/*
 * The process's folder @dir. Return: 0 with *@d, and p->lock held, until which it stays; or -errno
 * without it: ETIMEDOUT the process is stopped or hangs.
 */
static int get_dir(struct process *p, const char *dir, const struct branch_dir **d)
{
	struct branch_dir *made;
	uint32_t gen;
	char *text;
	int err;

	err = can_answer(p);
	if (err)
		return err;
	pthread_mutex_lock(&p->lock);
	gen = gen_of(p, dir);
	*d = branch_find(&p->branch, gen, dir);
	if (*d)
		return 0;
	pthread_mutex_unlock(&p->lock);
	err = target_list(&p->t, dir, &text);
	made = err ? NULL : branch_dir_new(dir, text);
	if (!made)
		return err ? err : -ENOMEM;
	pthread_mutex_lock(&p->lock);
	/* what was asked for while files changed is good for this once */
	branch_keep(&p->branch, gen_of(p, dir) == gen ? gen : BRANCH_NO_GEN, made);
	*d = made;
	return 0;
}

/* Ask the process for the folder of @path whether it has its last part. Return: 0 or -errno. */
static int find_in_branch(struct process *p, const char *path, struct process_file *file)
{
	const char *slash = strrchr(path, '/');
	const struct branch_file *found;
	const struct branch_dir *d;
	bool is_dir;
	char dir[256];
	int err;

	if (!slash)
		return 0; /* the branch itself */
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	err = get_dir(p, dir, &d);
	if (!err) {
		found = branch_dir_file(d, slash + 1);
		if (found) {
			file->is_dir = found->is_dir;
			file->mode = found->mode;
		}
		err = found ? 0 : -ENOENT;
		pthread_mutex_unlock(&p->lock);
	}
	if ((err == -ETIMEDOUT || (err && !process_lives(p))) && find_left(p, dir, slash + 1, file))
		err = 0;
	if (err && outside_find(path, &is_dir)) {
		file->is_dir = is_dir;
		file->mode = is_dir ? 0755 : 0444;
		err = 0;
	}
	return err == -ETIMEDOUT ? err : err ? -ENOENT : 0;
}

int process_find(struct process *p, const char *path, struct process_file *file)
{
	const char *slash = strrchr(path, '/');
	struct file_at at = {0};
	bool is_dir;
	int err;

	if (!strcmp(path, PROCESS_KALLSYMS)) {
		*file = (struct process_file){.mode = 0444, .cpu = UINT32_MAX};
		snprintf(file->name, sizeof(file->name), PROCESS_KALLSYMS);
		return 0;
	}
	pthread_mutex_lock(&p->lock);
	err = refresh_tree(p);
	if (!err)
		err = file_tree_find(&p->tree, path, p->head.nr_cpus, &at);
	if (!err) {
		*file = (struct process_file){.is_dir = !at.row, .mode = 0750, .cpu = at.cpu};
		if (at.row) {
			file->rendered = at.row->rendered;
			file->mode = at.row->mode;
		}
	}
	pthread_mutex_unlock(&p->lock);
	if (!err && at.branch) {
		/* as tracefs has them */
		file->mode = strncmp(path, "events", strlen("events")) ? 0750 : 0755;
		err = find_in_branch(p, path, file);
	} else if (err == -ENOENT && outside_find(path, &is_dir)) {
		*file = (struct process_file){
			.is_dir = is_dir, .mode = is_dir ? 0755 : 0444, .cpu = UINT32_MAX};
		err = 0;
	}
	if (!err)
		snprintf(file->name, sizeof(file->name), "%s", slash ? slash + 1 : path);
	return err;
}

/* Names that were put already, so that those of the outside are added once. */
struct union_list {
	int (*put)(void *arg, const char *name, bool is_dir);
	void *arg;
	char names[512][48];
	unsigned int nr;
};

static int put_once(void *arg, const char *name, bool is_dir)
{
	struct union_list *u = arg;

	for (unsigned int i = 0; i < u->nr; i++)
		if (!strcmp(u->names[i], name))
			return 0;
	if (u->nr < sizeof(u->names) / sizeof(*u->names) && strlen(name) < sizeof(*u->names))
		strcpy(u->names[u->nr++], name);
	return u->put(u->arg, name, is_dir);
}

static int put_row(void *arg, const char *name, const struct file_at *at)
{
	return put_once(arg, name, !at->row);
}

/* Of a dead or stopped process, by the files of its instances. */
static void list_left_instances(struct process *p, struct union_list *u)
{
	int fd = openat(p->t.dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = strlen(p->t.process);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, p->t.process, n) && e->d_name[n] == AREA_INSTANCE_MARK &&
		    e->d_name[n + 1])
			put_once(u, e->d_name + n + 1, true);
	if (d)
		closedir(d);
}

static void list_branch(struct process *p, const char *dir, struct union_list *u)
{
	const struct branch_dir *d;

	if (get_dir(p, dir, &d)) {
		if (!strcmp(dir, "instances"))
			list_left_instances(p, u);
		else
			events_left_list(&p->t, dir, put_once, u);
		return;
	}
	for (unsigned int i = 0; i < d->nr && !put_once(u, d->files[i].name, d->files[i].is_dir);
	     i++)
		;
	pthread_mutex_unlock(&p->lock);
}

int process_files(struct process *p, const char *dir,
		  int (*put)(void *arg, const char *name, bool is_dir), void *arg)
{
	struct union_list *u = calloc(1, sizeof(*u));
	struct process_file file;
	int err = u ? process_find(p, dir, &file) : -ENOMEM;

	if (!err && !file.is_dir)
		err = -ENOTDIR;
	if (!err) {
		u->put = put;
		u->arg = arg;
		pthread_mutex_lock(&p->lock);
		err = refresh_tree(p);
		if (!err)
			err = file_tree_list(&p->tree, dir, p->head.nr_cpus, put_row, u);
		pthread_mutex_unlock(&p->lock);
		if (err == -ENOENT) {
			list_branch(p, dir, u);
			err = 0;
		}
		outside_list(dir, put_once, u);
	}
	free(u);
	return err;
}

int process_claim(struct process *p, unsigned int cpu)
{
	int err;

	pthread_mutex_lock(&p->lock);
	err = claims_take(&p->claims, cpu);
	pthread_mutex_unlock(&p->lock);
	return err;
}

void process_unclaim(struct process *p, unsigned int cpu)
{
	pthread_mutex_lock(&p->lock);
	claims_give(&p->claims, cpu);
	pthread_mutex_unlock(&p->lock);
}

int process_raw_get(struct process *p, unsigned int cpu, struct raw **out)
{
	int err = 0;

	pthread_mutex_lock(&p->lock);
	if (!p->raw)
		err = raw_open(&p->t, &p->raw);
	if (!err) {
		p->nr_raw++;
		p->claims.nr_open++;
		raw_join(p->raw, cpu);
		*out = p->raw;
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

void process_raw_put(struct process *p, unsigned int cpu)
{
	pthread_mutex_lock(&p->lock);
	raw_leave(p->raw, cpu);
	p->claims.nr_open--;
	if (!--p->nr_raw) {
		raw_close(p->raw);
		p->raw = NULL;
	}
	pthread_mutex_unlock(&p->lock);
}

bool process_has_pipes(struct process *p)
{
	bool some;

	pthread_mutex_lock(&p->lock);
	some = p->claims.nr_open != 0;
	pthread_mutex_unlock(&p->lock);
	return some;
}

void process_text(struct process *p, const char *path, char *buf, size_t bytes)
{
	struct file_at at;
	size_t n = 0;

	pthread_mutex_lock(&p->lock);
	if (!refresh_tree(p) && !file_tree_find(&p->tree, path, p->head.nr_cpus, &at) && at.row &&
	    at.row->text) {
		n = at.row->bytes < bytes ? at.row->bytes : bytes - 1;
		memcpy(buf, at.row->text, n);
	}
	buf[n] = '\0';
	pthread_mutex_unlock(&p->lock);
}

void process_opened(struct process *p, int change)
{
	pthread_mutex_lock(&p->lock);
	p->nr_open += (unsigned int)change;
	pthread_mutex_unlock(&p->lock);
}

int process_mkdir(struct process *p, const char *instance)
{
	return process_lives(p) ? target_mkdir(&p->t, instance) : -EROFS;
}

int process_rmdir(struct process *p, const char *instance)
{
	bool busy = false;

	if (!process_lives(p))
		return -EROFS;
	pthread_mutex_lock(&table_lock);
	for (struct process *each = table; each; each = each->next)
		if (each->t.pid == p->t.pid && each->t.start == p->t.start &&
		    !strcmp(each->t.instance, instance) && each->nr_open)
			busy = true;
	pthread_mutex_unlock(&table_lock);
	return busy ? -EBUSY : target_rmdir(&p->t, instance);
}

bool process_option(const struct process *p, int option)
{
	const struct area_table *t = &p->head.tables[AREA_BUFFERS];
	struct area_buffer b;

	return t->count && pread(p->fd, &b, sizeof(b), (off_t)t->offset) == (ssize_t)sizeof(b) &&
	       area_option_on(b.options, (enum area_option)option);
}
