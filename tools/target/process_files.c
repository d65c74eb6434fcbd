/* SPDX-License-Identifier: MIT */
/*
 * The files of a process: see process.h. Their tree is read from the area when the process has
 * changed it; the process is asked for the folders that only it knows (agent_dir.h). Any thread;
 * under the process's lock, which is not held while it is asked. Tests: tests/tracefs/.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/target/dead_events.h"
#include "tools/target/process.h"
#include "tools/target/render.h"
#include "tools/target/static_files.h"

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
	/* read again: the table may have been empty when the process was found */
	image_await_start(&p->image, p->fd);
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

/*
 * Return: 0; -ENOENT: it has ended; -ETIMEDOUT: it is stopped. A folder may have hundreds of
 * stopped processes, so there is no waiting.
 */
static int can_answer(struct process *p)
{
	const char state = image_watch_state(&p->watch, p->image.start);

	if (state == 'T')
		return -ETIMEDOUT;
	if (state != 'Z' || image_answers(p->image.pid, p->image.start))
		return 0;
	return process_lives(p) ? -ETIMEDOUT : -ENOENT;
}

struct left {
	const char *name;
	struct target_file *file;
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

/* Look up an event's file in the area of a process that cannot answer. */
static bool find_left(struct process *p, const char *dir, const char *name,
		      struct target_file *file)
{
	struct left l = {.name = name, .file = file};

	dead_events_list(&p->image, dir, take_left, &l);
	return l.found;
}

/*
 * The generation of the folder: a number that changes when the folder may have changed. For an
 * instance the generation of the top instance is added, since events that are defined there are in
 * all instances. Locked. Return: AGENT_DIR_NO_GEN when it is not known.
 */
static uint32_t gen_of(struct process *p, const char *dir)
{
	const struct area_table *t = &p->head.tables[AREA_FILES];
	struct area_table top;
	struct area_files now;
	int fd = p->fd;

	if (strncmp(dir, "events", strlen("events")))
		return AGENT_DIR_NO_GEN; /* instances/ has no generation */
	if (p->image.instance[0] && p->top_fd < 0)
		return AGENT_DIR_NO_GEN;
	if (p->top_fd >= 0) {
		fd = p->top_fd;
		t = &top;
		if (pread(fd, &top, sizeof(top),
			  offsetof(struct area_header, tables[AREA_FILES])) != (ssize_t)sizeof(top))
			return AGENT_DIR_NO_GEN;
	}
	if (!t->offset || pread(fd, &now, sizeof(now), (off_t)t->offset) != (ssize_t)sizeof(now))
		return AGENT_DIR_NO_GEN;
	return now.gen;
}

/*
 * The process's folder @dir. Return: 0: *@d is set, and p->lock is held; *@d is valid until the
 * caller unlocks it. -errno: the lock is not held; ETIMEDOUT: the process is stopped or hangs.
 */
static int get_dir(struct process *p, const char *dir, const struct agent_dir_listing **d)
{
	struct agent_dir_listing *made;
	uint32_t gen;
	char *text;
	int err;

	err = can_answer(p);
	if (err)
		return err;
	pthread_mutex_lock(&p->lock);
	gen = gen_of(p, dir);
	*d = agent_dir_find(&p->branch, gen, dir);
	if (*d)
		return 0;
	pthread_mutex_unlock(&p->lock);
	err = image_list(&p->image, dir, &text);
	made = err ? NULL : agent_dir_listing_new(dir, text);
	if (!made)
		return err ? err : -ENOMEM;
	pthread_mutex_lock(&p->lock);
	/* an answer that came while files changed is not cached */
	agent_dir_keep(&p->branch, gen_of(p, dir) == gen ? gen : AGENT_DIR_NO_GEN, made);
	*d = made;
	return 0;
}

/* Ask the process whether the folder of @path has the last part of it. Return: 0 or -errno. */
static int find_in_branch(struct process *p, const char *path, struct target_file *file)
{
	const char *slash = strrchr(path, '/');
	const struct agent_dir_file *found;
	const struct agent_dir_listing *d;
	bool is_dir;
	char dir[256];
	int err;

	if (!slash)
		return 0; /* the branch itself */
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	err = get_dir(p, dir, &d);
	if (!err) {
		found = agent_dir_listing_file(d, slash + 1);
		if (found) {
			file->is_dir = found->is_dir;
			file->mode = found->mode;
		}
		err = found ? 0 : -ENOENT;
		pthread_mutex_unlock(&p->lock);
	}
	if ((err == -ETIMEDOUT || (err && !process_lives(p))) && find_left(p, dir, slash + 1, file))
		err = 0;
	if (err && static_file_find(path, &is_dir)) {
		file->is_dir = is_dir;
		file->mode = is_dir ? 0755 : 0444;
		err = 0;
	}
	return err == -ETIMEDOUT ? err : err ? -ENOENT : 0;
}

int process_find(struct process *p, const char *path, struct target_file *file)
{
	const char *slash = strrchr(path, '/');
	struct file_at at = {0};
	bool is_dir;
	int err;

	if (!strcmp(path, TARGET_KALLSYMS)) {
		*file = (struct target_file){.mode = 0444, .cpu = UINT32_MAX};
		snprintf(file->name, sizeof(file->name), TARGET_KALLSYMS);
		file->uid = p->uid;
		return 0;
	}
	pthread_mutex_lock(&p->lock);
	err = refresh_tree(p);
	if (!err)
		err = file_tree_find(&p->tree, path, p->head.nr_cpus, &at);
	if (!err) {
		*file = (struct target_file){.is_dir = !at.row, .mode = 0750, .cpu = at.cpu};
		if (at.row) {
			file->mode = at.row->mode;
		}
	}
	pthread_mutex_unlock(&p->lock);
	if (!err && at.branch) {
		/* as tracefs has them */
		file->mode = strncmp(path, "events", strlen("events")) ? 0750 : 0755;
		err = find_in_branch(p, path, file);
	} else if (err == -ENOENT && static_file_find(path, &is_dir)) {
		*file = (struct target_file){
			.is_dir = is_dir, .mode = is_dir ? 0755 : 0444, .cpu = UINT32_MAX};
		err = 0;
	}
	if (!err)
		snprintf(file->name, sizeof(file->name), "%s", slash ? slash + 1 : path);
	file->uid = p->uid;
	return err;
}

/* The names that were put already, so that files of the tools are not added twice. */
struct union_list {
	target_put_file *put;
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

/* List the instances that have an area, also of a dead or stopped process. */
static void list_left_instances(const struct process *p, target_put_file *put, void *arg)
{
	int fd = openat(p->image.dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = strlen(p->image.process);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, p->image.process, n) &&
		    e->d_name[n] == AREA_INSTANCE_MARK && e->d_name[n + 1])
			put(arg, e->d_name + n + 1, true);
	if (d)
		closedir(d);
}

static void list_branch(struct process *p, const char *dir, struct union_list *u)
{
	const struct agent_dir_listing *d;

	if (get_dir(p, dir, &d)) {
		if (!strcmp(dir, "instances"))
			list_left_instances(p, put_once, u);
		else
			dead_events_list(&p->image, dir, put_once, u);
		return;
	}
	for (unsigned int i = 0; i < d->nr && !put_once(u, d->files[i].name, d->files[i].is_dir);
	     i++)
		;
	pthread_mutex_unlock(&p->lock);
}

int process_files(struct process *p, const char *dir, target_put_file *put, void *arg)
{
	struct union_list *u = calloc(1, sizeof(*u));
	struct target_file file;
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
		static_file_list(dir, put_once, u);
	}
	free(u);
	return err;
}

