/* SPDX-License-Identifier: MIT */
/*
 * See area_dead.h. A process that ends by itself removes its area if it has nothing to read
 * (control/boot.c). A killed process cannot, so processes that start or end later do it. Owns
 * nothing: all state is in the folder. The folder's access time is the earliest time of the next
 * sweep. A lock on it means that a sweep is running. A bit in a file's mode means that its process
 * was found dead, so each dead process is looked up once.
 *
 * Pid and start time, each of its namespace, show which process is dead; an area
 * names its namespaces. The files belong to the same user, and still nothing in them is trusted:
 * they are read by pread(), never mapped. fork: nothing is called in a child. Costs: bench
 * "start-up". Tests: tests/engine/fire/leftovers.
 */
#include "engine/process/area_dead.h"

#include <errno.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/statfs.h>
#include <time.h>

#include "abi/agent.h"
#include "abi/kept.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/base/text.h"
#include "engine/process/area_impl.h"

#define MAX_CPUS     8192u
#define MAX_HISTS    1024u
#define SHARE	     20 /* a sweep that took t is followed by a pause of 20 t */
#define MAX_PAUSE_NS UINT64_C(10000000000)
#define UNFILLED_NS                                                                                \
	UINT64_C(60000000000) /* after that time an engine has filled in its file, or has died */
#define NR_OLDEST  32u
#define MAX_ROUNDS 8u
#define NAME_BYTES (48 + AREA_INSTANCE_BYTES)
#define NS_PER_S   UINT64_C(1000000000)

/* An area, mapped or in a file. */
struct look {
	const struct area_header *mapped;
	int fd;
	uint8_t copy[sizeof(struct area_buffer)];
};
static_assert(sizeof(struct area_buffer) >= sizeof(struct area_cpu) &&
		      sizeof(struct area_buffer) >= offsetof(struct area_stack, frames),
	      "room for any row that is looked at");

/* Get @n bytes at @offset; NULL: they do not exist. */
static const void *look_at(struct look *l, uint64_t offset, size_t n)
{
	if (l->mapped)
		return (const uint8_t *)l->mapped + offset;
	return sys_pread(l->fd, l->copy, n, offset) == (long)n ? l->copy : NULL;
}

static const void *row_at(struct look *l, const struct area_table *t, uint32_t i, size_t n)
{
	return look_at(l, t->offset + (uint64_t)i * t->entry_bytes, n);
}

static int holds(struct look *l, const struct area_header *head)
{
	const struct area_table *buffers = &head->tables[AREA_BUFFERS];
	const struct area_table *cpus = &head->tables[AREA_CPUS];
	const struct area_table *hists = AREA_TABLE(head, AREA_HISTS);
	const struct area_buffer *buffer;
	const struct area_stack *stack;
	const struct area_oops *oops;
	const struct area_cpu *cpu;
	const struct area_hist *hist;
	uint32_t i;

	if (head->untraced_calls || head->nr_cpus > MAX_CPUS || hists->count > MAX_HISTS)
		return 1;
	for (i = 0; i < buffers->count && i < MAX_HISTS; i++) {
		buffer = row_at(l, buffers, i, sizeof(*buffer));
		if (!buffer || buffer->take_seq)
			return 1;
	}
	for (i = 0; i < cpus->count && i < MAX_CPUS; i++) {
		cpu = row_at(l, cpus, i, sizeof(*cpu));
		if (!cpu || cpu->dropped_events || cpu->commit_overrun)
			return 1;
	}
	for (i = 0; i < hists->count; i++) {
		hist = row_at(l, hists, i, offsetof(struct area_hist, event) + sizeof(hist->event));
		if (!hist || hist->event)
			return 1;
	}
	/* reading a mapped page that was never used would allocate memory */
	stack = head->stack_offset && !l->mapped
			? look_at(l, head->stack_offset, offsetof(struct area_stack, frames))
			: NULL;
	if (stack && stack->nr_frames)
		return 1;
	oops = head->oops_offset && !l->mapped
		       ? look_at(l, head->oops_offset, offsetof(struct area_oops, dump))
		       : NULL;
	return oops && oops->kind != AREA_OOPS_NONE;
}

int area_holds(const struct area_header *head)
{
	struct look l = {.mapped = head, .fd = -1};

	return holds(&l, head);
}

int area_file_holds(int fd)
{
	struct look l = {.fd = fd};
	struct area_header head;

	return sys_pread(fd, &head, sizeof(head), 0) == (long)sizeof(head) &&
	       head.magic == AREA_MAGIC && head.major == AREA_MAJOR &&
	       head.header_bytes >= sizeof(head) && holds(&l, &head);
}

