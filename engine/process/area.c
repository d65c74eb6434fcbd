/* SPDX-License-Identifier: MIT */
/*
 * The area's file: its name, its folder, its header, and the strings and status lines in it. Owns
 * the file and its mapping; area_layout.c has the tables, ring/ the ring in it. Runs in the
 * constructor. A fork's child inherits the mapping and must not write to it: it makes an area of
 * its own. Tests: tests/engine/fire/leftovers, full.
 */
#include "engine/process/area_impl.h"

#include <errno.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "abi/agent.h"
#include "abi/option.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/base/text.h"
#include "engine/process/area_dead.h"
#include "engine/ring/ring.h"

/* Under a limit the buffer can grow to four times its size, and histograms have a 16th of room. */
#define ROOM_TIMES	4u
#define HIST_ROOM_PARTS 16u
/* From these bytes on the buffer is made smaller before the tables. */
#define LARGE_BUFFER (UINT64_C(64) << 20)

struct area_header *area;

struct area_config area_made; /* for areas of children and instances */
static char area_path[AREA_PATH_BYTES];

/* The process's name in the file may contain any character. */
int area_read_stat(const char *path, struct proc_stat *stat)
{
	char text[1024];
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? fd : sys_read(fd, text, sizeof(text));
	int field = 2;
	long i;

	if (fd >= 0)
		sys_close(fd);
	if (n <= 0)
		return n ? (int)n : -ENODATA;
	*stat = (struct proc_stat){0};
	for (i = n; i > 0 && text[i - 1] != ')'; i--)
		;
	for (; i < n; i++) {
		if (text[i] == ' ') {
			field++;
			if (field == 20 || field == 22)
				text_decimal(text + i + 1, (size_t)(n - i - 1),
					     field == 20 ? &stat->nr_threads : &stat->start_time);
		} else if (field == 3) {
			stat->state = text[i];
		}
	}
	return 0;
}

/* The process's start time; 0: /proc cannot be read. */
static uint64_t read_start_time(void)
{
	struct proc_stat stat;

	return area_read_stat("/proc/self/stat", &stat) ? 0 : stat.start_time;
}

/*
 * The inode of a namespace of this process, by the link's text ("pid:[4026531836]"); stat() would
 * make an inode. 0: /proc cannot be read.
 */
static uint32_t namespace_of(const char *path)
{
	char text[40];
	long n = sys_readlink(path, text, sizeof(text) - 1), i;
	uint64_t inode = 0;

	for (i = 0; i < n; i++)
		if (text[i] == '[')
			text_decimal(text + i + 1, (size_t)(n - i - 1), &inode);
	return (uint32_t)inode;
}

/* AT_RANDOM's bytes seed the stack protector, so show a mixture that does not reveal them. */
static void make_image_id(uint8_t id[16])
{
	const uint8_t *random = (const uint8_t *)getauxval(AT_RANDOM);
	uint64_t v[2] = {0, 0};
	int i, round;

	if (random)
		memcpy(v, random, sizeof(v));
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 2; i++) {
			uint64_t x = v[i] + v[1 - i] + UINT64_C(0x9e3779b97f4a7c15);

			x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
			x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
			v[i] = x ^ x >> 31;
		}
	}
	memcpy(id, v, sizeof(v));
}

static int getcwd_into(struct seq_buf *s)
{
	char cwd[512];
	long n = arch_syscall(SYS_getcwd, (long)cwd, sizeof(cwd), 0, 0, 0, 0);

	if (n <= 0 || cwd[0] != '/')
		return -ENOENT;
	seq_puts(s, cwd);
	seq_putc(s, '/');
	return 0;
}

/*
 * Check that the folder is a folder and ours alone; make it if it does not exist. @is_default: any
 * user may have put a link there. The tools report why there is no area (tools/target/no_area.c).
 */
