/* SPDX-License-Identifier: MIT */
/*
 * See kernel.h. The instance's clock is mono, CLOCK_MONOTONIC, as for our stamps. So stamps are not
 * converted, and marks (kernel_marks.h) check that they agree. The recorder reads pages every 10
 * ms. At the end they are written to a trace.dat of version 6, for the reader of trace.dat. Tests:
 * tests/cli/test_record_kernel.py.
 */
#include "tools/record/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/move_bytes.h"
#include "tools/base/note.h"
#include "tools/base/time_ns.h"
#include "tools/dat/dat_format.h"
#include "tools/export/dat_sections.h"
#include "tools/record/kernel_choose.h"
#include "tools/record/kernel_marks.h"
#include "tools/record/kernel_meta.h"
#include "tools/target/target.h"

#define PREFIX	     "vestige."
#define LOCK_FILE    "tracing_on"
#define BUFFER_KB    "8192"
#define BUFFER_BYTES (UINT64_C(8192) * 1024)
#define DRAIN_NS     10000000u
#define BALLAST	     (4 << 20) /* more than the formats of all events */
#define RESERVE_PART 8u /* this part of the free disk is for the program's records, at most: */
#define RESERVE	     (UINT64_C(256) << 20)
#define LOOK_PAGES   16u /* pages between two checks of the free disk */

struct cpu {
	int from; /* its trace_pipe_raw; -1: it is offline */
	int fd;	  /* of the file without a name for its pages */
	uint64_t bytes;
	void *held; /* the page behind them that the disk had no room for; NULL: none */
	struct reader_cpu_stats stats; /* of the kernel's buffer, at the end */
};

struct kernel_record {
	char name[KERNEL_INSTANCE_BYTES];
	struct target *top, *at; /* the kernel, and the instance */
	int lock;
	unsigned int nr_cpus;
	struct cpu *cpus;
	uint32_t page_bytes;
	void *page;
	struct kernel_marks marks;
	int ballast;	  /* a file without a name that reserves disk space for all but the pages */
	uint64_t reserve; /* bytes of the disk that are for the program's records */
	unsigned int pages;  /* since the last check of the free disk */
	int full;	     /* errno of a write when the disk was full; 0: it has space */
	uint64_t drained_ns; /* time of the last drain */
};

/* A lock on an instance that ends with its holder. Return: it, or -errno without fail(). */
static int take_lock(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/instances/%s/" LOCK_FILE, tracefs_tracing_dir(), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	close(fd);
	return -EBUSY;
}

static int remove_dead(struct target *top, const char *name)
{
	int lock = take_lock(name);

	if (lock < 0)
		return lock;
	close(lock);
	return top->ops->rmdir(top, name);
}

static void name_instance(char name[KERNEL_INSTANCE_BYTES], int pid)
{
	snprintf(name, KERNEL_INSTANCE_BYTES, PREFIX "%d", pid);
}

static int make_instance(struct kernel_record *k)
{
	int err;

	name_instance(k->name, getpid());
	err = k->top->ops->mkdir(k->top, k->name);
	/* an instance of an earlier process with our PID */
	if (err == -EEXIST && !remove_dead(k->top, k->name))
		err = k->top->ops->mkdir(k->top, k->name);
	if (err) {
		k->name[0] = '\0';
		return err;
	}
	k->lock = take_lock(k->name);
	k->at = target_kernel(k->name, &err);
	if (k->lock >= 0 && k->at)
		return 0;
	return k->at ? fail(EIO, "cannot use the kernel's instance %s", k->name) : err;
}

/* A file without a name for a CPU's pages, in the folder of the output. */
static int open_spool(const char *output)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s.XXXXXX.tmp", output) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemps(path, 4, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

/* Reserve disk space for the data that is written at the end: up to 4 MiB. */
static void take_ballast(struct kernel_record *k, const char *output)
{
	k->ballast = open_spool(output);
	for (off_t bytes = BALLAST; k->ballast >= 0 && bytes >= BALLAST / 16; bytes /= 2)
		if (!posix_fallocate(k->ballast, 0, bytes))
			return;
}

/* The free bytes of the disk of @fd; UINT64_MAX: not known. */
static uint64_t free_bytes(int fd)
{
	struct statvfs st;

	return fstatvfs(fd, &st) ? UINT64_MAX : (uint64_t)st.f_bavail * st.f_frsize;
}