/* A file in the folder. */
struct file {
	char name[NAME_BYTES];
	uint64_t bytes;
	uint64_t changed_ns;
};

struct sweep {
	int dir;
	struct kept kept;
	uint64_t nr_files, bytes;      /* of dead processes, with something to read */
	struct file oldest[NR_OLDEST]; /* the oldest first */
	uint32_t nr_oldest;
	uint64_t now_ns;
};

/* Read decimal digits at *@p, at least one. Return: 0 or -EINVAL. */
static int take_number(const char **p, uint64_t *v)
{
	size_t n = text_decimal(*p, SIZE_MAX, v);

	*p += n;
	return n ? 0 : -EINVAL;
}

/* Parse PID.START; *@rest: what follows. Return: 0; -EINVAL: another kind of name. */
static int parse(const char *name, uint64_t *pid, uint64_t *start, const char **rest)
{
	const char *p = name;

	if (strlen(name) >= NAME_BYTES || take_number(&p, pid) || *p++ != '.' ||
	    take_number(&p, start) || !*pid || *pid > INT32_MAX)
		return -EINVAL;
	*rest = p;
	return *p && *p != AREA_INSTANCE_MARK && !str_equal(p, AGENT_SUFFIX) ? -EINVAL : 0;
}

static int is_there(int pid)
{
	return arch_syscall(SYS_kill, pid, 0, 0, 0, 0, 0) != -ESRCH;
}

/*
 * Whether the process lives, by its id in our namespace. If that cannot be found out, it counts as
 * alive.
 */
static int is_alive(uint64_t pid, uint64_t start)
{
	struct proc_stat stat;
	char path[64];
	struct seq_buf s;

	if (!is_there((int)pid))
		return 0;
	seq_init(&s, path, sizeof(path) - 1);
	seq_puts(&s, "/proc/");
	seq_putu(&s, pid);
	seq_puts(&s, "/stat");
	path[s.len] = 0;
	if (area_read_stat(path, &stat))
		return 1;
	/* a zombie with several threads is only a main thread that has ended before the others */
	return stat.start_time == start && (stat.state != 'Z' || stat.nr_threads > 1);
}

static int is_own(uint64_t pid, uint64_t start)
{
	return pid == (uint64_t)area->pid && start == area->start_time;
}

static int stat_at(int dir, const char *name, struct stat *st)
{
	return (int)arch_syscall(SYS_newfstatat, dir, (long)name, (long)st, AT_SYMLINK_NOFOLLOW, 0,
				 0);
}

static void unlink_socket(const struct sweep *s, const char *name)
{
	char path[NAME_BYTES + sizeof(AGENT_SUFFIX)];
	size_t n = str_copy(path, NAME_BYTES, name);

	str_copy(path + n, sizeof(AGENT_SUFFIX), AGENT_SUFFIX);
	sys_unlink_at(s->dir, path);
}

/*
 * The recorder of a session fetches an area after the process's end, so such an area is left to it.
 */
int area_has_recorder(const struct area_header *head)
{
	const char *p = head->session;
	uint64_t pid;

	if (head->recorder && is_there((int)head->recorder))
		return 1;
	return !take_number(&p, &pid) && *p == '-' && pid && pid <= INT32_MAX && is_there((int)pid);
}

/* Insert an area of a dead process, with something to read, into the list of the oldest. */
static void put_oldest(struct sweep *s, const char *name, const struct stat *st)
{
	uint64_t changed = (uint64_t)st->st_ctim.tv_sec * NS_PER_S + (uint64_t)st->st_ctim.tv_nsec;
	uint32_t i = s->nr_oldest;

	if (i == NR_OLDEST && s->oldest[--i].changed_ns <= changed)
		return;
	for (; i && s->oldest[i - 1].changed_ns > changed; i--)
		s->oldest[i] = s->oldest[i - 1];
	str_copy(s->oldest[i].name, NAME_BYTES, name);
	s->oldest[i].bytes = (uint64_t)st->st_blocks * 512;
	s->oldest[i].changed_ns = changed;
	s->nr_oldest += s->nr_oldest < NR_OLDEST;
}

/*
 * Decide about the area of a process that was not found, which is dead if it was of our namespaces.
 * Return: 1: the area stays and counts; 0: it was removed, or nothing can be decided here.
 */
