/* SPDX-License-Identifier: MIT */
/*
 * The machine's kernel as a target: its tracefs, and the instances in it. The files are the
 * kernel's own; nothing is kept of them. Not in the table of target.c: the mount shows processes,
 * and the kernel's tree is a mount already. Any thread. Tests: tests/cli/test_kernel.py.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tracefs.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/target/counts.h"
#include "tools/target/target.h"

struct kernel {
	struct target target;
	int dir; /* descriptor of its tracefs, or of the instance's folder */
};

static struct kernel *of(struct target *t)
{
	return (struct kernel *)t;
}

static const char *shown(const char *path)
{
	return *path ? path : ".";
}

/* An instance's name must not leave the folder: no slash, no `..`. */
static bool good_name(const char *instance)
{
	return *instance && !strchr(instance, '/') && strcmp(instance, ".") != 0 &&
	       strcmp(instance, "..") != 0;
}

static void op_put(struct target *t)
{
	close(of(t)->dir);
	free(t);
}

static bool op_lives(struct target *t)
{
	(void)t;
	return true;
}

static struct target *op_first(struct target *t)
{
	struct kernel *k = malloc(sizeof(*k));

	if (!k)
		return NULL;
	*k = *of(t);
	k->dir = fcntl(k->dir, F_DUPFD_CLOEXEC, 0);
	if (k->dir < 0) {
		free(k);
		return NULL;
	}
	return &k->target;
}

/* Files that need an option of the kernel's build; and whether instances have them. */
static const struct {
	const char *name, *config;
	bool of_instances;
} optional[] = {
	{"snapshot", "CONFIG_TRACER_SNAPSHOT", true},
	{"set_ftrace_filter", "CONFIG_DYNAMIC_FTRACE", true},
	{"set_ftrace_notrace", "CONFIG_DYNAMIC_FTRACE", true},
	{"available_filter_functions", "CONFIG_DYNAMIC_FTRACE", false},
	{"set_graph_function", "CONFIG_FUNCTION_GRAPH_TRACER", false},
	{"set_graph_notrace", "CONFIG_FUNCTION_GRAPH_TRACER", false},
	{"max_graph_depth", "CONFIG_FUNCTION_GRAPH_TRACER", false},
	{"stack_trace", "CONFIG_STACK_TRACER", false},
	{"stack_max_size", "CONFIG_STACK_TRACER", false},
	{"kprobe_events", "CONFIG_KPROBE_EVENTS", false},
	{"uprobe_events", "CONFIG_UPROBE_EVENTS", false},
	{"synthetic_events", "CONFIG_SYNTH_EVENTS", false},
};

/* fail() for a file, with the remedy. @err: an errno. */
static int refused(struct target *t, const char *path, int err)
{
	const char *base = strrchr(path, '/');
	size_t i = 0, nr = sizeof(optional) / sizeof(*optional);

	base = base ? base + 1 : path;
	while (i < nr && strcmp(base, optional[i].name) != 0)
		i++;
	if (err == EPERM)
		return fail_errno(err,
				  "%s: the kernel forbids it here, to root too (lockdown, or a "
				  "sandbox); `vestige doctor` shows what it allows, events (-e) "
				  "mostly work",
				  path);
	/* a file of a CPU that is not there */
	if (err == ENOENT && base != path && !faccessat(of(t)->dir, base, F_OK, 0))
		i = nr;
	if (err != ENOENT || i == nr)
		return fail_errno(err, "%s", path);
	/* instances have no instances */
	if (!optional[i].of_instances && faccessat(of(t)->dir, "instances", F_OK, 0))
		return fail_errno(err, "%s: instances do not have it, only the kernel itself (-k)",
				  path);
	return fail_errno(err, "%s: this kernel was built without %s", path, optional[i].config);
}

static int op_find(struct target *t, const char *path, struct target_file *file)
{
	const char *base = strrchr(path, '/');
	struct stat st;

	if (fstatat(of(t)->dir, shown(path), &st, 0))
		return refused(t, path, errno);
	*file = (struct target_file){.is_dir = S_ISDIR(st.st_mode),
				     .mode = st.st_mode & 07777,
				     .uid = st.st_uid,
				     .cpu = UINT32_MAX};
	snprintf(file->name, sizeof(file->name), "%s", base ? base + 1 : path);
	return 0;
}