/* Reserve disk space for the program's records, since the kernel makes many more. */
static void take_reserve(struct kernel_record *k)
{
	uint64_t bytes = k->ballast < 0 ? UINT64_MAX : free_bytes(k->ballast);

	if (bytes == UINT64_MAX)
		return;
	bytes /= RESERVE_PART;
	k->reserve = bytes < RESERVE ? bytes : RESERVE;
}

static void drop_ballast(struct kernel_record *k)
{
	if (k->ballast >= 0)
		close(k->ballast);
	k->ballast = -1;
}

/* Open a file close-on-exec; libtracefs does not, so the program would inherit it. */
static int open_file(const struct kernel_record *k, const char *file, int flags)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/instances/%s/%s", tracefs_tracing_dir(), k->name, file);
	return open(path, flags | O_CLOEXEC);
}

static int open_raw(const struct kernel_record *k, unsigned int cpu)
{
	char file[64];

	snprintf(file, sizeof(file), "per_cpu/cpu%u/trace_pipe_raw", cpu);
	return open_file(k, file, O_RDONLY | O_NONBLOCK);
}

/* The size of sub-buffers; a kernel without the file has the page size. */
static uint32_t subbuf_bytes(const struct kernel_record *k)
{
	unsigned long kb = 0;
	struct target_text text;

	if (!target_read(k->at, "buffer_subbuf_size_kb", &text)) {
		kb = strtoul(text.at, NULL, 10);
		free(text.at);
	}
	return kb && kb < 1024 ? (uint32_t)kb * 1024 : (uint32_t)sysconf(_SC_PAGESIZE);
}

static int open_cpus(struct kernel_record *k, const char *output)
{
	long nr = sysconf(_SC_NPROCESSORS_CONF);

	k->cpus = calloc(nr > 0 ? (size_t)nr : 1, sizeof(*k->cpus));
	if (!k->cpus)
		return fail(ENOMEM, "out of memory");
	for (long i = 0; i < nr; i++)
		k->cpus[k->nr_cpus++] = (struct cpu){.from = -1, .fd = -1};
	for (unsigned int i = 0; i < k->nr_cpus; i++) {
		struct cpu *c = &k->cpus[i];

		c->from = open_raw(k, i);
		if (c->from < 0)
			continue;
		c->fd = open_spool(output);
		if (c->fd < 0)
			return fail_errno(-c->fd, "cannot make a file beside '%s'", output);
	}
	k->page_bytes = subbuf_bytes(k);
	k->page = malloc(k->page_bytes);
	return k->page ? 0 : fail(ENOMEM, "out of memory");
}

int kernel_record_new(const struct kernel_wish *wish, const char *output,
		      struct kernel_record **out)
{
	static const struct {
		const char *file, *text;
	} settings[] = {
		{"tracing_on", "0"}, {"trace_clock", "mono"}, {"buffer_size_kb", BUFFER_KB}};
	struct kernel_record *k = calloc(1, sizeof(*k));
	int err = 0;

	if (!k)
		return fail(ENOMEM, "out of memory");
	k->lock = -1;
	k->ballast = -1;
	k->top = target_kernel(NULL, &err);
	if (k->top)
		err = make_instance(k);
	for (size_t i = 0; !err && i < sizeof(settings) / sizeof(*settings); i++)
		err = target_set(k->at, settings[i].file, settings[i].text);
	if (!err)
		err = kernel_choose(k->top, k->at, wish);
	if (!err)
		err = open_cpus(k, output);
	if (!err) {
		take_ballast(k, output);
		take_reserve(k);
		*out = k;
		return 0;
	}
	kernel_record_free(k);
	return err;
}

static void close_instance(struct kernel_record *k)
{
	for (unsigned int i = 0; i < k->nr_cpus; i++) {
		if (k->cpus[i].from >= 0)
			close(k->cpus[i].from);
		k->cpus[i].from = -1;
	}
	target_put(k->at);
	k->at = NULL;
	if (k->lock >= 0)
		close(k->lock);
	k->lock = -1;
	if (k->name[0])
		k->top->ops->rmdir(k->top, k->name);
	k->name[0] = '\0';
}