static int judge(struct sweep *s, const char *name, const struct stat *st, int fd)
{
	struct area_header head;
	struct look l = {.fd = fd};
	uint64_t changed = (uint64_t)st->st_ctim.tv_sec * NS_PER_S;

	if (sys_pread(fd, &head, sizeof(head), 0) != (long)sizeof(head) || !head.magic) {
		if (changed + UNFILLED_NS < s->now_ns)
			sys_unlink_at(s->dir, name);
		return 0;
	}
	if (head.magic != AREA_MAGIC || head.major != AREA_MAJOR ||
	    head.header_bytes < sizeof(head) || !head.pid_ns || head.pid_ns != area->pid_ns ||
	    head.time_ns != area->time_ns || area_has_recorder(&head))
		return 0;
	unlink_socket(s, name);
	if (!head.session[0] && !head.instance[0] && !head.nr_instances && !holds(&l, &head)) {
		sys_unlink_at(s->dir, name);
		return 0;
	}
	return !arch_syscall(SYS_fchmod, fd, (st->st_mode & 0777) | KEPT_FOUND_DEAD, 0, 0, 0, 0);
}

/* A file of a dead process. @rest: what its name has behind PID.START. */
static void look_at_file(struct sweep *s, const char *name, const char *rest)
{
	char process[NAME_BYTES];
	struct stat st;
	int fd, stays;

	str_copy(process, (size_t)(rest - name) + 1, name);
	if (stat_at(s->dir, name, &st))
		return;
	if (str_equal(rest, AGENT_SUFFIX)) {
		/* a socket without an area: no tool can find its process */
		if (S_ISSOCK(st.st_mode) && stat_at(s->dir, process, &st) == -ENOENT)
			sys_unlink_at(s->dir, name);
		return;
	}
	if (!S_ISREG(st.st_mode))
		return;
	if (!(st.st_mode & KEPT_FOUND_DEAD)) {
		fd = (int)arch_syscall(SYS_openat, s->dir, (long)name,
				       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0, 0, 0);
		if (fd < 0)
			return;
		stays = judge(s, name, &st, fd);
		if (stays)
			sys_fstat(fd, &st);
		sys_close(fd);
		if (!stays)
			return;
	}
	s->nr_files++;
	s->bytes += (uint64_t)st.st_blocks * 512;
	/* an instance's area is removed with its process's */
	if (!*rest || stat_at(s->dir, process, &st) == -ENOENT)
		put_oldest(s, name, &st);
}

static void each_file(struct sweep *s)
{
	char buf[4096] __attribute__((aligned(8)));
	const char *rest;
	uint64_t pid, start;
	long got, at;

	arch_syscall(SYS_lseek, s->dir, 0, 0, 0, 0, 0);
	while ((got = sys_getdents(s->dir, buf, sizeof(buf))) > 0) {
		for (at = 0; at < got; at += ((const struct sys_dirent *)(buf + at))->bytes) {
			const char *name = ((const struct sys_dirent *)(buf + at))->name;

			if (!parse(name, &pid, &start, &rest) && !is_own(pid, start) &&
			    !is_alive(pid, start))
				look_at_file(s, name, rest);
		}
	}
}

static int open_kept(const struct sweep *s, int flags)
{
	return (int)arch_syscall(SYS_openat, s->dir, (long)KEPT_FILE,
				 flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600, 0, 0);
}

/* Read the limits that were set, or use the defaults. */
static void read_kept(struct sweep *s)
{
	int fd = open_kept(s, O_RDONLY);

	if (fd < 0 || sys_pread(fd, &s->kept, sizeof(s->kept), 0) != (long)sizeof(s->kept) ||
	    s->kept.magic != KEPT_MAGIC || s->kept.version != KEPT_VERSION)
		s->kept = (struct kept){.magic = KEPT_MAGIC,
					.version = KEPT_VERSION,
					.max_files = KEPT_DEFAULT,
					.max_bytes = KEPT_DEFAULT};
	if (fd >= 0)
		sys_close(fd);
}

