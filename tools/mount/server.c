/* SPDX-License-Identifier: MIT */
/*
 * The FUSE server: paths to processes and their files, and the calls of the kernel to those of file.h.
 *
 * The kernel keeps names for a second and nothing else: attributes are asked for each time, so that what has gone
 * is not found by its name; what is not there is not kept. Files are direct_io with size 0, as tracefs has them. Each request has a thread of its own, so a process that does not
 * answer holds up only who asked for it. tools/mount/mount.h tells the tree.
 * Tests: tests/tracefs/.
 */
#define FUSE_USE_VERSION 314

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <fuse3/fuse_lowlevel.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/mount/file.h"
#include "tools/mount/mount.h"
#include "tools/mount/process.h"

#define INSTANCES    "instances/"
#define KERNEL_LINK  "kernel"
#define KERNEL_TRACE "/sys/kernel/tracing"
#define ENDLESS	     ((off_t)1 << 40)
#define MAX_THREADS  4096
#define IDLE_THREADS 4
#define NAME_SECONDS 1.0

static struct mount_options how;
static time_t started;

/* Behind `instances/NAME`: its rest, with the name copied; NULL: @rest is of the process itself. */
static const char *split_instance(const char *rest, char name[64])
{
	const char *end;

	if (strncmp(rest, INSTANCES, strlen(INSTANCES)) || !rest[strlen(INSTANCES)])
		return NULL;
	rest += strlen(INSTANCES);
	end = strchrnul(rest, '/');
	if (end - rest >= 64)
		return NULL;
	memcpy(name, rest, (size_t)(end - rest));
	name[end - rest] = '\0';
	return *end ? end + 1 : end;
}

/*
 * A session by its name, up to @end, or its instance: its first member, and itself in *@session if that
 * is wanted.
 */
static struct process *resolve_session(const char *name, const char *end, const char *instance,
				       struct session **session, int *err)
{
	struct process *p = NULL;
	struct session *s = NULL;
	char *copy = strndup(name, (size_t)(end - name));

	*err = -ENOMEM;
	if (copy)
		s = session_get(copy, instance, err);
	free(copy);
	if (s) {
		p = session_first(s);
		*err = p ? 0 : -ENOENT;
	}
	if (session && p)
		*session = s;
	else if (s)
		session_put(s);
	return p;
}

/*
 * Which process @path is about, and what is behind it ("" for its root).
 * @session: NULL, or set to the session, to be given back, of which it is the first member.
 * Return: the process with a reference; NULL with *@err: 0 for the mount's own root and files.
 */
static struct process *resolve(const char *path, const char **rest, struct session **session,
			       int *err)
{
	const char *first = path + 1, *inside, *end;
	char name[64], *number_end;
	unsigned long pid;

	*err = 0;
	*rest = "";
	if (session)
		*session = NULL;
	if (!how.process && (!*first || !strcmp(first, KERNEL_LINK)))
		return NULL;
	end = how.process ? first : strchrnul(first, '/');
	*rest = how.process ? first : *end ? end + 1 : end;
	if (how.process)
		first = how.process;
	inside = split_instance(*rest, name);
	if (inside)
		*rest = inside;
	pid = strtoul(first, &number_end, 10);
	if (*first < '1' || *first > '9' || pid > INT_MAX ||
	    (how.process ? *number_end : number_end != end))
		return resolve_session(first, how.process ? strchr(first, '\0') : end,
				       inside ? name : NULL, session, err);
	return process_get((int)pid, inside ? name : NULL, err);
}

/*
 * The process, or first member of *@session, and the name of `.../instances/NAME`; NULL with *@err: it
 * is nothing of that kind.
 */
static struct process *resolve_instance(const char *path, const char **name,
					struct session **session, int *err)
{
	const char *slash = strrchr(path, '/'), *rest;
	struct process *p = NULL;
	char *dir = strndup(path, (size_t)(slash - path));

	*err = -EPERM;
	*name = slash + 1;
	*session = NULL;
	if (!dir)
		*err = -ENOMEM;
	else if (*dir)
		p = resolve(dir, &rest, session, err);
	if (p && (strcmp(rest, "instances") || p->t.instance[0])) {
		if (*session)
			session_put(*session);
		process_put(p);
		p = NULL;
		*err = -EPERM;
	} else if (!p && !*err) {
		*err = -EPERM;
	}
	free(dir);
	return p;
}

/* Behind fi->fh: the kernel names no path for what is open. */
struct handle {
	struct file *file; /* NULL: a folder */
	char path[];
};

static struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

static struct file *file_of(const struct fuse_file_info *fi)
{
	return handle_of(fi)->file;
}

static int handle_new(const char *path, struct fuse_file_info *fi)
{
	struct handle *h = malloc(sizeof(*h) + strlen(path) + 1);

	if (!h)
		return -ENOMEM;
	h->file = NULL;
	strcpy(h->path, path);
	fi->fh = (uintptr_t)h;
	return 0;
}

static int not_found(int err)
{
	return err == -ESRCH || err == -EAGAIN ? -ENOENT : err;
}

