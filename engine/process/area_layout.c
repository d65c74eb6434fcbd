/* SPDX-License-Identifier: MIT */
/*
 * The places of an area's tables, and the memory behind them. A range gets memory before it is used
 * (sys_back), so a full /dev/shm is an error and not a SIGBUS. Control context, or the constructor;
 * area_reserve*() in any context. fork: see area.c. Tests: tests/engine/fire/full.
 */
#include "engine/process/area_impl.h"

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

#include "abi/option.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"

#define SPACE_PARTS 4u /* an area has one of these of the addresses under a limit */

static uint64_t backed[AREA_NR_TABLES]; /* bytes of the process's own area that have memory */
static int backing_fd = -1; /* before Linux 5.14 memory must be allocated through the file */

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

/* Tables of which a part is enough for most programs: together they have 120 MiB of addresses. */
static const uint8_t large[] = {AREA_FUNCTIONS, AREA_FORMATS, AREA_PROBES, AREA_PROFILE,
				AREA_TIMES};

#define LARGE_PARTS 8u /* with area_config.few_rows they have one of these */

static int is_one_of(int id, const uint8_t *ids, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (ids[i] == id)
			return 1;
	return 0;
}

static uint64_t page_up(uint64_t v)
{
	return (v + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

/* The number of pages: the CPUs' first shares, then their second ones. */
static uint32_t nr_page_places(const struct area_config *config)
{
	return config->nr_cpus * config->cpu_room * (config->snapshot ? 2 : 1);
}

/*
 * Small tables of which every area uses a row at once. They are behind the header, so that they
 * need no page each: the kernel takes 4 us for a page of a new file. The last one may be longer.
 */
static const uint8_t small[] = {AREA_CPUS, AREA_SNAPSHOTS, AREA_LATENCIES, AREA_BUFFERS};

#define SMALL_ALIGN 128u /* two lines, as writers of different CPUs have rows side by side */

static int is_small(int id)
{
	return is_one_of(id, small, ARRAY_SIZE(small));
}

static uint64_t table_bytes(const struct area_table *t)
{
	return (uint64_t)t->capacity * t->entry_bytes;
}

/* Compute the offsets of all tables and of the pages behind them. Return: the size of the file. */
uint64_t area_lay_out(struct area_header *h, const struct area_config *config)
{
	uint64_t at = sizeof(*h);
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
		if (config->few_rows && is_one_of(i, large, ARRAY_SIZE(large)))
			capacity /= LARGE_PARTS;
		AREA_TABLE(h, i)->entry_bytes = layout[i].entry_bytes;
		AREA_TABLE(h, i)->capacity = capacity;
	}
	for (i = 0; i < (int)ARRAY_SIZE(small); i++) {
		struct area_table *t = AREA_TABLE(h, small[i]);

		t->offset = (at + SMALL_ALIGN - 1) & ~(uint64_t)(SMALL_ALIGN - 1);
		at = t->offset + table_bytes(t);
	}
	at = page_up(at);
	for (i = 0; i < AREA_NR_TABLES; i++) {
		struct area_table *t = AREA_TABLE(h, i);

		if (is_small(i))
			continue;
		t->offset = at;
		at = page_up(at + table_bytes(t));
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

int area_back_table(struct area_header *head, enum area_table_id id, uint64_t from, uint64_t to)
{
	int err;

	if (head == area && to <= load_relaxed(&backed[id]))
		return 0;
	err = back_range(head, AREA_TABLE(head, id)->offset + from, to - from);
	/* if two threads store it at once, the lower value is as good */
	if (!err && head == area)
		store_relaxed(&backed[id], page_up(to));
	return err;
}

int area_reserve_in(struct area_header *head, enum area_table_id id, uint32_t count)
{
	const struct area_table *t = AREA_TABLE(head, id);
	/* read it once: hits and vestige_status may add rows at any moment */
	uint32_t from = __atomic_load_n(&t->count, __ATOMIC_RELAXED);

	if (count > t->capacity)
		return -ENOSPC;
	if (count <= from)
		return 0;
	return area_back_table(head, id, (uint64_t)from * t->entry_bytes,
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

/* Pages that no CPU may use yet must be inaccessible: mlockall() would give them memory. */
static int reach(struct area_header *h, uint32_t index, uint32_t from, uint32_t to)
{
	uint8_t *pages = (uint8_t *)h + h->pages_offset;

	if (from >= to)
		return 0;
	return sys_mprotect(pages + (uint64_t)(index + from) * PAGE_BYTES,
			    (size_t)(to - from) * PAGE_BYTES, PROT_READ | PROT_WRITE);
}

static int reach_all(struct area_header *h, const struct area_config *config)
{
	uint32_t cpu;
	int err = 0;

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

int area_check_file_limit(uint64_t bytes)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    bytes > limit.rlim_cur)
		return -EFBIG;
	return 0;
}

/* The addresses that the process may still map; UINT64_MAX: any number. */
static uint64_t addresses_left(void)
{
	struct rlimit limit;
	uint64_t pages = 0;
	char text[64];
	long n;
	int fd;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	fd = sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
	n = fd < 0 ? fd : sys_read(fd, text, sizeof(text));
	if (fd >= 0)
		sys_close(fd);
	if (n > 0)
		text_decimal(text, (size_t)n, &pages);
	return pages < limit.rlim_cur / PAGE_BYTES ? limit.rlim_cur - pages * PAGE_BYTES : 0;
}

int area_check_space(uint64_t bytes, uint64_t freed)
{
	uint64_t left = addresses_left();

	return left != UINT64_MAX && bytes > (left + freed) / SPACE_PARTS ? -ENOMEM : 0;
}

/*
 * Map the file; only its tables are accessible, without the room for histograms. Under
 * mlockall(MCL_FUTURE) the kernel gives a new mapping all of its memory at once, unless it is
 * inaccessible. If it is made accessible later, a shared mapping gets a page only when that is
 * touched. Return: as sys_mmap().
 */
static long map_tables(int fd, const struct area_header *h)
{
	const struct area_table *hists = AREA_TABLE(h, AREA_HIST_ROOM);
	uint64_t behind = hists->offset + table_bytes(hists);
	long p = sys_mmap(NULL, h->file_bytes, PROT_NONE, MAP_SHARED, fd, 0);
	int err;

	if (sys_failed(p))
		return p;
	err = sys_mprotect((void *)p, hists->offset, PROT_READ | PROT_WRITE);
	if (!err)
		err = sys_mprotect((uint8_t *)p + behind, h->pages_offset - behind,
				   PROT_READ | PROT_WRITE);
	if (!err)
		return p;
	sys_munmap((void *)p, h->file_bytes);
	return err;
}

int area_map(int fd, const struct area_config *config, const struct area_header *h,
	     struct area_header **head)
{
	struct area_header *m;
	long p;
	int err = area_check_file_limit(h->file_bytes);

	if (head == &area)
		memset(backed, 0, sizeof(backed));
	if (!err)
		err = sys_ftruncate(fd, h->file_bytes);
	if (err < 0)
		return err;
	p = map_tables(fd, h);
	if (sys_failed(p))
		return (int)p;
	m = (void *)p;
	backing_fd = fd;
	err = back_range(m, 0, AREA_TABLE(h, AREA_BUFFERS)->offset + sizeof(struct area_buffer));
	if (!err) {
		memcpy(m, h, sizeof(*h));
		err = reach_all(m, config);
	}
	if (!err)
		err = area_reserve_in(m, AREA_STRINGS, PAGE_BYTES);
	if (!err)
		err = area_reserve_in(m, AREA_STATUS, PAGE_BYTES);
	if (!err && head == &area)
		backed[AREA_STRINGS] = backed[AREA_STATUS] = PAGE_BYTES;
	backing_fd = -1;
	if (err) {
		sys_munmap(m, h->file_bytes);
		return err;
	}
	set_up_buffer(m, config);
	*head = m;
	return 0;
}
