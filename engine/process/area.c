/* SPDX-License-Identifier: MIT */
/*
 * Creating and filling the area. Owns the file and its mapping; not the ring in it (ring/) nor the
 * meaning of its tables. Runs in the constructor. A fork's child inherits the mapping and must not
 * write to it: nothing here is called there. Memory is put behind a range before it is used
 * (sys_back), so a full /dev/shm is an error and not SIGBUS. Tests:
 * tests/engine/fire/leftovers, full.
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
#include "engine/process/area_dead.h"
#include "engine/ring/ring.h"

struct area_header *area;

struct area_config area_made; /* for the children, and for instances */
static char area_path[AREA_PATH_BYTES];
static uint64_t backed[AREA_NR_TABLES]; /* bytes of the area's that have memory */
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
	[AREA_LATENCIES] = {sizeof(struct area_latency), 1},
	[AREA_PROFILE] = {sizeof(struct area_profile), 1u << 16},
	[AREA_TIMES] = {sizeof(struct area_times), 1u << 17},
};

/* The name in it may hold any characters. */
int area_read_stat(const char *path, struct proc_stat *stat)
{
	char text[1024];
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? fd : sys_read(fd, text, sizeof(text));
	uint64_t *number = NULL;
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
			number = field == 20   ? &stat->nr_threads
				 : field == 22 ? &stat->start_time
					       : NULL;
		} else if (field == 3) {
			stat->state = text[i];
		} else if (number && text[i] >= '0' && text[i] <= '9') {
			*number = *number * 10 + (uint64_t)(text[i] - '0');
		}
	}
	return 0;
}

/* 0 where /proc cannot be read. */
static uint64_t read_start_time(void)
{
	struct proc_stat stat;

	return area_read_stat("/proc/self/stat", &stat) ? 0 : stat.start_time;
}

/* The inode of a namespace of ours; 0 where /proc cannot be read. */
static uint32_t namespace_of(const char *path)
{
	struct stat st;

	return arch_syscall(SYS_newfstatat, AT_FDCWD, (long)path, (long)&st, 0, 0, 0)
		       ? 0
		       : (uint32_t)st.st_ino;
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

/* Another engine of this image was first: add to its vestige_status that we are here, asleep. */
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

size_t area_name_at(const char *path)
{
	size_t at = strlen(path);

	while (at && path[at - 1] != '/')
		at--;
	return at;
}

#define FEW_REPLACED 8u
#define MAX_TRIES    64u
/*
 * Keep the area of the image that exec replaced, if it has records that no reader has taken. It
 * becomes the area of a dead process; its name says that the process began some ticks earlier (the
 * first such name that is free). `vestige record` has the file open and needs no name. Instances
 * with records are kept, too. A session makes its instances anew, so there an image with instances
 * leaves nothing. Return: 0, or -errno: the area has to be removed.
 */
static int keep_replaced(const struct area_header *head, int fd)
{
	const uint64_t at = head->tables[AREA_BUFFERS].offset;
	char name[sizeof(area_path) + 24];
	struct area_buffer top;
	struct seq_buf s;
	size_t dir = area_name_at(area_path);
	uint64_t ticks;
	uint32_t i;
	int err = -ENODATA;

	if ((head->session[0] && (head->recorder || head->nr_instances)) ||
	    sys_pread(fd, &top, sizeof(top), at) != (long)sizeof(top) ||
	    (!top.take_seq && !AREA_TABLE(head, AREA_HISTS)->count &&
	     !(head->nr_instances && area_replaced_instances_hold())))
		return -ENODATA;
	for (i = 1; i <= MAX_TRIES && err; i++) {
		/* the first few in turn; then anywhere, so that thousands cost little each */
		ticks = i <= FEW_REPLACED ? i
					  : head->image_id[i % 16] +
						    256u * (head->image_id[(i + 1) % 16] % 16u) + i;
		if (ticks >= head->start_time)
			break;
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
	if (!err && head->nr_instances)
		area_keep_replaced_instances(name + dir);
	return err;
}

/* Remove the socket of the agent that exec ended. Ours may never get to take the name over. */
static void drop_replaced_socket(void)
{
	char path[AREA_PATH_BYTES + sizeof(AGENT_SUFFIX)];
	size_t n = str_copy(path, AREA_PATH_BYTES, area_path);

	str_copy(path + n, sizeof(AGENT_SUFFIX), AGENT_SUFFIX);
	sys_unlink(path);
}

/*
 * A file of our name exists. If it belongs to the image that exec replaced, it makes room. If it
 * belongs to another engine in this image, that one was first.
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
	    memcmp(head.image_id, image_id, 16))
		drop_replaced_socket();
	if (n == (long)sizeof(head) && head.magic == AREA_MAGIC &&
	    memcmp(head.image_id, image_id, 16) && !keep_replaced(&head, fd)) {
		sys_close(fd);
		return 0;
	}
	sys_close(fd);
	if (n == (long)sizeof(head) && head.magic == AREA_MAGIC && head.nr_instances &&
	    memcmp(head.image_id, image_id, 16))
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

	h->magic = AREA_MAGIC;
	h->major = AREA_MAJOR;
	h->minor = AREA_MINOR;
	h->header_bytes = sizeof(*h);
	h->page_bytes = PAGE_BYTES;
	h->nr_tables = AREA_NR_FIRST_TABLES;
	h->nr_more_tables = AREA_NR_MORE_TABLES;
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
	h->oops_offset = at;
	at = page_up(at + sizeof(struct area_oops));
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

/* Memory for the bytes @from .. @to of a table. Return: 0 or -errno. */
static int back_table(struct area_header *head, enum area_table_id id, uint64_t from, uint64_t to)
{
	int err;

	if (head == area && to <= load_relaxed(&backed[id]))
		return 0;
	err = back_range(head, AREA_TABLE(head, id)->offset + from, to - from);
	/* two threads at once: the lower value is as good */
	if (!err && head == area)
		store_relaxed(&backed[id], page_up(to));
	return err;
}

int area_reserve_in(struct area_header *head, enum area_table_id id, uint32_t count)
{
	const struct area_table *t = AREA_TABLE(head, id);
	/* read once: hits and vestige_status add rows at any moment */
	uint32_t from = __atomic_load_n(&t->count, __ATOMIC_RELAXED);

	if (count > t->capacity)
		return -ENOSPC;
	if (count <= from)
		return 0;
	return back_table(head, id, (uint64_t)from * t->entry_bytes,
			  (uint64_t)count * t->entry_bytes);
}

int area_reserve_stack(void)
{
	return back_range(area, area->stack_offset, sizeof(struct area_stack));
}

int area_reserve_oops(void)
{
	return back_range(area, area->oops_offset, sizeof(struct area_oops));
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
	AREA_TABLE(h, AREA_LATENCIES)->count = 1;
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
		err = area_reserve_in(m, AREA_LATENCIES, 1);
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

	memset(backed, 0, sizeof(backed));
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

static int folder = -1, folder_of; /* the thread */

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
	 * other threads may add lines too: each has its own place, with memory behind it
	 */
	at = __atomic_load_n(&t->count, __ATOMIC_RELAXED);
	do {
		if (s.len > t->capacity - at || back_table(area, AREA_STATUS, at, at + s.len)) {
			__atomic_fetch_add(&area->status_bytes_lost, (uint32_t)s.len,
					   __ATOMIC_RELAXED);
			return;
		}
	} while (!__atomic_compare_exchange_n(&t->count, &at, at + (uint32_t)s.len, 0,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	memcpy(area_entry(AREA_STATUS, at), line, s.len);
}