void kernel_record_free(struct kernel_record *k)
{
	char why[1024];

	if (!k)
		return;
	snprintf(why, sizeof(why), "%s", fail_text());
	close_instance(k);
	target_put(k->top);
	drop_ballast(k);
	for (unsigned int i = 0; i < k->nr_cpus; i++) {
		if (k->cpus[i].fd >= 0)
			close(k->cpus[i].fd);
		free(k->cpus[i].held);
	}
	free(k->cpus);
	free(k->page);
	free(k);
	/* restore the error text of the caller */
	fail(EIO, "%s", why);
}

/* Marks that show how near the kernel's stamps are to ours. */
static void put_marks(struct kernel_record *k)
{
	int fd = open_file(k, "trace_marker", O_WRONLY);

	if (fd < 0)
		return;
	kernel_marks_put(&k->marks, fd);
	close(fd);
}

int kernel_record_limit(struct kernel_record *k, const int *pids, unsigned int nr)
{
	return kernel_choose_threads(k->at, pids, nr);
}

int kernel_record_start(struct kernel_record *k)
{
	int err = target_set(k->at, "tracing_on", "1");

	if (!err)
		put_marks(k);
	return err;
}

/* The used bytes of a page: the long behind its stamp. */
static uint64_t committed(const void *page)
{
	uint64_t commit;

	memcpy(&commit, (const char *)page + 8, sizeof(commit));
	return commit & SUBBUF_COMMIT_MASK;
}

static bool disk_has_room(struct kernel_record *k, const struct cpu *c)
{
	if (k->pages++ % LOOK_PAGES)
		return true;
	return free_bytes(c->fd) >= k->reserve;
}

/*
 * Append a page to the CPU's others. If the disk is full it is kept in memory, and is the last one.
 */
static int keep_page(struct kernel_record *k, struct cpu *c)
{
	uint32_t done = 0;
	ssize_t n = 0;

	while (done < k->page_bytes && disk_has_room(k, c)) {
		n = pwrite(c->fd, (char *)k->page + done, k->page_bytes - done,
			   (off_t)(c->bytes + done));
		if (n <= 0)
			break;
		done += (uint32_t)n;
	}
	if (done == k->page_bytes) {
		c->bytes += k->page_bytes;
		return 0;
	}
	k->full = n < 0 ? errno : ENOSPC;
	if (ftruncate(c->fd, (off_t)c->bytes))
		note("the kernel's records: a part of a page stays behind them");
	c->held = malloc(k->page_bytes);
	if (c->held)
		memcpy(c->held, k->page, k->page_bytes);
	return fail_errno(k->full,
			  "the kernel's records that come from here on are lost, those until here "
			  "are kept");
}

/*
 * Drain a CPU. While it records, stop at a page that is not full, since our own writes make events.
 */
static int drain_cpu(struct kernel_record *k, struct cpu *c, bool to_end)
{
	ssize_t n;

	while (c->from >= 0 && !k->full && (n = read(c->from, k->page, k->page_bytes)) > 0) {
		memset((char *)k->page + n, 0, k->page_bytes - (size_t)n);
		if (keep_page(k, c))
			return -k->full;
		if (!to_end && committed(k->page) < k->page_bytes / 4 * 3)
			break;
	}
	return 0;
}

static int drain(struct kernel_record *k, bool to_end)
{
	int err = 0;

	for (unsigned int i = 0; i < k->nr_cpus && !err; i++)
		err = drain_cpu(k, &k->cpus[i], to_end);
	return err;
}

int kernel_record_drain(struct kernel_record *k)
{
	uint64_t now = time_ns(CLOCK_MONOTONIC);

	if (now - k->drained_ns < DRAIN_NS)
		return 0;
	k->drained_ns = now;
	return drain(k, false);
}

static void take_stats(struct kernel_record *k)
{
	for (unsigned int i = 0; i < k->nr_cpus; i++) {
		char path[64];
		struct target_text text;

		snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", i);
		if (k->cpus[i].from < 0 || target_read(k->at, path, &text))
			continue;
		kernel_meta_stats(text.at, &k->cpus[i].stats);
		free(text.at);
	}
}

static int write_failed(void)
{
	return fail_errno(errno, "cannot write the kernel's records");
}

/*
 * Write a CPU's pages. @punch: free their disk space in the file without a name as they are copied.
 */