static void fill_dir(struct stat *st, mode_t mode)
{
	st->st_mode = S_IFDIR | mode;
	st->st_nlink = 2;
}

static int op_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	struct process_file at;
	struct process *p;
	const char *rest;
	int err;

	if (!path)
		path = handle_of(fi)->path;
	memset(st, 0, sizeof(*st));
	st->st_uid = geteuid();
	st->st_gid = getegid();
	st->st_atime = st->st_mtime = st->st_ctime = started;
	p = resolve(path, &rest, NULL, &err);
	if (!p) {
		if (err)
			return not_found(err);
		fill_dir(st, 0755);
		if (path[1]) {
			st->st_mode = S_IFLNK | 0777;
			st->st_nlink = 1;
		}
		return 0;
	}
	err = process_find(p, rest, &at);
	st->st_uid = p->uid;
	if (!err && at.is_dir) {
		fill_dir(st, at.mode);
	} else if (!err) {
		st->st_mode = S_IFREG | (at.mode & 0770); /* tracefs is not for others */
		st->st_nlink = 1;
		/* splice(2) reads to where the file ends: without end it asks us */
		if (!strcmp(at.name, "trace_pipe_raw"))
			st->st_size = ENDLESS;
	}
	process_put(p);
	return err;
}

/* The name may be a kept one. */
static int op_access(const char *path, int mask)
{
	struct stat st;

	(void)mask;
	return op_getattr(path, &st, NULL);
}

static int op_readlink(const char *path, char *buf, size_t bytes)
{
	if (how.process || strcmp(path + 1, KERNEL_LINK))
		return -EINVAL;
	snprintf(buf, bytes, "%s", KERNEL_TRACE);
	return 0;
}

struct filling {
	void *buf;
	fuse_fill_dir_t fill;
};

static int fill_file(void *arg, const char *name, bool is_dir)
{
	struct filling *f = arg;
	struct stat st = {.st_mode = is_dir ? S_IFDIR : S_IFREG};

	return f->fill(f->buf, name, &st, 0, 0) ? -ENOMEM : 0;
}

static int fill_session(void *arg, const char *name)
{
	struct filling *f = arg;
	struct stat st = {.st_mode = S_IFDIR};

	return f->fill(f->buf, name, &st, 0, 0);
}

static int fill_process(void *arg, int pid)
{
	struct filling *f = arg;
	struct stat st = {.st_mode = S_IFDIR};
	char name[16];

	snprintf(name, sizeof(name), "%d", pid);
	return f->fill(f->buf, name, &st, 0, 0);
}

static int op_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
		      struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	struct filling f = {buf, fill};
	struct stat link = {.st_mode = S_IFLNK};
	struct process *p;
	const char *rest;
	int err;

	(void)path;
	(void)offset;
	(void)flags;
	p = resolve(handle_of(fi)->path, &rest, NULL, &err);
	if (!p && err)
		return not_found(err);
	fill(buf, ".", NULL, 0, 0);
	fill(buf, "..", NULL, 0, 0);
	if (!p) {
		process_list(fill_process, &f);
		session_list(fill_session, &f);
		fill(buf, KERNEL_LINK, &link, 0, 0);
		return 0;
	}
	err = process_files(p, rest, fill_file, &f);
	process_put(p);
	return err;
}

static int op_opendir(const char *path, struct fuse_file_info *fi)
{
	return handle_new(path, fi);
}

static int op_releasedir(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	free(handle_of(fi));
	return 0;
}

static int op_open(const char *path, struct fuse_file_info *fi)
{
	struct session *s;
	struct process *p;
	struct file *f;
	const char *rest;
	int err;

	p = resolve(path, &rest, &s, &err);
	if (!p)
		return err ? not_found(err) : -EISDIR;
	err = handle_new(path, fi);
	if (!err) {
		err = file_open_session(s, p, rest, fi->flags, &f);
		if (err)
			free(handle_of(fi));
	}
	if (err) {
		if (s)
			session_put(s);
		process_put(p);
		return err;
	}
	handle_of(fi)->file = f;
	fi->direct_io = 1;
	fi->keep_cache = 0;
	fi->noflush = !file_wants_flush(f);
	return 0;
}

static int op_read(const char *path, char *buf, size_t bytes, off_t offset,
		   struct fuse_file_info *fi)
{
	enum file_how read_how = FILE_WAIT;

	(void)path;
	if (bytes > INT_MAX)
		bytes = INT_MAX;
	/* read(2) tells the owner of its locks, what fills the page cache for splice(2) has none */
	if (fi->flags & O_NONBLOCK)
		read_how = FILE_NONBLOCK;
	else if (!fi->lock_owner)
		read_how = FILE_SPLICE;
	return (int)file_read(file_of(fi), buf, bytes, offset, read_how);
}

static int op_write(const char *path, const char *buf, size_t bytes, off_t offset,
		    struct fuse_file_info *fi)
{
	(void)path;
	(void)offset;
	return (int)file_write(file_of(fi), buf, bytes);
}

