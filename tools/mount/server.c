/* SPDX-License-Identifier: MIT */
/*
 * The FUSE server: finds the target and file of a path, and passes the kernel's calls to file.h.
 *
 * The kernel caches names for a second and nothing else. Attributes are requested each time, so a
 * removed file is not found by its cached name, and failed lookups are not cached. Files are
 * direct_io with size 0, as in tracefs. Each request has a thread of its own, so a process that
 * does not answer delays only the requests to it. tools/mount/mount.h describes the tree. Tests:
 * tests/tracefs/.
 */
#define FUSE_USE_VERSION 314

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <fuse3/fuse_lowlevel.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/file_limit.h"
#include "tools/mount/file.h"
#include "tools/mount/mount.h"
#include "tools/target/target.h"
#include "tools/text/out.h"

#define INSTANCES    "instances/"
#define KERNEL_LINK  "kernel"
#define KERNEL_TRACE "/sys/kernel/tracing"
#define ENDLESS	     ((off_t)1 << 40)
#define MAX_THREADS  4096
#define IDLE_THREADS 4
#define NAME_SECONDS 1.0

static struct mount_options how;
static time_t started;
static uid_t user;
static gid_t group;

/* The part of @rest behind `instances/NAME`, with NAME copied; NULL: it is not in an instance. */
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
 * The target of @path, and the rest of the path ("" for its root).
 * @instance: NULL, or set to whether it is an instance.
 * Return: the target with a reference; NULL with *@err: 0 for the mount's own root and files.
 */
static struct target *resolve(const char *path, const char **rest, bool *instance, int *err)
{
	const char *first = path + 1, *inside, *end;
	char name[64], *copy = NULL;
	struct target *t;

	*err = 0;
	*rest = "";
	if (!how.target && (!*first || !strcmp(first, KERNEL_LINK)))
		return NULL;
	end = how.target ? first : strchrnul(first, '/');
	*rest = how.target ? first : *end ? end + 1 : end;
	inside = split_instance(*rest, name);
	if (inside)
		*rest = inside;
	if (instance)
		*instance = inside;
	if (!how.target)
		copy = strndup(first, (size_t)(end - first));
	if (!how.target && !copy) {
		*err = -ENOMEM;
		return NULL;
	}
	t = target_get(how.target ? how.target : copy, inside ? name : NULL, err);
	free(copy);
	return t;
}

/* The target and the name of `.../instances/NAME`; NULL with *@err: it is nothing of that kind. */
static struct target *resolve_instance(const char *path, const char **name, int *err)
{
	const char *slash = strrchr(path, '/'), *rest;
	char *dir = strndup(path, (size_t)(slash - path));
	struct target *t = NULL;
	bool instance;

	*err = -EPERM;
	*name = slash + 1;
	if (!dir)
		*err = -ENOMEM;
	else if (*dir)
		t = resolve(dir, &rest, &instance, err);
	if (t && (strcmp(rest, "instances") || instance)) {
		target_put(t);
		t = NULL;
		*err = -EPERM;
	} else if (!t && !*err) {
		*err = -EPERM;
	}
	free(dir);
	return t;
}

/*
 * An open file: fi->fh points here, since FUSE gives no path of an open file. All are in a list:
 * after an umount of a file that was just closed, or a lazy umount with open files, no release
 * comes.
 */
struct handle {
	struct handle *next, **before; /* under opened_lock */
	struct file *file;	       /* NULL: a folder */
	char path[];
};

static struct handle *opened;
static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;

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
	pthread_mutex_lock(&opened_lock);
	h->next = opened;
	h->before = &opened;
	if (opened)
		opened->before = &h->next;
	opened = h;
	pthread_mutex_unlock(&opened_lock);
	fi->fh = (uintptr_t)h;
	return 0;
}

static void handle_free(struct handle *h)
{
	pthread_mutex_lock(&opened_lock);
	*h->before = h->next;
	if (h->next)
		h->next->before = h->before;
	pthread_mutex_unlock(&opened_lock);
	if (h->file)
		file_release(h->file);
	free(h);
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
	struct target_file at;
	struct target *t;
	const char *rest;
	int err;

	if (!path)
		path = handle_of(fi)->path;
	memset(st, 0, sizeof(*st));
	st->st_uid = user;
	st->st_gid = group;
	st->st_atime = st->st_mtime = st->st_ctime = started;
	t = resolve(path, &rest, NULL, &err);
	if (!t) {
		if (err)
			return not_found(err);
		fill_dir(st, 0755);
		if (path[1]) {
			st->st_mode = S_IFLNK | 0777;
			st->st_nlink = 1;
		}
		return 0;
	}
	err = t->ops->find(t, rest, &at);
	if (!err)
		st->st_uid = at.uid;
	if (!err && at.is_dir) {
		fill_dir(st, at.mode);
	} else if (!err) {
		st->st_mode = S_IFREG | (at.mode & 0770); /* tracefs is not for others */
		st->st_nlink = 1;
		/* splice(2) reads up to the size of the file: a huge size makes it read from us */
		if (!strcmp(at.name, "trace_pipe_raw"))
			st->st_size = ENDLESS;
	}
	target_put(t);
	return err;
}