static int op_files(struct target *t, const char *dir, target_put_file *put, void *arg)
{
	int fd = openat(of(t)->dir, shown(dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC), stop = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		int err = errno;

		if (fd >= 0)
			close(fd);
		return fail_errno(err, "%s", dir);
	}
	while (!stop && (e = readdir(d)))
		if (*e->d_name != '.')
			stop = put(arg, e->d_name, e->d_type == DT_DIR);
	closedir(d);
	return 0;
}

static int op_print(struct target *t, const char *path, struct out *o)
{
	int fd = openat(of(t)->dir, path, O_RDONLY | O_CLOEXEC);
	char text[16384];
	ssize_t n = 0;
	int err;

	if (fd < 0)
		return refused(t, path, errno);
	while (!o->err && (n = read(fd, text, sizeof(text))) > 0)
		out_write(o, text, (size_t)n);
	err = n < 0 ? errno : 0;
	close(fd);
	return err ? refused(t, path, err) : 0;
}

struct names {
	struct out *o;
	struct target *t;
	char at[PATH_MAX];
	int depth;
};

/* A folder of events is entered, instances are targets of their own. */
static int put_names(void *arg, const char *name, bool is_dir)
{
	struct names *n = arg;
	size_t used = strlen(n->at);
	int err = 0;

	if (used + strlen(name) + 2 > sizeof(n->at) || (!used && !strcmp(name, "instances")))
		return 0;
	if (!is_dir) {
		out_printf(n->o, "%s%s\n", n->at, name);
		return n->o->err;
	}
	if (n->depth == 4)
		return 0;
	sprintf(n->at + used, "%s/", name);
	n->depth++;
	err = op_files(n->t, n->at, put_names, n);
	n->depth--;
	n->at[used] = '\0';
	return err;
}

static int op_names(struct target *t, struct out *o)
{
	struct names n = {.o = o, .t = t};

	return op_files(t, "", put_names, &n);
}

static int op_records(struct target *t, struct reader **r)
{
	(void)t;
	*r = NULL;
	return fail(ENOTSUP, "the kernel's buffer is not read as records: `vestige show -k` prints "
			     "it, `vestige extract -k` writes a trace.dat of it");
}

static int op_counts(struct target *t, struct counts *c)
{
	struct target_text text;
	char path[64];
	int err = 0;

	for (int cpu = 0; !err; cpu++) {
		struct target_file file;

		snprintf(path, sizeof(path), "trace_stat/function%d", cpu);
		if (op_find(t, path, &file))
			break;
		err = target_read(t, path, &text);
		if (err)
			break;
		err = counts_stat_text(c, text.at);
		free(text.at);
	}
	return err;
}

/*
 * Is it a hist trigger, and a kernel that has none (without CONFIG_HIST_TRIGGERS)? Then an event
 * has no file hist either.
 */
static bool lacks_hist(struct target *t, const char *path, const char *text, size_t n)
{
	const char *base = strrchr(path, '/');
	char file[PATH_MAX];

	if (!base || strcmp(base, "/trigger") != 0 || n < 4 || memcmp(text, "hist", 4) != 0)
		return false;
	return snprintf(file, sizeof(file), "%.*s/hist", (int)(base - path), path) <
		       (int)sizeof(file) &&
	       faccessat(of(t)->dir, file, F_OK, 0) && errno == ENOENT;
}

static int op_write(struct target *t, const char *path, const char *text, size_t n, bool truncate,
		    int tid)
{
	int fd = openat(of(t)->dir, path, O_WRONLY | O_CLOEXEC | (truncate ? O_TRUNC : O_APPEND));
	int err = 0;

	(void)tid;
	if (fd < 0)
		return refused(t, path, errno);
	/* an empty text: opening the file (O_TRUNC) was the write */
	for (size_t done = 0; done < n && !err;) {
		/* of a list the kernel takes one word at a time */
		ssize_t got = write(fd, text + done, n - done);

		err = got > 0 ? 0 : got ? errno : EIO;
		done += got > 0 ? (size_t)got : 0;
	}
	if (close(fd) && !err)
		err = errno;
	if (err == EINVAL && lacks_hist(t, path, text, n))
		return fail_errno(err,
				  "%s: this kernel has no hist triggers (it was built without "
				  "CONFIG_HIST_TRIGGERS)",
				  path);
	return err ? refused(t, path, err) : 0;
}

static int op_mkdir(struct target *t, const char *instance)
{
	char path[NAME_MAX + 16];

	snprintf(path, sizeof(path), "instances/%s", instance);
	if (!good_name(instance) || mkdirat(of(t)->dir, path, 0750))
		return fail_errno(good_name(instance) ? errno : EINVAL, "%s", path);
	return 0;
}

