/* SPDX-License-Identifier: MIT */
/*
 * See areas.h. A folder's mtime shows whether a file was added or removed. Its resolution is a
 * clock tick, so a listing that was made within a tick of a change is made again. Any thread; the
 * lock is taken last. Tests: tests/tracefs/test_sessions.py.
 */
#include "tools/target/areas.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abi/area.h"
#include "tools/base/fail.h"

#define SHM_DIR	    "/dev/shm"
#define SHM_PREFIX  "vestige-"
#define MAX_FOLDERS 64u

struct folder {
	unsigned int uid;
	struct areas_dir dir;
	struct stat st; /* of the folder when it was read */
	bool settled;	/* a later change will change the mtime */
	bool absent;	/* there was no folder */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct folder folders[MAX_FOLDERS];
static unsigned int nr_folders;
static struct areas *last;

int areas_compare(const struct area_file *a, const struct area_file *b)
{
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->uid != b->uid)
		return a->uid < b->uid ? -1 : 1;
	return strcmp(a->instance, b->instance);
}

static int by_name(const void *a, const void *b)
{
	return areas_compare(a, b);
}

static void drop(struct areas *a)
{
	if (a && !--a->refs)
		free(a);
}

void areas_put(struct areas *a)
{
	pthread_mutex_lock(&lock);
	drop(a);
	pthread_mutex_unlock(&lock);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Is a known folder unchanged since it was read? */
static bool is_unchanged(const struct folder *f)
{
	struct stat st;

	if (stat(f->dir.path, &st))
		return f->absent && errno == ENOENT;
	return f->settled && is_same(&st, &f->st);
}

static struct folder *folder_of(unsigned int uid)
{
	for (unsigned int i = 0; i < nr_folders; i++)
		if (folders[i].uid == uid)
			return &folders[i];
	return NULL;
}

/* Add the folder of @uid to the known ones, if it exists. Return: whether it was added. */
static bool add_folder(unsigned int uid)
{
	if (folder_of(uid) || nr_folders == MAX_FOLDERS)
		return false;
	folders[nr_folders] = (struct folder){.uid = uid, .dir.fd = -1};
	nr_folders++;
	return true;
}

/* The folders of other users, for root. Return: whether there is a new one. */
static bool add_others(void)
{
	DIR *d = opendir(SHM_DIR);
	struct dirent *e;
	bool more = false;
	char *end;

	while (d && (e = readdir(d))) {
		const char *name = e->d_name;
		unsigned int uid;

		if (strncmp(name, SHM_PREFIX, strlen(SHM_PREFIX)))
			continue;
		name += strlen(SHM_PREFIX);
		uid = (unsigned int)strtoul(name, &end, 10);
		if (*name >= '0' && *name <= '9' && !*end)
			more |= add_folder(uid);
	}
	if (d)
		closedir(d);
	return more;
}

struct list {
	struct areas *areas;
	size_t room;
};

static void add_file(struct list *l, const struct area_file *file)
{
	struct areas *a = l->areas;

	if (!a || a->nr == l->room) {
		size_t room = l->room ? l->room * 2 : 64;

		a = realloc(a, sizeof(*a) + room * sizeof(*file));
		if (!a)
			return;
		if (!l->areas)
			*a = (struct areas){.refs = 1};
		l->areas = a;
		l->room = room;
	}
	a->files[a->nr++] = *file;
}

/* PID.START, or that and @INSTANCE. */
static bool parse(const char *name, struct area_file *file)
{
	const char *mark = strchr(name, AREA_INSTANCE_MARK);
	char process[64];
	size_t n = mark ? (size_t)(mark - name) : strlen(name);
	bool is_socket;

	file->instance[0] = '\0';
	if (n >= sizeof(process) || (mark && strlen(mark) > sizeof(file->instance)))
		return false;
	memcpy(process, name, n);
	process[n] = '\0';
	if (mark)
		strcpy(file->instance, mark + 1);
	return image_parse_name(process, &file->pid, &file->start, &is_socket) && !is_socket &&
	       (!mark || mark[1]);
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static void read_folder(struct folder *f, struct list *l)
{
	struct area_file file = {.uid = f->uid};
	struct timespec now;
	struct dirent *e;
	int fd, err;
	DIR *d;

	f->settled = false;
	areas_dir_close(&f->dir);
	err = areas_dir_find(&f->dir, f->uid);
	f->absent = err == -ENOENT;
	if (err)
		return;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	fd = openat(f->dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 || fstat(fd, &f->st) ? NULL : fdopendir(fd);
	while (d && (e = readdir(d))) {
		file.ino = e->d_ino;
		if (parse(e->d_name, &file))
			add_file(l, &file);
	}
	f->settled = d && is_before(&f->st.st_mtim, &now);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

/* Locked. Return: whether the list `last` is up to date. */
static bool is_current(void)
{
	const char *env = getenv("VESTIGE_DIR");
	bool same = !add_folder(geteuid()) && last;

	if (!geteuid() && !(env && *env))
		same &= !add_others();
	for (unsigned int i = 0; i < nr_folders && same; i++)
		same = is_unchanged(&folders[i]);
	return same;
}

struct areas *areas_now(void)
{
	struct list l = {0};
	struct areas *a;

	pthread_mutex_lock(&lock);
	if (!is_current()) {
		for (unsigned int i = 0; i < nr_folders; i++)
			read_folder(&folders[i], &l);
		if (!l.areas)
			l.areas = calloc(1, sizeof(*l.areas));
		if (l.areas) {
			l.areas->refs = 1;
			qsort(l.areas->files, l.areas->nr, sizeof(*l.areas->files), by_name);
			drop(last);
			last = l.areas;
		}
	}
	a = last;
	if (a)
		a->refs++;
	pthread_mutex_unlock(&lock);
	return a;
}

void areas_report(void (*say)(const char *line))
{
	const char *env = getenv("VESTIGE_DIR");
	struct areas *a = areas_now();
	bool none = a && !a->nr;
	char line[PATH_MAX + 256];
	struct areas_dir dir;
	int err;

	if (a)
		areas_put(a);
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < nr_folders; i++) {
		err = areas_dir_find(&dir, folders[i].uid);
		if (!err)
			areas_dir_close(&dir);
		else if (err != -ENOENT) {
			snprintf(line, sizeof(line), "not looked into: %s", fail_text());
			say(line);
		}
	}
	pthread_mutex_unlock(&lock);
	if (!none)
		return;
	if (env && *env)
		snprintf(line, sizeof(line),
			 "no traced process is in %s (VESTIGE_DIR), and no other folder is looked "
			 "into",
			 env);
	else if (!geteuid())
		snprintf(line, sizeof(line),
			 "no traced process is in " SHM_DIR "/" SHM_PREFIX
			 "UID of any user. Processes "
			 "with another VESTIGE_DIR are shown by a mount with the same VESTIGE_DIR");
	else
		snprintf(line, sizeof(line),
			 "no traced process of yours is in " SHM_DIR "/" SHM_PREFIX
			 "%u. Processes of other "
			 "users are shown by root's mount, processes with another VESTIGE_DIR by "
			 "a mount "
			 "with the same",
			 geteuid());
	say(line);
}

bool areas_are_below(const char *dir)
{
	const char *env = getenv("VESTIGE_DIR");
	char path[PATH_MAX];
	size_t n = strlen(dir);

	/* a folder that is not there yet has no areas */
	if (!realpath(env && *env ? env : SHM_DIR, path))
		return false;
	while (n && dir[n - 1] == '/')
		n--;
	if (!strncmp(path, dir, n) && (!path[n] || path[n] == '/'))
		return true;
	n = strlen(path);
	/* by default, each user's folder is one below SHM_DIR */
	return !(env && *env) && !strncmp(dir, path, n) && dir[n] == '/' &&
	       !strncmp(dir + n + 1, SHM_PREFIX, strlen(SHM_PREFIX)) && !strchr(dir + n + 1, '/');
}

int areas_open(const struct area_file *file, struct image *t)
{
	const struct folder *f;
	int err = -ENOENT;

	pthread_mutex_lock(&lock);
	f = folder_of(file->uid);
	if (f && f->dir.fd >= 0)
		err = image_open_area(t, &f->dir, file->pid, file->start, file->instance);
	pthread_mutex_unlock(&lock);
	return err;
}