/* Compute the limits for this file system, now. */
static void set_limits(struct sweep *s, uint64_t *max_files, uint64_t *max_bytes)
{
	struct statfs fs;

	*max_files = s->kept.max_files == KEPT_DEFAULT ? KEPT_DEFAULT_FILES : s->kept.max_files;
	*max_bytes = s->kept.max_bytes;
	if (*max_bytes != KEPT_DEFAULT)
		return;
	*max_bytes = KEPT_DEFAULT_BYTES;
	if (arch_syscall(SYS_fstatfs, s->dir, (long)&fs, 0, 0, 0, 0) == 0 && fs.f_blocks &&
	    (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize / KEPT_DEFAULT_PART < *max_bytes)
		*max_bytes = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize / KEPT_DEFAULT_PART;
}

/* Where the program may write no file, the counts stay as they are. */
static void count_removed(struct sweep *s, uint64_t files, uint64_t bytes)
{
	int fd = area_check_file_limit(sizeof(s->kept));

	if (!fd)
		fd = open_kept(s, O_RDWR | O_CREAT);
	if (fd < 0)
		return;
	s->kept.last_removed_s = s->now_ns / NS_PER_S;
	if (!s->kept.removed_files)
		s->kept.first_removed_s = s->kept.last_removed_s;
	s->kept.removed_files += files;
	s->kept.removed_bytes += bytes;
	sys_pwrite(fd, &s->kept, sizeof(s->kept), 0);
	sys_close(fd);
}

/* Add a line to vestige_status of the process that removed them. */
static void say_removed(uint64_t files, uint64_t bytes)
{
	char text[128];
	struct seq_buf s;

	seq_init(&s, text, sizeof(text) - 1);
	seq_putu(&s, files);
	seq_puts(&s, " files of ");
	seq_putu(&s, bytes >> 10);
	seq_puts(&s, " KiB; `vestige clean --keep` sets how much is kept");
	text[s.len] = 0;
	area_status("the oldest areas of dead processes were removed", text, 0);
}

/* Remove the oldest while there are too many. Return: whether the folder must be read again. */
static int remove_oldest(struct sweep *s, uint64_t max_files, uint64_t max_bytes)
{
	uint64_t files = 0, bytes = 0;
	uint32_t i, instances = 0;

	for (i = 0; i < s->nr_oldest && !instances; i++) {
		const struct file *f = &s->oldest[i];

		if (s->nr_files <= max_files && s->bytes <= max_bytes)
			break;
		/* the area of the last process that died is kept, however large */
		if (s->nr_files == 1 && max_files && max_bytes)
			break;
		if (sys_unlink_at(s->dir, f->name))
			continue;
		instances = area_unlink_instances(s->dir, f->name);
		files++;
		bytes += f->bytes;
		s->nr_files--;
		s->bytes -= f->bytes;
	}
	if (files) {
		count_removed(s, files, bytes);
		say_removed(files, bytes);
	}
	return files != 0;
}

static void sweep(int dir)
{
	struct sweep s = {.dir = dir, .now_ns = sys_clock_ns(CLOCK_REALTIME)};
	uint64_t max_files, max_bytes;
	uint32_t round;

	read_kept(&s);
	set_limits(&s, &max_files, &max_bytes);
	for (round = 0; round < MAX_ROUNDS; round++) {
		s.nr_files = s.bytes = 0;
		s.nr_oldest = 0;
		each_file(&s);
		if (!remove_oldest(&s, max_files, max_bytes))
			break;
	}
}

/* Open the folder. Return: a descriptor or -errno. */
static int open_folder(void)
{
	char path[AREA_PATH_BYTES];

	str_copy(path, area_name_at(area_file()) + 1, area_file());
	return sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

/* Whether a sweep is due: the access time is in the future during the pause after a sweep. */
static int is_due(int dir)
{
	uint64_t now = sys_clock_ns(CLOCK_REALTIME), next;
	struct stat st;

	if (sys_fstat(dir, &st))
		return 0;
	next = (uint64_t)st.st_atim.tv_sec * NS_PER_S + (uint64_t)st.st_atim.tv_nsec;
	return next <= now || next > now + MAX_PAUSE_NS;
}

static void set_next(int dir, uint64_t took_ns)
{
	uint64_t pause = took_ns * SHARE < MAX_PAUSE_NS ? took_ns * SHARE : MAX_PAUSE_NS;
	uint64_t next = sys_clock_ns(CLOCK_REALTIME) + pause;
	struct timespec times[2] = {
		{.tv_sec = (time_t)(next / NS_PER_S), .tv_nsec = (long)(next % NS_PER_S)},
		{.tv_nsec = UTIME_OMIT},
	};

	arch_syscall(SYS_utimensat, dir, 0, (long)times, 0, 0, 0);
}

void areas_sweep(void)
{
	uint64_t begin = sys_clock_ns(CLOCK_MONOTONIC);
	int dir;

	/* without /proc nothing shows whether a process is dead */
	if (!area->start_time || !area->pid_ns)
		return;
	dir = open_folder();
	if (dir < 0)
		return;
	if (is_due(dir) && !arch_syscall(SYS_flock, dir, LOCK_EX | LOCK_NB, 0, 0, 0, 0)) {
		sweep(dir);
		set_next(dir, sys_clock_ns(CLOCK_MONOTONIC) - begin);
		/* a child that another thread forks meanwhile also has the descriptor */
		arch_syscall(SYS_flock, dir, LOCK_UN, 0, 0, 0, 0);
	}
	sys_close(dir);
}