static int check_dir(const char *dir, int is_default)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_default ? O_NOFOLLOW : 0);
	struct stat st;
	int fd = sys_open(dir, flags, 0), err;

	if (fd == -ENOENT) {
		err = sys_mkdir(dir, 0700);
		if (err < 0 && err != -EEXIST)
			return err;
		fd = sys_open(dir, flags, 0);
	}
	if (fd < 0)
		return fd;
	err = sys_fstat(fd, &st);
	sys_close(fd);
	if (err < 0)
		return err;
	if (st.st_uid != sys_geteuid() || (st.st_mode & 077))
		return -EPERM;
	return 0;
}

size_t area_name_at(const char *path)
{
	size_t at = strlen(path);

	while (at && path[at - 1] != '/')
		at--;
	return at;
}

static int create_file(const struct area_header *own)
{
	int tries, fd = -EEXIST;

	for (tries = 0; tries < 3; tries++) {
		fd = sys_open(area_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd != -EEXIST)
			break;
		fd = area_make_room(own);
		if (fd < 0 && fd != -ENOENT)
			break;
		fd = -EEXIST;
	}
	return fd;
}

static void set_exe_name(struct area_header *h)
{
	char path[512];
	long n = sys_readlink("/proc/self/exe", path, sizeof(path) - 1), i;

	if (n <= 0)
		return;
	path[n] = 0;
	for (i = n; i > 0 && path[i - 1] != '/'; i--)
		;
	str_copy(h->exe, sizeof(h->exe), path + i);
}

static char made_dir[sizeof(area_path)];

/* @freed: as of area_check_space(). */
static int create(const struct area_config *config, uint64_t freed)
{
	struct area_header h = {
		.pid = sys_getpid(),
		.uid = sys_geteuid(),
		.start_time = read_start_time(),
		.pid_ns = namespace_of("/proc/self/ns/pid"),
		.time_ns = namespace_of("/proc/self/ns/time"),
		.clock = config->clock,
		.nr_cpus = config->nr_cpus,
	};
	struct seq_buf path;
	int fd, err;

	seq_init(&path, area_path, sizeof(area_path) - 1);
	if (config->dir) {
		/* an absolute path: a child may have another working directory */
		if (config->dir[0] != '/' && getcwd_into(&path) < 0)
			return -ENOENT;
		seq_puts(&path, config->dir);
	} else {
		seq_puts(&path, AREA_DIR_PREFIX);
		seq_putu(&path, h.uid);
	}
	area_path[path.len] = 0;
	err = check_dir(area_path, !config->dir);
	if (err)
		return err;
	if (config->dir)
		str_copy(made_dir, sizeof(made_dir), area_path);
	seq_putc(&path, '/');
	seq_putu(&path, (uint64_t)h.pid);
	seq_putc(&path, '.');
	seq_putu(&path, h.start_time);
	if (path.lost)
		return -ENAMETOOLONG;
	area_path[path.len] = 0;

	make_image_id(h.image_id);
	if (config->session)
		str_copy(h.session, sizeof(h.session), config->session);
	set_exe_name(&h);
	h.file_bytes = area_lay_out(&h, config);
	fd = area_check_space(h.file_bytes, freed);
	if (!fd)
		fd = area_check_file_limit(h.file_bytes);
	if (!fd)
		fd = create_file(&h);
	if (fd < 0)
		return fd;
	err = area_map(fd, config, &h, &area);
	sys_close(fd);
	if (err)
		sys_unlink(area_path);
	area_made = *config;
	/*
	 * the program may have overwritten the environment, which names the folder, with its title
	 */
	if (area_made.dir)
		area_made.dir = made_dir;
	return err;
}

/*
 * Take away what is missed least: room to grow, snapshots and histograms, and then of the buffer
 * and the tables what is larger. A fork's child keeps the tables. Return: 0: it is the smallest.
 */