static int op_rmdir(struct target *t, const char *instance)
{
	char path[NAME_MAX + 16];

	snprintf(path, sizeof(path), "instances/%s", instance);
	if (!good_name(instance) || unlinkat(of(t)->dir, path, AT_REMOVEDIR))
		return fail_errno(good_name(instance) ? errno : EINVAL, "%s", path);
	return 0;
}

static void op_opened(struct target *t, int change)
{
	(void)t;
	(void)change;
}

static int op_pipe_open(struct target *t, unsigned int cpu, void **pipe)
{
	char path[64] = "trace_pipe";
	int *fd = malloc(sizeof(*fd));

	if (!fd)
		return fail(ENOMEM, "out of memory");
	if (cpu != UINT32_MAX)
		snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe", cpu);
	*fd = openat(of(t)->dir, path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0) {
		int err = errno;

		free(fd);
		return fail_errno(err, "%s", path);
	}
	*pipe = fd;
	return 0;
}

static bool op_pipe_ready(void *pipe)
{
	struct pollfd p = {*(int *)pipe, POLLIN, 0};

	return poll(&p, 1, 0) > 0;
}

static ssize_t op_pipe_read(void *pipe, char *buf, size_t bytes, bool nonblock,
			    int (*interrupted)(void))
{
	struct pollfd p = {*(int *)pipe, POLLIN, 0};
	ssize_t n;

	for (;;) {
		int ready = poll(&p, 1, nonblock ? 0 : 50);

		if (ready > 0)
			break;
		if (nonblock)
			return -EAGAIN;
		if (interrupted && interrupted())
			return -EINTR;
	}
	n = read(p.fd, buf, bytes);
	return n < 0 ? -errno : n;
}

static void op_pipe_close(struct target *t, unsigned int cpu, void *pipe)
{
	(void)t;
	(void)cpu;
	close(*(int *)pipe);
	free(pipe);
}

static const struct target_ops kernel_ops = {
	.put = op_put,
	.first = op_first,
	.lives = op_lives,
	.find = op_find,
	.files = op_files,
	.print = op_print,
	.names = op_names,
	.records = op_records,
	.counts = op_counts,
	.write = op_write,
	.mkdir = op_mkdir,
	.rmdir = op_rmdir,
	.opened = op_opened,
	.pipe_open = op_pipe_open,
	.pipe_read = op_pipe_read,
	.pipe_ready = op_pipe_ready,
	.pipe_close = op_pipe_close,
};

/* libtracefs takes the first mount point, which may be the one in debugfs. */
static const char *tracefs_root(void)
{
	static char usual[] = "/sys/kernel/tracing";
	static bool set;

	if (!set && !access("/sys/kernel/tracing/trace", F_OK))
		tracefs_set_tracing_dir(usual);
	set = true;
	return tracefs_tracing_dir();
}

struct target *target_kernel(const char *instance, int *err)
{
	const char *root = tracefs_root();
	struct target *t;
	char path[PATH_MAX];

	if (!root) {
		*err = fail(ENOENT, "the kernel's tracefs is not mounted, or may not be mounted: "
				    "`mount -t tracefs tracefs /sys/kernel/tracing` as root");
		return NULL;
	}
	if (instance && !good_name(instance)) {
		*err = fail_errno(EINVAL, "'%s' is no name of an instance", instance);
		return NULL;
	}
	snprintf(path, sizeof(path), instance ? "%s/instances/%s" : "%s", root, instance);
	t = target_kernel_at(path, err);
	if (!t && *err == -ENOENT && instance)
		*err = fail_errno(ENOENT,
				  "the kernel has no instance '%s' (`vestige list -k -B` shows "
				  "those that it has)",
				  instance);
	return t;
}

struct target *target_kernel_at(const char *dir, int *err)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k) {
		*err = fail(ENOMEM, "out of memory");
		return NULL;
	}
	k->target.ops = &kernel_ops;
	snprintf(k->target.name, sizeof(k->target.name), "kernel");
	k->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k->dir >= 0)
		return &k->target;
	*err = errno == EACCES
		       ? fail_errno(EACCES,
				    "the kernel's tracefs is root's: run this as root (sudo): "
				    "%s",
				    dir)
		       : fail_errno(errno, "%s", dir);
	free(k);
	return NULL;
}
