/* SPDX-License-Identifier: MIT */
/*
 * Creating and filling the area. Owns the file and its mapping; not the ring in it (ring/) nor the
 * meaning of its tables. Runs in the constructor. A fork's child inherits the mapping and must not
 * write to it: nothing here is called there. Memory is put behind a range before it is used
 * (sys_back), so a full /dev/shm is an error and not SIGBUS. Tests: tests/engine/test_area.py.
 */
#include "engine/core/area_impl.h"

#include <errno.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "abi/option.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"

struct area_header *area;

struct area_config area_made; /* for the children, and for instances */
static char area_path[AREA_PATH_BYTES];
static int backing_fd = -1; /* before Linux 5.14 memory can only be had through the file */

static const struct {
	uint32_t entry_bytes;
	uint32_t capacity; /* 0: computed from the configuration */
} layout[AREA_NR_TABLES] = {
	[AREA_OBJECTS] = {sizeof(struct area_object), 8192},
	[AREA_FUNCTIONS] = {sizeof(struct area_function), 1u << 20},
	[AREA_REFUSED] = {sizeof(struct area_refused), 1u << 16},
	[AREA_TASKS] = {sizeof(struct area_task), 1u << 15},
	[AREA_CLOCKS] = {sizeof(struct area_clock), 4096},
	[AREA_BUFFERS] = {sizeof(struct area_buffer), 32},
	[AREA_CPUS] = {sizeof(struct area_cpu), 0},
	[AREA_STRINGS] = {1, 1u << 20},
	[AREA_STATUS] = {1, 65536},
	[AREA_PAGES] = {sizeof(struct page_desc), 0},
	[AREA_FILES] = {1, 1u << 20},
	[AREA_EVENTS] = {sizeof(struct area_event), 1u << 16},
	[AREA_FORMATS] = {1, 1u << 25},
	[AREA_PROBES] = {sizeof(struct area_probe), 1u << 20},
	[AREA_SNAPSHOTS] = {sizeof(struct area_snapshot), 0},
	[AREA_PENDING] = {sizeof(struct area_pending), AREA_NR_PENDING},
	[AREA_HISTS] = {sizeof(struct area_hist), 1024},
	[AREA_HIST_ROOM] = {AREA_HIST_PIECE, 0},
	[AREA_PRINTKS] = {sizeof(struct area_printk), 1u << 14},
};