static int op_flush(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	return file_flush(file_of(fi));
}

static int op_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	file_release(file_of(fi));
	free(handle_of(fi));
	return 0;
}

/* tracefs makes no files but its own. */
static int op_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	(void)path;
	(void)mode;
	(void)fi;
	return -EACCES;
}

static int op_mkdir(const char *path, mode_t mode)
{
	struct session *s;
	struct process *p;
	const char *name;
	int err;

	(void)mode;
	p = resolve_instance(path, &name, &s, &err);
	if (!p)
		return err;
	err = s ? session_mkdir(s, name) : process_mkdir(p, name);
	if (s)
		session_put(s);
	process_put(p);
	return err;
}

static int op_rmdir(const char *path)
{
	struct session *s;
	struct process *p;
	const char *name;
	int err;

	p = resolve_instance(path, &name, &s, &err);
	if (!p)
		return err;
	err = s ? session_rmdir(s, name) : process_rmdir(p, name);
	if (s)
		session_put(s);
	process_put(p);
	return err;
}

static int op_unlink(const char *path)
{
	(void)path;
	return -EPERM;
}

static int op_rename(const char *from, const char *to, unsigned int flags)
{
	(void)from;
	(void)to;
	(void)flags;
	return -EPERM;
}

/* truncate(2) changes nothing that is read. */
static int op_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	(void)path;
	(void)size;
	(void)fi;
	return 0;
}

static int op_poll(const char *path, struct fuse_file_info *fi, struct fuse_pollhandle *handle,
		   unsigned int *events)
{
	(void)path;
	*events = file_poll(file_of(fi), handle);
	return 0;
}

static int op_ioctl(const char *path, unsigned int cmd, void *arg, struct fuse_file_info *fi,
		    unsigned int flags, void *data)
{
	(void)path;
	(void)arg;
	(void)fi;
	(void)flags;
	(void)data;
	/* 0 wakes the waiters of a raw pipe: nobody waits */
	return cmd ? -ENOTTY : 0;
}

/* Does nothing: it ends the sleep. */
static void on_interrupt(int sig)
{
	(void)sig;
}

static void *op_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	struct sigaction sa = {.sa_handler = on_interrupt};

	conn->max_readahead = 0;
	config->nullpath_ok = 1;
	/* a reader that is interrupted wakes the thread that waits for it; libfuse 3 leaves it to us to
	 * have a handler when intr is set here */
	sigaction(config->intr_signal, &sa, NULL);
	config->intr = 1;
	config->entry_timeout = NAME_SECONDS;
	config->attr_timeout = config->negative_timeout = 0;
	return NULL;
}

static const struct fuse_operations operations = {
	.init = op_init,
	.getattr = op_getattr,
	.access = op_access,
	.readlink = op_readlink,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_releasedir,
	.open = op_open,
	.create = op_create,
	.read = op_read,
	.write = op_write,
	.flush = op_flush,
	.release = op_release,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,
	.truncate = op_truncate,
	.poll = op_poll,
	.ioctl = op_ioctl,
};

static int loop(struct fuse *fuse)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int ret;

	if (!config)
		return -ENOMEM;
	fuse_loop_cfg_set_max_threads(config, MAX_THREADS);
	fuse_loop_cfg_set_idle_threads(config, IDLE_THREADS);
	ret = fuse_loop_mt(fuse, config);
	fuse_loop_cfg_destroy(config);
	return ret < 0 ? ret : 0;
}

/* Each process that is looked at has its area open, and a session may have thousands. */
static void allow_files(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int mount_serve(const struct mount_options *options)
{
	char name[] = "vestige", flags[128];
	char opt[] = "-o";
	char *argv[] = {name, opt, flags, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse *fuse;
	int err = 0;

	how = *options;
	started = time(NULL);
	allow_files();
	snprintf(flags, sizeof(flags), "fsname=%s,subtype=vestige%s",
		 how.fsname ? how.fsname : "vestige", how.allow_other ? ",allow_other" : "");
	fuse = fuse_new(&args, &operations, sizeof(operations), NULL);
	fuse_opt_free_args(&args);
	if (!fuse)
		return fail(EINVAL, "cannot set up FUSE");
	if (fuse_mount(fuse, how.dir)) {
		fuse_destroy(fuse);
		return fail(EIO,
			    "cannot mount on %s: is there a /dev/fuse for you, and "
			    "fusermount3 (Debian: fuse3)?",
			    how.dir);
	}
	if (fuse_daemonize(how.foreground))
		err = fail_errno(errno, "cannot go to the background");
	if (!err && fuse_set_signal_handlers(fuse_get_session(fuse)))
		err = fail(EIO, "cannot set signal handlers");
	if (!err) {
		err = loop(fuse);
		fuse_remove_signal_handlers(fuse_get_session(fuse));
		if (err)
			fail_errno(-err, "the mount on %s ended", how.dir);
	}
	sessions_end();
	fuse_unmount(fuse);
	fuse_destroy(fuse);
	return err;
}
