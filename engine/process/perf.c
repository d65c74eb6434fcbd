/* SPDX-License-Identifier: MIT */
/*
 * See perf.h. A CPU's ring belongs to an event of the agent's own thread that counts nothing, so
 * kinds and threads may come and go beside it. The list of threads is read until there is no new
 * one: a thread that is made later by one with an event inherits the event (inherit_thread, Linux
 * 5.13). So a thread may be reported twice, by two families of events. Such doubles are next to
 * each other in a ring, and the reader drops one. fork: the child has neither rings (the kernel
 * does not copy them) nor descriptors, and opens its own. Tests: tests/engine/events/sched.
 */
#include "engine/process/perf.h"

#include <errno.h>
#include <time.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/sort.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/process/perf_sample.h"
#include "engine/process/thread_list.h"
#include "engine/ring/ring.h"

#define ROOT_PAGES     256u /* of a ring, for root */
#define USER_PAGES     32u /* of a ring; all processes of a user share the limit of locked memory */
#define PAGE	       4096u
#define MAX_BYTES      2048u /* longest record */
#define MAX_ROUNDS     64u
#define IOC_ENABLE     0x2400
#define IOC_SET_OUTPUT 0x2405
#define IOC_SET_FILTER 0x40082406
#define IOC_ID	       0x80082407
#define CLOEXEC	       8 /* PERF_FLAG_FD_CLOEXEC */

struct ring_of_cpu {
	struct perf_event_mmap_page *head; /* NULL: the CPU has no ring */
	uint64_t bytes;			   /* size of the ring's data */
	int fd;
	uint64_t at, end; /* the data that perf_read() reads now */
	struct perf_record rec;
	uint64_t next; /* position behind rec */
	uint8_t copy[MAX_BYTES] __attribute__((aligned(8)));
};

struct opened {
	uint64_t id;
	uint64_t closed_ns; /* 0: it is open; else its last records may not have been read yet */
	int fd;
	uint32_t kind : 31;
	uint32_t with_stack : 1;
};

static struct ring_of_cpu *per_cpu;  /* for nr_cpus CPUs; NULL: there are no rings */
static uint32_t nr_cpus, open_kinds; /* a bit for each kind */
static uint64_t sample_types[PERF_MAX_KINDS];
static struct opened *opened;
static uint32_t nr_opened, room_opened;

static long open_event(const struct perf_event_attr *attr, int tid, uint32_t cpu)
{
	return arch_syscall(SYS_perf_event_open, (long)attr, tid, (long)cpu, -1, CLOEXEC, 0);
}

/* Set what all events that write into one ring have in common. */
static void complete(struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	/*
	 * without the period, a tracepoint that counts by a field makes one sample for each unit
	 */
	attr->sample_type |= PERF_SAMPLE_COMMON;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

static int make_ring(struct ring_of_cpu *c, uint32_t cpu)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};
	uint32_t pages = sys_geteuid() ? USER_PAGES : ROOT_PAGES;
	long fd, p = -ENOMEM;

	complete(&attr);
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.watermark = 1;
	for (; pages; pages /= 2) {
		attr.wakeup_watermark = pages * PAGE / 2;
		fd = open_event(&attr, 0, cpu);
		if (fd < 0)
			return (int)fd;
		p = sys_mmap(NULL, (pages + 1) * (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			     (int)fd, 0);
		if (!sys_failed(p))
			break;
		sys_close((int)fd);
	}
	if (sys_failed(p))
		return (int)p;
	*c = (struct ring_of_cpu){
		.head = (void *)p, .bytes = (uint64_t)pages * PAGE, .fd = (int)fd};
	return 0;
}

static void close_rings(void)
{
	uint32_t i;

	for (i = 0; per_cpu && i < nr_cpus; i++) {
		if (!per_cpu[i].head)
			continue;
		sys_munmap(per_cpu[i].head, per_cpu[i].bytes + PAGE);
		sys_close(per_cpu[i].fd);
	}
	heap_free(per_cpu);
	per_cpu = NULL;
}

/* Open the rings. A CPU that is offline has no event. */
static int open_rings(void)
{
	uint32_t i, n = 0;
	int err = 0;

	nr_cpus = area->nr_cpus;
	per_cpu = heap_alloc(nr_cpus * sizeof(*per_cpu));
	if (!per_cpu)
		return -ENOMEM;
	for (i = 0; i < nr_cpus; i++) {
		err = make_ring(&per_cpu[i], i);
		if (err && err != -ENODEV)
			break;
		n += !err;
	}
	if (i == nr_cpus && n)
		return 0;
	close_rings();
	return err;
}

static int remember(int fd, uint32_t kind, const struct perf_event_attr *attr)
{
	struct opened *more = heap_grow(opened, nr_opened, &room_opened, sizeof(*more));

	if (!more)
		return -ENOMEM;
	opened = more;
	more = &opened[nr_opened++];
	*more = (struct opened){
		.fd = fd,
		.kind = kind,
		.with_stack = !!(attr->sample_type & PERF_SAMPLE_STACK_USER),
	};
	arch_syscall(SYS_ioctl, fd, IOC_ID, (long)&more->id, 0, 0, 0);
	return 0;
}