/* A file's contents from the area; "" when it has none. */
static void area_text(struct process *p, const char *path, char *buf, size_t bytes)
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

int process_check_tracer(struct process *p, const char *path, const char *text, size_t n)
{
	char word[64], names[512], *each, *next;
	int busy = 0;

	if (strcmp(path, "current_tracer") || n >= sizeof(word))
		return 0;
	snprintf(word, sizeof(word), "%.*s", (int)n, text);
	word[strcspn(word, " \t\n")] = '\0';
	area_text(p, "available_tracers", names, sizeof(names));
	for (each = strtok_r(names, " \n", &next); each; each = strtok_r(NULL, " \n", &next))
		busy |= !strcmp(each, word);
	area_text(p, "current_tracer", names, sizeof(names));
	names[strcspn(names, "\n")] = '\0';
	return busy && strcmp(names, word) ? -EBUSY : 0;
}

int process_print(struct process *p, const char *path, struct out *o)
{
	struct image now = p->image;

	now.alive = process_lives(p);
	return render_any(&now, path, o);
}

static int put_instance(void *arg, const char *name, bool is_dir)
{
	(void)is_dir;
	out_printf(arg, "instances/%s\n", name);
	return 0;
}

int process_names(struct process *p, struct out *o)
{
	int err = render_list(&p->image, o);

	if (!err && !p->image.instance[0])
		list_left_instances(p, put_instance, o);
	return err;
}