/* The kernel may have cached the name, so look it up. */
static int op_access(const char *path, int mask)
{
	struct stat st;

	(void)mask;
	return op_getattr(path, &st, NULL);
}

static int op_readlink(const char *path, char *buf, size_t bytes)
{
	if (how.target || strcmp(path + 1, KERNEL_LINK))
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

static int fill_target(void *arg, const char *name)
{
	return fill_file(arg, name, true);
}

static int op_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
		      struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	struct filling f = {buf, fill};
	struct stat link = {.st_mode = S_IFLNK};
	struct target *t;
	const char *rest;
	int err;

	(void)path;
	(void)offset;
	(void)flags;
	t = resolve(handle_of(fi)->path, &rest, NULL, &err);
	if (!t && err)
		return not_found(err);
	fill(buf, ".", NULL, 0, 0);
	fill(buf, "..", NULL, 0, 0);
	if (!t) {
		target_list(fill_target, &f);
		fill(buf, KERNEL_LINK, &link, 0, 0);
		return 0;
	}
	err = t->ops->files(t, rest, fill_file, &f);
	target_put(t);
	return err;
}

static int op_opendir(const char *path, struct fuse_file_info *fi)
{
	return handle_new(path, fi);
}

static int op_releasedir(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	handle_free(handle_of(fi));
	return 0;
}

static int op_open(const char *path, struct fuse_file_info *fi)
{
	struct target *t;
	struct file *f;
	const char *rest;
	int err;

	t = resolve(path, &rest, NULL, &err);
	if (!t)
		return err ? not_found(err) : -EISDIR;
	err = handle_new(path, fi);
	if (!err) {
		err = file_open(t, rest, fi->flags, &f);
		if (err)
			handle_free(handle_of(fi));
	}
	if (err) {
		target_put(t);
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
	/* a read(2) has a lock owner; a read into the page cache for splice(2) has none */
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
	handle_free(handle_of(fi));
	return 0;
}

/* In tracefs no user can make files. */
static int op_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	(void)path;
	(void)mode;
	(void)fi;
	return -EACCES;
}

static int op_mkdir(const char *path, mode_t mode)
{
	struct target *t;
	const char *name;
	int err;

	(void)mode;
	t = resolve_instance(path, &name, &err);
	if (!t)
		return err;
	err = t->ops->mkdir(t, name);
	target_put(t);
	return err;
}

static int op_rmdir(const char *path)
{
	struct target *t;
	const char *name;
	int err, tries = 0;

	t = resolve_instance(path, &name, &err);
	if (!t)
		return err;
	do {
		err = t->ops->rmdir(t, name);
	} while (file_close_comes(err, &tries));
	target_put(t);
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

/* truncate(2) has no effect. */
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
	*events = file_poll(file_of(fi), handle, fi->poll_events);
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
	/* 0 wakes the readers that wait for a raw pipe; here none wait */
	return cmd ? -ENOTTY : 0;
}

/* Does nothing: the signal ends a sleep. */
static void on_interrupt(int sig)
{
	(void)sig;
}

static void *op_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	struct sigaction sa = {.sa_handler = on_interrupt};

	conn->max_readahead = 0;
	/* with it only a fatal signal would interrupt a splice() that waits for us */
	conn->want &= ~FUSE_CAP_ASYNC_READ;
	config->nullpath_ok = 1;
	/*
	 * when a reader is interrupted, libfuse sends this signal to the thread that serves it;
	 * with intr set here we must install the handler
	 */
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

/* Make a relative VESTIGE_DIR absolute: in the background the server's folder is the root. */
static int keep_areas_dir(void)
{
	const char *dir = getenv("VESTIGE_DIR");
	char here[PATH_MAX], *path;
	int err;

	if (!dir || !*dir || *dir == '/')
		return 0;
	if (!getcwd(here, sizeof(here)))
		return fail_errno(errno,
				  "VESTIGE_DIR is relative, and the current folder has no path");
	if (asprintf(&path, "%s/%s", here, dir) < 0)
		return fail(ENOMEM, "out of memory");
	err = setenv("VESTIGE_DIR", path, 1);
	free(path);
	return err ? fail(ENOMEM, "out of memory") : 0;
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
	user = geteuid();
	group = getegid();
	err = keep_areas_dir();
	if (err)
		return err;
	targets_serve(true);
	/* each process in use has its area open, a session perhaps thousands */
	file_limit_raise();
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
		/* readers of the mount expect the kernel's text, without escapes */
		out_terminal(false);
		err = loop(fuse);
		fuse_remove_signal_handlers(fuse_get_session(fuse));
		if (err)
			fail_errno(-err, "the mount on %s ended", how.dir);
	}
	while (opened)
		handle_free(opened);
	targets_serve(false);
	fuse_unmount(fuse);
	fuse_destroy(fuse);
	return err;
}