static int control(long fd, long op, long arg)
{
	return (int)arch_syscall(SYS_ioctl, fd, op, arg, 0, 0, 0);
}

/* @tid: a thread; -1: any thread, on all CPUs. A thread that has just ended is no error. */
static int open_on_cpus(uint32_t kind, const struct perf_event_attr *attr, int tid,
			const char *filter)
{
	uint32_t cpu;
	int err;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		long fd;

		if (!per_cpu[cpu].head)
			continue;
		fd = open_event(attr, tid, cpu);
		if (fd == -ESRCH)
			return 0;
		if (fd < 0)
			return (int)fd;
		err = control(fd, IOC_SET_OUTPUT, per_cpu[cpu].fd);
		if (!err && filter)
			err = control(fd, IOC_SET_FILTER, (long)filter);
		if (!err && attr->disabled)
			err = control(fd, IOC_ENABLE, 0);
		if (!err)
			err = remember((int)fd, kind, attr);
		if (err) {
			sys_close((int)fd);
			return err;
		}
	}
	return 0;
}

struct seen {
	int *tids;
	uint32_t nr, room;
};

static int see(struct seen *s, int tid)
{
	uint32_t i;
	int *more;

	for (i = 0; i < s->nr; i++)
		if (s->tids[i] == tid)
			return 0;
	more = heap_grow(s->tids, s->nr, &s->room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->tids = more;
	s->tids[s->nr++] = tid;
	return 1;
}

struct opening {
	uint32_t kind, found;
	const struct perf_event_attr *attr;
	struct seen seen;
};

static int open_new_thread(int tid, void *data)
{
	struct opening *o = data;
	int err = tid == sys_gettid() ? 0 : see(&o->seen, tid);

	if (err <= 0)
		return err;
	o->found++;
	return open_on_cpus(o->kind, o->attr, tid, NULL);
}

int perf_open(uint32_t kind, const struct perf_event_attr *kinds)
{
	struct perf_event_attr attr = *kinds;
	struct opening o = {.kind = kind, .found = 1, .attr = &attr};
	uint32_t round;
	int err = 0;

	if (!per_cpu)
		err = open_rings();
	if (err)
		return err;
	open_kinds |= 1u << kind;
	complete(&attr);
	sample_types[kind] = attr.sample_type;
	attr.inherit = 1;
	attr.inherit_thread = 1;
	for (round = 0; !err && o.found && round < MAX_ROUNDS; round++) {
		o.found = 0;
		err = thread_list_each(open_new_thread, &o);
	}
	heap_free(o.seen.tids);
	if (err)
		perf_close(kind);
	return err;
}

/* Close the first @nr open events of a kind. */
static void close_events(uint32_t kind, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (opened[i].kind != kind || opened[i].closed_ns)
			continue;
		sys_close(opened[i].fd);
		opened[i].closed_ns = ring_clock_mono();
	}
}

/* Remove events whose records have all been read; the others keep their order. */
static void forget_closed(uint64_t until)
{
	uint32_t i, n = 0;

	for (i = 0; i < nr_opened; i++)
		if (!opened[i].closed_ns || opened[i].closed_ns >= until)
			opened[n++] = opened[i];
	nr_opened = n;
}

int perf_open_cpus(uint32_t kind, const struct perf_event_attr *kinds, const char *filter)
{
	struct perf_event_attr attr = *kinds;
	uint32_t before;
	int err = 0;

	if (!per_cpu)
		err = open_rings();
	if (err)
		return err;
	complete(&attr);
	sample_types[kind] = attr.sample_type;
	attr.disabled = 1;
	before = nr_opened;
	err = open_on_cpus(kind, &attr, -1, filter);
	if (!err) {
		close_events(kind, before);
		open_kinds |= 1u << kind;
		return 0;
	}
	while (nr_opened > before)
		sys_close(opened[--nr_opened].fd);
	if (!open_kinds)
		close_rings();
	return err;
}

void perf_close(uint32_t kind)
{
	close_events(kind, nr_opened);
	open_kinds &= ~(1u << kind);
	if (open_kinds)
		return;
	close_rings();
	nr_opened = 0;
}

/* The event with that id; events were opened in the order of their ids. NULL: unknown. */
static const struct opened *opened_of(uint64_t id)
{
	uint32_t first = LOWER_BOUND(i, 0, nr_opened, opened[i].id < id);

	return first < nr_opened && opened[first].id == id ? &opened[first] : NULL;
}

static uint32_t kind_of(uint64_t id)
{
	const struct opened *o = opened_of(id);

	return o ? o->kind : PERF_MAX_KINDS;
}

/* The end of each record that is not a sample, and the beginning of a sample. */
struct tail {
	int32_t pid, tid;
	uint64_t ns;
	uint32_t cpu, reserved;
};