static int put_cpu(const struct kernel_record *k, const struct cpu *c, FILE *f, bool punch)
{
	int err = move_bytes(c->fd, c->bytes, f, punch);

	if (err)
		return fail_errno(-err, "cannot write the kernel's records");
	if (c->held && fwrite(c->held, 1, k->page_bytes, f) != k->page_bytes)
		return write_failed();
	return 0;
}

static int put_cpus(struct kernel_record *k, FILE *f, bool punch)
{
	uint64_t at;
	int err = 0;

	fwrite("flyrecord", 10, 1, f);
	at = (uint64_t)ftell(f) + k->nr_cpus * sizeof(uint64_t[2]);
	at = (at + k->page_bytes - 1) / k->page_bytes * k->page_bytes;
	for (unsigned int i = 0; i < k->nr_cpus; i++) {
		uint64_t bytes = k->cpus[i].bytes + (k->cpus[i].held ? k->page_bytes : 0);

		dat_put_u64(f, at);
		dat_put_u64(f, bytes);
		at += bytes;
	}
	while ((uint64_t)ftell(f) % k->page_bytes)
		fputc(0, f);
	/* before the first page is freed */
	err = stream_error(f);
	if (err)
		return fail_errno(-err, "cannot write the kernel's records");
	for (unsigned int i = 0; i < k->nr_cpus && !err; i++)
		err = put_cpu(k, &k->cpus[i], f, punch);
	return err;
}

/* Version 6, for reader_open_dat(): names of functions are the caller's. */
static int put_file(struct kernel_record *k, FILE *f, bool punch)
{
	static const char clock[] = "[mono]\n";
	int err;

	fwrite(DAT_MAGIC, DAT_MAGIC_BYTES, 1, f);
	fwrite("6\0\0\10", 4, 1, f);
	dat_put_u32(f, k->page_bytes);
	dat_section_header_info(f, NULL);
	err = kernel_meta_put_ftrace(k->top, f);
	if (!err)
		err = kernel_meta_put_events(k->top, k->at, f);
	dat_put_u32(f, 0); /* kallsyms */
	dat_put_u32(f, 0); /* printk */
	if (!err)
		err = kernel_meta_put_names(k->top, f);
	if (err)
		return err;
	dat_put_u32(f, k->nr_cpus);
	fwrite("options  ", 10, 1, f);
	dat_option_put(f, DAT_TRACECLOCK, clock, sizeof(clock));
	dat_put_u16(f, DAT_DONE);
	return put_cpus(k, f, punch);
}