/* Field 22 of /proc/self/stat; 0 where /proc cannot be read. The name in it may hold anything. */
static uint64_t read_start_time(void)
{
	char text[1024];
	int fd = sys_open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? fd : sys_read(fd, text, sizeof(text) - 1);
	uint64_t v = 0;
	int field = 2;
	long i;

	if (fd >= 0)
		sys_close(fd);
	if (n <= 0)
		return 0;
	for (i = n; i > 0 && text[i - 1] != ')'; i--)
		;
	for (; i < n && field < 22; i++)
		field += text[i] == ' ';
	for (; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		v = v * 10 + (uint64_t)(text[i] - '0');
	return v;
}

/* AT_RANDOM's bytes seed the stack protector: show a mixture that does not give them away. */
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

/* The folder must be ours alone, and a folder. Makes the default one. */
static int check_dir(const char *dir, int make)
{
	struct stat st;
	int fd, err;

	if (make) {
		err = sys_mkdir(dir, 0700);
		if (err < 0 && err != -EEXIST)
			return err;
	}
	fd = sys_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (make ? O_NOFOLLOW : 0), 0);
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

/* Another engine of this image was first: say in its vestige_status that we are here, asleep. */
static void tell_first(const struct area_header *head)
{
	static const char line[] = "another engine in this process sleeps: this one was first\n";
	const uint32_t n = sizeof(line) - 1;
	const struct area_table *t = &head->tables[AREA_STATUS];
	uint64_t at = (uint64_t)((const uint8_t *)&t->count - (const uint8_t *)head);
	uint32_t count = t->count + n;
	int fd = sys_open(area_path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (count <= t->capacity && sys_pwrite(fd, line, n, t->offset + t->count) == (long)n)
		sys_pwrite(fd, &count, sizeof(count), at);
	sys_close(fd);
}

/*
 * The area of the image which exec replaced, with records that no recorder fetches: it goes on as that
 * of a dead process, under a name as if it had begun a tick or a few earlier.
 * Return: 0, or -errno: it has to go.
 */
static int keep_replaced(const struct area_header *head, int fd)
{
	const uint64_t at = head->tables[AREA_BUFFERS].offset;
	char name[sizeof(area_path) + 24];
	struct area_buffer top;
	struct seq_buf s;
	size_t dir = strlen(area_path);
	uint64_t ticks;
	int err = -ENODATA;

	if (head->session[0] || sys_pread(fd, &top, sizeof(top), at) != (long)sizeof(top) ||
	    (!top.take_seq && !AREA_TABLE(head, AREA_HISTS)->count))
		return -ENODATA;
	while (dir && area_path[dir - 1] != '/')
		dir--;
	for (ticks = 1; ticks <= 8 && ticks < head->start_time; ticks++) {
		seq_init(&s, name, sizeof(name) - 1);
		str_copy(name, dir + 1, area_path);
		s.len = dir;
		seq_putu(&s, (uint64_t)sys_getpid());
		seq_putc(&s, '.');
		seq_putu(&s, head->start_time - ticks);
		name[s.len] = 0;
		err = sys_rename_new(area_path, name);
		if (err != -EEXIST)
			break;
	}
	return err;
}

/*
 * A file of our name exists: it is that of the image which exec replaced, then it makes room; or of
 * another engine in this image, then that one was first.
 */
static int settle_existing(const uint8_t image_id[16])
{
	struct area_header head;
	int fd = sys_open(area_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return fd;
	n = sys_read(fd, &head, sizeof(head));
	if (n == (long)sizeof(head) && head.magic == AREA_MAGIC &&
	    memcmp(head.image_id, image_id, 16) && !keep_replaced(&head, fd)) {
		sys_close(fd);
		return 0;
	}
	sys_close(fd);
	if (n == (long)sizeof(head) && head.magic == AREA_MAGIC && head.session[0] &&
	    head.nr_instances && memcmp(head.image_id, image_id, 16))
		area_drop_replaced_instances();
	if (n == (long)sizeof(head) && head.magic == AREA_MAGIC &&
	    !memcmp(head.image_id, image_id, 16)) {
		tell_first(&head);
		return -EEXIST;
	}
	return sys_unlink(area_path);
}

static int create_file(const uint8_t image_id[16])
{
	int tries, fd = -EEXIST;

	for (tries = 0; tries < 3; tries++) {
		fd = sys_open(area_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd != -EEXIST)
			break;
		fd = settle_existing(image_id);
		if (fd < 0 && fd != -ENOENT)
			break;
		fd = -EEXIST;
	}
	return fd;
}

static uint64_t page_up(uint64_t v)
{
	return (v + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

/* The CPUs' first shares, then their second ones. */
static uint32_t nr_page_places(const struct area_config *config)
{
	return config->nr_cpus * config->cpu_room * (config->snapshot ? 2 : 1);
}

/* Offsets of all tables, the pages behind them; the size of the file. */
uint64_t area_lay_out(struct area_header *h, const struct area_config *config)
{
	uint64_t at = PAGE_BYTES;
	int i;

	for (i = 0; i < AREA_NR_TABLES; i++) {
		uint32_t capacity = layout[i].capacity;

		if (i == AREA_CPUS || i == AREA_SNAPSHOTS)
			capacity = config->nr_cpus;
		if (i == AREA_PAGES)
			capacity = nr_page_places(config);
		if (i == AREA_HIST_ROOM)
			capacity = config->hist_room;
		AREA_TABLE(h, i)->offset = at;
		AREA_TABLE(h, i)->entry_bytes = layout[i].entry_bytes;
		AREA_TABLE(h, i)->capacity = capacity;
		at = page_up(at + (uint64_t)capacity * layout[i].entry_bytes);
	}
	h->stack_offset = at;
	at = page_up(at + sizeof(struct area_stack));
	h->pages_offset = at;
	return at + (uint64_t)h->tables[AREA_PAGES].capacity * PAGE_BYTES;
}

static int back_range(struct area_header *h, uint64_t offset, uint64_t bytes)
{
	int err = sys_back((uint8_t *)h + offset, bytes);

	if (err == -EINVAL && backing_fd >= 0)
		err = sys_fallocate(backing_fd, offset, bytes);
	return err == -EFAULT ? -ENOSPC : err;
}

int area_reserve_in(struct area_header *head, enum area_table_id id, uint32_t count)
{
	struct area_table *t = AREA_TABLE(head, id);
	uint64_t from = (uint64_t)t->count * t->entry_bytes;

	if (count > t->capacity)
		return -ENOSPC;
	if (count <= t->count)
		return 0;
	return back_range(head, t->offset + from, (uint64_t)(count - t->count) * t->entry_bytes);
}

int area_reserve_stack(void)
{
	return back_range(area, area->stack_offset, sizeof(struct area_stack));
}

int area_reserve(enum area_table_id id, uint32_t count)
{
	return area_reserve_in(area, id, count);
}

/* Pages that no CPU may use yet are not to be touched: mlockall() would give them memory. */
static int reach(struct area_header *h, uint32_t index, uint32_t from, uint32_t to)
{
	const struct area_table *t = &h->tables[AREA_PAGES];
	uint8_t *pages = (uint8_t *)h + h->pages_offset;
	int err;

	if (from >= to)
		return 0;
	err = sys_mprotect(pages + (uint64_t)(index + from) * PAGE_BYTES,
			   (size_t)(to - from) * PAGE_BYTES, PROT_READ | PROT_WRITE);
	if (err)
		return err;
	return back_range(h, t->offset + (uint64_t)(index + from) * t->entry_bytes,
			  (uint64_t)(to - from) * t->entry_bytes);
}

static int reach_all(struct area_header *h, const struct area_config *config)
{
	uint64_t bytes = (uint64_t)nr_page_places(config) * PAGE_BYTES;
	uint32_t cpu;
	int err = 0;

	if (config->hist_room)
		err = sys_mprotect(area_entry_in(h, AREA_HIST_ROOM, 0),
				   (uint64_t)config->hist_room * AREA_HIST_PIECE, PROT_NONE);
	if (err)
		return err;

	if (config->cpu_room > config->cpu_pages || config->snapshot)
		err = sys_mprotect((uint8_t *)h + h->pages_offset, bytes, PROT_NONE);
	for (cpu = 0; cpu < config->nr_cpus && !err; cpu++)
		err = reach(h, cpu * config->cpu_room, 0, config->cpu_pages);
	return err;
}

int area_cpu_reach(struct area_header *head, uint32_t cpu, uint32_t pages)
{
	const struct area_cpu *row = area_entry_in(head, AREA_CPUS, cpu);
	const struct area_snapshot *snap = area_entry_in(head, AREA_SNAPSHOTS, cpu);
	uint32_t shares = snap->first_page ? 2 : 1;
	int err;

	if (pages > head->tables[AREA_PAGES].capacity / head->nr_cpus / shares)
		return -ENOMEM;
	err = reach(head, row->first_page, row->nr_pages, pages);
	if (!err && (snap->allocated || snap->live))
		err = reach(head, snap->first_page, row->nr_pages, pages);
	return err;
}

int area_cpu_reach_spare(struct area_header *head, uint32_t cpu, uint32_t pages)
{
	const struct area_cpu *row = area_entry_in(head, AREA_CPUS, cpu);
	const struct area_snapshot *snap = area_entry_in(head, AREA_SNAPSHOTS, cpu);

	if (!snap->first_page)
		return -ENOMEM;
	return reach(head, snap->live ? row->first_page : snap->first_page, 0, pages);
}

static void set_up_buffer(struct area_header *h, const struct area_config *config)
{
	struct area_buffer *buffer = area_entry_in(h, AREA_BUFFERS, 0);
	uint32_t cpu;

	str_copy(buffer->name, sizeof(buffer->name), h->instance);
	str_copy(buffer->tracer, sizeof(buffer->tracer), "nop");
	buffer->nr_cpus = config->nr_cpus;
	buffer->flags = AREA_BUFFER_OVERWRITE;
	buffer->options = AREA_OPTIONS_DEFAULT;
	buffer->buffer_percent = 50;
	for (cpu = 0; cpu < config->nr_cpus; cpu++) {
		struct area_cpu *row = area_entry_in(h, AREA_CPUS, cpu);

		row->cpu = cpu;
		row->first_page = cpu * config->cpu_room;
		row->nr_pages = config->cpu_pages;
		if (config->snapshot) {
			struct area_snapshot *snap = area_entry_in(h, AREA_SNAPSHOTS, cpu);

			snap->first_page = (config->nr_cpus + cpu) * config->cpu_room;
		}
	}
	h->tables[AREA_BUFFERS].count = 1;
	h->tables[AREA_CPUS].count = config->nr_cpus;
	h->tables[AREA_SNAPSHOTS].count = config->nr_cpus;
	h->tables[AREA_PAGES].count = nr_page_places(config);
	h->tables[AREA_STRINGS].count = 1; /* offset 0 is the empty string */
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

/* A file larger than RLIMIT_FSIZE would cost the program a SIGXFSZ. */
static int check_file_limit(uint64_t bytes)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    bytes > limit.rlim_cur)
		return -EFBIG;
	return 0;
}

int area_map(int fd, const struct area_config *config, const struct area_header *h,
	     struct area_header **head)
{
	struct area_header *m;
	long p;
	int err = check_file_limit(h->file_bytes);

	if (!err)
		err = sys_ftruncate(fd, h->file_bytes);
	if (err < 0)
		return err;
	p = sys_mmap(NULL, h->file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (sys_failed(p))
		return (int)p;
	m = (void *)p;
	backing_fd = fd;
	err = back_range(m, 0, sizeof(*h));
	if (!err) {
		memcpy(m, h, sizeof(*h));
		err = area_reserve_in(m, AREA_BUFFERS, 1);
	}
	if (!err)
		err = area_reserve_in(m, AREA_CPUS, config->nr_cpus);
	if (!err)
		err = area_reserve_in(m, AREA_SNAPSHOTS, config->nr_cpus);
	if (!err)
		err = reach_all(m, config);
	if (!err)
		err = area_reserve_in(m, AREA_STRINGS, 4096);
	if (!err)
		err = area_reserve_in(m, AREA_STATUS, 4096);
	backing_fd = -1;
	if (err) {
		sys_munmap(m, h->file_bytes);
		return err;
	}
	set_up_buffer(m, config);
	*head = m;
	return 0;
}

static char made_dir[sizeof(area_path)];

int area_create(const struct area_config *config)
{
	struct area_header h = {
		.magic = AREA_MAGIC,
		.major = AREA_MAJOR,
		.minor = AREA_MINOR,
		.header_bytes = sizeof(h),
		.page_bytes = PAGE_BYTES,
		.nr_tables = AREA_NR_FIRST_TABLES,
		.nr_more_tables = AREA_NR_MORE_TABLES,
		.pid = sys_getpid(),
		.uid = sys_geteuid(),
		.start_time = read_start_time(),
		.clock = config->clock,
		.nr_cpus = config->nr_cpus,
	};
	struct seq_buf path;
	int fd, err;

	seq_init(&path, area_path, sizeof(area_path) - 1);
	if (config->dir) {
		/* absolute: a child may have another working directory */
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
	fd = create_file(h.image_id);
	if (fd < 0)
		return fd;
	err = area_map(fd, config, &h, &area);
	sys_close(fd);
	if (err)
		sys_unlink(area_path);
	area_made = *config;
	/* programs that set their title write over the environment that names the folder */
	if (area_made.dir)
		area_made.dir = made_dir;
	return err;
}

int area_has_hists(const struct area_header *head)
{
	uint32_t i;

	for (i = 0; i < AREA_TABLE(head, AREA_HISTS)->count; i++)
		if (((const struct area_hist *)area_entry_in(head, AREA_HISTS, i))->event)
			return 1;
	return 0;
}

static void copy_table(const struct area_header *from, struct area_header *to,
		       enum area_table_id id)
{
	const struct area_table *t = AREA_TABLE(from, id);

	if (area_reserve_in(to, id, t->count))
		return;
	memcpy(area_entry_in(to, id, 0), (const uint8_t *)from + t->offset,
	       (size_t)t->count * t->entry_bytes);
	AREA_TABLE(to, id)->count = t->count;
}

void area_copy_kept(const struct area_header *from, struct area_header *to)
{
	static const enum area_table_id kept[] = {
		AREA_STRINGS, AREA_OBJECTS, AREA_FUNCTIONS, AREA_REFUSED, AREA_STATUS,
		AREA_EVENTS,  AREA_FORMATS, AREA_PROBES,    AREA_PENDING, AREA_PRINTKS};
	const struct area_buffer *old =
		(const void *)((const uint8_t *)from + from->tables[AREA_BUFFERS].offset);
	struct area_buffer *buffer = area_entry_in(to, AREA_BUFFERS, 0);
	uint32_t i;

	/* what its parent carried out when it started */
	to->session_ns = from->session_ns;
	for (i = 0; i < ARRAY_SIZE(kept); i++)
		copy_table(from, to, kept[i]);
	buffer->flags = old->flags;
	buffer->options = old->options;
	buffer->trace_clock = old->trace_clock;
	buffer->clock_offset_ns = old->clock_offset_ns;
	buffer->buffer_percent = old->buffer_percent;
	buffer->subbuf_kb = old->subbuf_kb;
	memcpy(buffer->tracer, old->tracer, sizeof(buffer->tracer));
}

int area_fork(struct area_header **old_area)
{
	struct area_header *parent = area;
	int err;

	area = NULL;
	/* the environment that named the session may have moved since: take the parent's */
	area_made.session = parent->session[0] ? parent->session : NULL;
	err = area_create(&area_made);
	if (!err) {
		area_copy_kept(parent, area);
		area->state = AREA_LIVE;
		area_made.session = area->session[0] ? area->session : NULL;
	}
	*old_area = parent;
	return err;
}

void area_unmap(struct area_header *old_area, int used)
{
	if (used)
		sys_mmap(old_area, old_area->file_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	else
		sys_munmap(old_area, old_area->file_bytes);
}

const char *area_file(void)
{
	return area_path;
}

void area_remove(void)
{
	sys_unlink(area_path);
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
	if (area_reserve(AREA_STATUS, t->count + (uint32_t)s.len)) {
		area->status_bytes_lost += (uint32_t)s.len;
		return;
	}
	at = __atomic_fetch_add(&t->count, (uint32_t)s.len, __ATOMIC_RELAXED);
	if (at + s.len <= t->capacity)
		memcpy(area_entry(AREA_STATUS, at), line, s.len);
}