/*
 * Read the registers and the stack at @p, a multiple of 8: the registers' ABI, the registers, the
 * stack's size, the stack, and the number of its bytes that are valid.
 */
static void take_stack(struct perf_record *rec, const uint8_t *p, uint32_t bytes)
{
	const uint64_t *word = (const uint64_t *)p;
	uint32_t words = bytes / 8, at = 1 + ARCH_NR_PERF_REGS;
	uint64_t size;

	if (words <= at || word[0] != PERF_SAMPLE_REGS_ABI_64)
		return;
	size = word[at++];
	if (!size || size / 8 >= words - at || word[at + size / 8] > size)
		return;
	rec->regs = word + 1;
	rec->stack = word + at;
	rec->stack_bytes = (uint32_t)word[at + size / 8];
}

static void take_sample(struct perf_record *rec, const uint8_t *p, uint32_t bytes)
{
	uint64_t id;
	uint32_t kind;

	if (!perf_sample_id(p, bytes, &id))
		return;
	kind = kind_of(id);
	if (kind >= PERF_MAX_KINDS || !perf_sample_take(rec, sample_types[kind], p, bytes))
		return;
	rec->kind = kind;
	if (rec->raw && opened_of(id)->with_stack)
		take_stack(rec, rec->raw + rec->raw_bytes,
			   (uint32_t)(p + bytes - rec->raw) - rec->raw_bytes);
}

static void take_other(struct perf_record *rec, const uint8_t *p, uint32_t bytes)
{
	struct tail t;
	uint64_t id;

	if (bytes < 8 + sizeof(t) + 8)
		return;
	memcpy(&t, p + bytes - 8 - sizeof(t), sizeof(t));
	memcpy(&id, p + bytes - 8, 8);
	rec->id = id;
	rec->kind = kind_of(id);
	rec->pid = t.pid;
	rec->tid = t.tid;
	rec->ns = t.ns;
	if (rec->type == PERF_RECORD_LOST && bytes >= 24)
		memcpy(&rec->lost, p + 16, 8);
	if ((rec->type == PERF_RECORD_FORK || rec->type == PERF_RECORD_EXIT) && bytes >= 24)
		memcpy(&rec->task, p + 8, sizeof(rec->task));
}

/* Read the record at c->at into c->rec; 0: there is none. */
static int look(struct ring_of_cpu *c, uint32_t cpu)
{
	const uint8_t *data = (const uint8_t *)c->head + PAGE;
	struct perf_event_header h;
	uint64_t i;

	if (c->at >= c->end)
		return 0;
	/* headers have 8 bytes and are aligned to 8 */
	memcpy(&h, data + c->at % c->bytes, sizeof(h));
	if (h.size < sizeof(h) || h.size > c->end - c->at) {
		c->at = c->end;
		return 0;
	}
	c->next = c->at + h.size;
	c->rec = (struct perf_record){
		.kind = PERF_MAX_KINDS, .type = h.type, .misc = h.misc, .cpu = cpu};
	if (h.size > MAX_BYTES)
		return 1;
	for (i = 0; i < h.size; i += 8)
		memcpy(c->copy + i, data + (c->at + i) % c->bytes, 8);
	if (h.type == PERF_RECORD_SAMPLE)
		take_sample(&c->rec, c->copy, h.size);
	else
		take_other(&c->rec, c->copy, h.size);
	return 1;
}

void perf_read(uint64_t until, void (*record)(const struct perf_record *rec))
{
	struct ring_of_cpu *c, *first;
	uint32_t i;

	for (i = 0; per_cpu && i < nr_cpus; i++) {
		c = &per_cpu[i];
		if (!c->head)
			continue;
		c->at = c->head->data_tail;
		c->end = load_acquire(&c->head->data_head);
		if (!look(c, i))
			c->at = c->end;
	}
	while (per_cpu) {
		first = NULL;
		for (i = 0; i < nr_cpus; i++) {
			c = &per_cpu[i];
			if (c->head && c->at < c->end && c->rec.ns < until &&
			    (!first || c->rec.ns < first->rec.ns))
				first = c;
		}
		if (!first)
			break;
		record(&first->rec);
		first->at = first->next;
		if (!look(first, (uint32_t)(first - per_cpu)))
			first->at = first->end;
	}
	for (i = 0; per_cpu && i < nr_cpus; i++)
		if (per_cpu[i].head)
			store_release(&per_cpu[i].head->data_tail, per_cpu[i].at);
	forget_closed(until);
}

uint32_t perf_descriptors(int *fds, uint32_t max)
{
	uint32_t i, n = 0;

	for (i = 0; per_cpu && i < nr_cpus && n < max; i++)
		if (per_cpu[i].head)
			fds[n++] = per_cpu[i].fd;
	return n;
}

void perf_fork(void)
{
	per_cpu = NULL;
	opened = NULL;
	nr_opened = room_opened = open_kinds = 0;
}