static int make_smaller(struct area_config *c, int is_child)
{
	const uint64_t buffer = (uint64_t)c->nr_cpus * c->cpu_pages * PAGE_BYTES;

	if (c->cpu_room > ROOM_TIMES * c->cpu_pages) {
		c->cpu_room = ROOM_TIMES * c->cpu_pages;
		c->hist_room /= HIST_ROOM_PARTS;
	} else if (c->snapshot) {
		c->cpu_room = c->cpu_pages;
		c->snapshot = 0;
		c->hist_room = 0;
	} else if (!is_child && !c->few_rows && buffer < LARGE_BUFFER) {
		c->few_rows = 1;
	} else if (c->cpu_pages > RING_MIN_PAGES) {
		c->cpu_pages =
			c->cpu_pages / 2 > RING_MIN_PAGES ? c->cpu_pages / 2 : RING_MIN_PAGES;
		c->cpu_room = c->cpu_pages;
	} else {
		return 0;
	}
	return 1;
}

int area_create(const struct area_config *wanted, const struct area_header *parent)
{
	const uint64_t freed = parent ? parent->file_bytes : 0;
	struct area_config config = *wanted;
	const uint32_t pages = config.cpu_pages;
	int err;

	do
		err = create(&config, freed);
	while ((err == -ENOMEM || err == -EFBIG || err == -EAGAIN) &&
	       make_smaller(&config, parent != NULL));
	if (!err && config.cpu_pages < pages)
		area_status("the buffer is smaller: RLIMIT_AS, RLIMIT_FSIZE or RLIMIT_MEMLOCK",
			    NULL, 0);
	return err;
}

const char *area_file(void)
{
	return area_path;
}

int area_is_own(void)
{
	return sys_is_forbidden() ? ring_is_awake() : area->pid == sys_getpid();
}

void area_remove(void)
{
	area_unlink(area_path);
}

static int folder = -1, folder_of; /* folder_of: the thread that has the descriptor */

int area_unlink(const char *path)
{
	if (folder >= 0 && folder_of == sys_gettid())
		return sys_unlink_at(folder, path + area_name_at(path));
	return sys_unlink(path);
}

void area_keep_folder(int keep)
{
	char path[AREA_PATH_BYTES];

	folder = -1;
	if (!keep)
		return;
	str_copy(path, area_name_at(area_path) + 1, area_path);
	folder = sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	folder_of = sys_gettid();
}

const char *area_string_at(uint32_t offset)
{
	return area_entry(AREA_STRINGS, offset);
}

uint32_t area_string(const char *s)
{
	struct area_table *t = &area->tables[AREA_STRINGS];
	uint32_t at = t->count, n = (uint32_t)strlen(s) + 1;

	if (n == 1 || area_reserve(AREA_STRINGS, at + n))
		return 0;
	memcpy(area_entry(AREA_STRINGS, at), s, n);
	t->count = at + n;
	return at;
}

void area_status(const char *what, const char *name, int err)
{
	struct area_table *t = &area->tables[AREA_STATUS];
	char line[512];
	struct seq_buf s;
	uint32_t at;

	seq_init(&s, line, sizeof(line) - 1);
	seq_puts(&s, what);
	if (name) {
		seq_puts(&s, ": ");
		seq_puts(&s, name);
	}
	if (err) {
		seq_puts(&s, " (errno ");
		seq_putu(&s, (uint64_t)-err);
		seq_putc(&s, ')');
	}
	line[s.len++] = '\n';
	/*
	 * other threads may add lines too: each gets a place of its own, with memory behind it
	 */
	at = __atomic_load_n(&t->count, __ATOMIC_RELAXED);
	do {
		if (s.len > t->capacity - at ||
		    area_back_table(area, AREA_STATUS, at, at + s.len)) {
			__atomic_fetch_add(&area->status_bytes_lost, (uint32_t)s.len,
					   __ATOMIC_RELAXED);
			return;
		}
	} while (!__atomic_compare_exchange_n(&t->count, &at, at + (uint32_t)s.len, 0,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	memcpy(area_entry(AREA_STATUS, at), line, s.len);
}
