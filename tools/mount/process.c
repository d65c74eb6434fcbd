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

#define SHM_DIR	    "/dev/shm"
#define SHM_PREFIX  "vestige-"
#define MAX_FOLDERS 64u

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct process *table;

static void process_free(struct process *p)
{
	if (p->fd >= 0)
		close(p->fd);
	target_close(&p->t);
	file_tree_free(&p->tree);
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

struct process *process_ref(struct process *p)
{
	pthread_mutex_lock(&table_lock);
	p->refs++;
	pthread_mutex_unlock(&table_lock);
	return p;
}

/* The last one that nobody uses stays: the next request is most likely for it. */
void process_put(struct process *p)
{
	struct process *idle = NULL, *each;
	unsigned int nr_idle = 0;

	if (!p)
		return;
	pthread_mutex_lock(&table_lock);
	p->refs--;
	for (each = table; each; each = each->next) {
		if (!each->refs) {
			nr_idle++;
			idle = each;
		}
	}
	if (nr_idle > 8)
		unlink_process(idle);
	else
		idle = NULL;
	pthread_mutex_unlock(&table_lock);
	if (idle)
		process_free(idle);
}

bool process_lives(const struct process *p)
{
	return target_lives(p->t.pid, p->t.start);
}

bool process_has_area(const struct process *p)
{
	struct stat st;

	return !fstatat(p->t.dir.fd, p->t.name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == p->dev &&
	       st.st_ino == p->ino;
}

bool process_is_current(const struct process *p)
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

	if (err || !instance) {
		if (err)
			p->t.dir.fd = -1;
		return err;
	}
	err = target_open_instance(&top, instance, &p->t);
	if (err)
		p->t.dir.fd = -1;
	target_close(&top);
	return err;
}

static struct process *find_new(int pid, const char *instance, int *err)
{
	struct process *p = calloc(1, sizeof(*p));
	struct stat st;
	uint64_t bytes;

	if (!p) {
		*err = fail(ENOMEM, "no memory for a process");
		return NULL;
	}
	p->fd = -1;
	pthread_mutex_init(&p->lock, NULL);
	*err = open_target(p, pid, instance);
	if (*err) {
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
	for (struct process *each = table; each; each = each->next) {
		if (each->dev == p->dev && each->ino == p->ino &&
		    !strcmp(each->t.name, p->t.name)) {
			each->refs++;
			return each;
		}
	}
	return NULL;
}

struct process *process_get(int pid, const char *instance, int *err)
{
	struct process *p, *old, *candidate = NULL;

	pthread_mutex_lock(&table_lock);
	for (p = table; p && !candidate; p = p->next)
		if (p->t.pid == pid && !strcmp(p->t.instance, instance ? instance : ""))
			candidate = p;
	if (candidate)
		candidate->refs++;
	pthread_mutex_unlock(&table_lock);
	if (candidate && process_is_current(candidate))
		return candidate;
	process_put(candidate);
	p = find_new(pid, instance, err);
	if (!p)
		return NULL;
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

struct list {
	int *pids;
	size_t nr, room;
};

static void add_pid(struct list *l, int pid)
{
	if (l->nr == l->room) {
		size_t room = l->room ? l->room * 2 : 64;
		int *more = realloc(l->pids, room * sizeof(*more));

		if (!more)
			return;
		l->pids = more;
		l->room = room;
	}
	l->pids[l->nr++] = pid;
}

static void list_folder(struct list *l, unsigned int uid)
{
	unsigned long long start;
	struct areas_dir dir;
	struct dirent *e;
	bool is_socket;
	int fd, pid;
	DIR *d;

	if (areas_dir_find(&dir, uid))
		return;
	fd = openat(dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	while (d && (e = readdir(d)))
		if (target_parse_name(e->d_name, &pid, &start, &is_socket) && !is_socket)
			add_pid(l, pid);
	if (d)
		closedir(d);
	areas_dir_close(&dir);
}

/* The folders of other users, for root. */
static void list_others(struct list *l)
{
	unsigned int nr = 0, uid;
	DIR *d = opendir(SHM_DIR);
	struct dirent *e;
	char *end;

	while (d && nr < MAX_FOLDERS && (e = readdir(d))) {
		const char *name = e->d_name;

		if (strncmp(name, SHM_PREFIX, strlen(SHM_PREFIX)))
			continue;
		name += strlen(SHM_PREFIX);
		uid = (unsigned int)strtoul(name, &end, 10);
		if (*name < '0' || *name > '9' || *end || uid == geteuid())
			continue;
		list_folder(l, uid);
		nr++;
	}
	if (d)
		closedir(d);
}

static int by_pid(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

void process_list(int (*put)(void *arg, int pid), void *arg)
{
	const char *env = getenv("VESTIGE_DIR");
	struct list l = {0};

	list_folder(&l, geteuid());
	if (!geteuid() && !(env && *env))
		list_others(&l);
	if (l.nr)
		qsort(l.pids, l.nr, sizeof(*l.pids), by_pid);
	for (size_t i = 0; i < l.nr; i++)
		if ((!i || l.pids[i] != l.pids[i - 1]) && put(arg, l.pids[i]))
			break;
	free(l.pids);
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

/* One line of a folder's listing. Return: the line behind it; NULL at the end. */
static char *next_entry(char *line, mode_t *mode, char **name)
{
	char *end = strchr(line, '\n'), *blank;

	if (!end)
		return NULL;
	*end = '\0';
	*mode = (mode_t)strtoul(line, &blank, 8);
	*name = *blank == ' ' ? blank + 1 : blank;
	return end + 1;
}

static bool name_ok(const char *name)
{
	return *name && strcmp(name, ".") && strcmp(name, "..") && !strchr(name, '/');
}

/* Ask the process what is in @dir. Return: 0 with *@text to be freed; -ETIMEDOUT it is stopped or hangs. */
static int ask_list(struct process *p, const char *dir, char **text)
{
	if (!process_lives(p))
		return -ENOENT;
	/* a folder may have hundreds: none of them waits */
	return target_stopped(p->t.pid) ? -ETIMEDOUT : target_list(&p->t, dir, text);
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

/* Ask the process for the folder of @path whether it has its last part. Return: 0 or -errno. */
static int find_in_branch(struct process *p, const char *path, struct process_file *file)
{
	const char *slash = strrchr(path, '/');
	char dir[256], *text, *line, *next, *name;
	bool is_dir;
	mode_t mode;
	int err;

	if (!slash)
		return 0; /* the branch itself */
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	err = ask_list(p, dir, &text);
	if (!err) {
		err = -ENOENT;
		for (line = text; err && (next = next_entry(line, &mode, &name)); line = next) {
			if (strcmp(name, slash + 1))
				continue;
			file->is_dir = S_ISDIR(mode);
			file->mode = mode & 0777;
			err = 0;
		}
		free(text);
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
		    name_ok(e->d_name + n + 1))
			put_once(u, e->d_name + n + 1, true);
	if (d)
		closedir(d);
}

static void list_branch(struct process *p, const char *dir, struct union_list *u)
{
	char *text, *line, *next, *name;
	mode_t mode;

	if (ask_list(p, dir, &text)) {
		if (!strcmp(dir, "instances"))
			list_left_instances(p, u);
		else
			events_left_list(&p->t, dir, put_once, u);
		return;
	}
	for (line = text; (next = next_entry(line, &mode, &name)); line = next)
		if (name_ok(name) && put_once(u, name, S_ISDIR(mode)))
			break;
	free(text);
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