/* A new file, for the owner alone. It follows no link that another user has laid there. */
static FILE *create(const char *path)
{
	FILE *f;
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* @punch: see put_cpu(); then the file is kept also after an error. */
static int write_once(struct kernel_record *k, const char *path, bool punch)
{
	FILE *f = create(path);
	int err, bad;

	if (!f)
		return fail_errno(errno, "cannot write '%s'", path);
	err = put_file(k, f, punch);
	bad = err ? 0 : stream_error(f);
	if (bad)
		err = fail_errno(-bad, "cannot write '%s'", path);
	if (fclose(f) && !err)
		err = fail_errno(errno, "cannot write '%s'", path);
	if (err && !punch)
		unlink(path);
	return err;
}

/* On a full disk the pages are moved. @move: that is allowed, since they are not needed again. */
static int write_file(struct kernel_record *k, const char *path, bool move)
{
	int err = write_once(k, path, false);

	/* free them: the files written next need the space */
	for (unsigned int i = 0; move && !err && i < k->nr_cpus; i++)
		if (k->cpus[i].fd >= 0 && ftruncate(k->cpus[i].fd, 0))
			return write_failed();
	if (!move || (err != -ENOSPC && err != -EDQUOT))
		return err;
	return write_once(k, path, true);
}

/* Keep only the newest pages of a CPU, as many as its buffer has. */
static int trim(struct kernel_record *k, struct cpu *c)
{
	uint64_t most = BUFFER_BYTES / k->page_bytes * k->page_bytes;
	uint64_t from = c->bytes > most ? c->bytes - most : 0;

	if (c->fd < 0 || !from)
		return 0;
	for (uint64_t at = 0; at < most; at += k->page_bytes)
		if (pread(c->fd, k->page, k->page_bytes, (off_t)(from + at)) !=
			    (ssize_t)k->page_bytes ||
		    pwrite(c->fd, k->page, k->page_bytes, (off_t)at) != (ssize_t)k->page_bytes)
			return fail_errno(errno ? errno : EIO, "cannot keep the kernel's records");
	c->bytes = most;
	if (ftruncate(c->fd, (off_t)most) || lseek(c->fd, (off_t)most, SEEK_SET) < 0)
		return fail_errno(errno, "cannot keep the kernel's records");
	return 0;
}

int kernel_record_save(struct kernel_record *k, const char *path)
{
	int err = target_set(k->at, "tracing_on", "0"), on;

	if (!err)
		err = drain(k, true);
	if (k->full) { /* what was read is written; the disk may have room the next time */
		note("%s", fail_text());
		k->full = 0;
		err = 0;
	}
	on = target_set(k->at, "tracing_on", "1");
	if (!err)
		err = on;
	if (!err)
		err = write_file(k, path, false);
	for (unsigned int i = 0; i < k->nr_cpus && !err; i++)
		err = trim(k, &k->cpus[i]);
	for (unsigned int i = 0; i < k->nr_cpus; i++) {
		free(k->cpus[i].held);
		k->cpus[i].held = NULL;
	}
	return err;
}

int kernel_record_end(struct kernel_record *k, const char *path)
{
	int err;

	put_marks(k);
	err = target_set(k->at, "tracing_on", "0");
	if (!err)
		err = drain(k, true);
	if (err && !k->full)
		return err;
	take_stats(k);
	drop_ballast(k);
	err = write_file(k, path, true);
	close_instance(k);
	return err;
}

uint64_t kernel_record_lost(const struct kernel_record *k)
{
	uint64_t lost = 0;

	for (unsigned int i = 0; i < k->nr_cpus; i++)
		lost += k->cpus[i].stats.overrun + k->cpus[i].stats.dropped_events;
	return lost;
}

uint64_t kernel_record_left(const struct kernel_record *k)
{
	uint64_t left = 0;

	for (unsigned int i = 0; i < k->nr_cpus && k->full; i++)
		left += k->cpus[i].stats.entries;
	return left;
}

const struct reader_cpu_stats *kernel_record_stats(const struct kernel_record *k, unsigned int cpu)
{
	return cpu < k->nr_cpus ? &k->cpus[cpu].stats : NULL;
}

int kernel_record_check(const struct kernel_record *k, struct reader *r, uint64_t *bracket_ns,
			uint64_t *off_ns)
{
	return kernel_marks_check(&k->marks, r, bracket_ns, off_ns);
}

bool kernel_record_is_left(int pid, char name[KERNEL_INSTANCE_BYTES])
{
	const char *tracing = tracefs_tracing_dir();
	char path[PATH_MAX];

	name_instance(name, pid);
	if (!tracing)
		return false;
	snprintf(path, sizeof(path), "%s/instances/%s", tracing, name);
	return !access(path, F_OK);
}

struct cleaning {
	struct target *top;
	void (*report)(const char *path);
	bool dry;
	int err;
};

static int clean_instance(void *arg, const char *name, bool is_dir)
{
	struct cleaning *c = arg;
	const char *number;
	char path[PATH_MAX];
	int lock;

	if (!is_dir || strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return 0;
	number = name + strlen(PREFIX);
	if (!*number || number[strspn(number, "0123456789")])
		return 0;
	/* its recorder may have just made it and not locked it yet */
	if (!kill((pid_t)strtol(number, NULL, 10), 0) || errno == EPERM)
		return 0;
	lock = take_lock(name);
	if (lock < 0)
		return 0;
	close(lock);
	if (!c->dry) {
		int err = c->top->ops->rmdir(c->top, name);

		if (err) {
			c->err = err;
			return 0;
		}
	}
	snprintf(path, sizeof(path), "%s/instances/%s", tracefs_tracing_dir(), name);
	c->report(path);
	return 0;
}

int kernel_record_clean(bool dry, void (*report)(const char *path))
{
	struct cleaning c = {.report = report, .dry = dry};
	int err = 0;

	/* in a tracefs that we cannot write there is no instance of ours */
	if (access("/sys/kernel/tracing/instances", W_OK))
		return 0;
	c.top = target_kernel(NULL, &err);
	if (!c.top)
		return 0;
	err = c.top->ops->files(c.top, "instances", clean_instance, &c);
	target_put(c.top);
	return c.err ? c.err : err;
}
