/* SPDX-License-Identifier: MIT */
/* See blk_sums.h. */
#include "tools/blk/blk_sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/blk/blk_line.h"

enum { READS, WRITES, NR_WAYS };

/*
 * Requests and bytes. KiB and the rest below 1024 are separate, because the throughput is computed
 * from the KiB.
 */
struct count {
	uint64_t n, kib, rest;
};

enum {
	QUEUED,
	ISSUED,
	REQUEUED,
	COMPLETED,
	MERGED,
	PC_QUEUED,
	PC_ISSUED,
	PC_REQUEUED,
	PC_COMPLETED,
	NR_COUNTS
};

struct io {
	struct count of[NR_COUNTS][NR_WAYS];
	uint64_t unplugs, timer_unplugs;
};

struct cpu {
	unsigned int number;
	struct io io;
};

/* A request that is not complete, found by its first sector. */
struct track {
	uint64_t sector;
	uint64_t made_ns, inserted_ns, issued_ns; /* BLK_NO_TIME: not yet */
	uint32_t pid;
};

struct device {
	struct cpu *cpus;
	size_t nr_cpus, room_cpus; /* by number, those that are seen: the numbers are untrusted */
	struct track *tracks;	   /* by sector */
	size_t nr_tracks, room_tracks;
	uint32_t depth[NR_WAYS], depth_max[NR_WAYS];
	uint64_t events, first_ns, last_ns;
};

enum { WAIT_MADE, WAIT_INSERTED, WAIT_ISSUED, NR_WAITS };

struct process {
	uint32_t pid;
	bool more; /* other pids have the same name and count here */
	char name[BLK_COMM_BYTES + 1];
	struct io io;
	uint64_t longest_ns[NR_WAITS][NR_WAYS];
};

struct blk_sums {
	bool times, by_process, by_name;
	struct device *devices;
	size_t nr_devices;
	struct process *processes; /* in the order of their first record */
	size_t nr_processes, room_processes;
};

#define CPUS_MAX 65536u

struct blk_sums *blk_sums_new(bool times, bool by_process, bool by_name)
{
	struct blk_sums *s = calloc(1, sizeof(*s));

	if (!s) {
		fail(ENOMEM, "out of memory for the sums");
		return NULL;
	}
	s->times = times;
	s->by_process = by_process;
	s->by_name = by_name;
	return s;
}

void blk_sums_free(struct blk_sums *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr_devices; i++) {
		free(s->devices[i].cpus);
		free(s->devices[i].tracks);
	}
	free(s->devices);
	free(s->processes);
	free(s);
}

/* Make room for index @i in an array of zeroed elements. */
#define GROW(array, nr, i)                                                                         \
	({                                                                                         \
		int err_ = 0;                                                                      \
                                                                                                   \
		if ((i) >= (nr)) {                                                                 \
			void *more_ = reallocarray((array), (size_t)(i) + 1, sizeof(*(array)));    \
                                                                                                   \
			if (more_) {                                                               \
				(array) = more_;                                                   \
				memset((array) + (nr), 0,                                          \
				       ((size_t)(i) + 1 - (nr)) * sizeof(*(array)));               \
				(nr) = (size_t)(i) + 1;                                            \
			} else {                                                                   \
				err_ = fail(ENOMEM, "out of memory for the sums");                 \
			}                                                                          \
		}                                                                                  \
		err_;                                                                              \
	})

/* The row of a CPU. NULL: memory is short; fail() is set. */
static struct cpu *cpu_of(struct device *d, unsigned int number)
{
	size_t i = LOWER_BOUND(k, 0, d->nr_cpus, d->cpus[k].number < number);

	if (i < d->nr_cpus && d->cpus[i].number == number)
		return &d->cpus[i];
	if (ARRAY_ROOM(d->cpus, d->nr_cpus, d->room_cpus, 8)) {
		fail(ENOMEM, "out of memory for the sums");
		return NULL;
	}
	memmove(d->cpus + i + 1, d->cpus + i, (d->nr_cpus++ - i) * sizeof(*d->cpus));
	d->cpus[i] = (struct cpu){.number = number};
	return &d->cpus[i];
}

int blk_sums_seen(struct blk_sums *s, unsigned int input, unsigned int cpu)
{
	int err = GROW(s->devices, s->nr_devices, input);

	if (err)
		return err;
	if (cpu >= CPUS_MAX)
		return fail(EINVAL, "a record of CPU %u: the file is damaged", cpu);
	return cpu_of(&s->devices[input], cpu) ? 0 : -ENOMEM;
}

void blk_sums_reached(struct blk_sums *s, unsigned int input, uint64_t time_ns)
{
	s->devices[input].last_ns = time_ns;
}

void blk_sums_shown(struct blk_sums *s, unsigned int input, uint64_t time_ns)
{
	struct device *d = &s->devices[input];

	if (!d->events++)
		d->first_ns = time_ns;
}

static size_t track_place(const struct device *d, uint64_t sector)
{
	return LOWER_BOUND(i, 0, d->nr_tracks, d->tracks[i].sector < sector);
}

static struct track *find_track(struct device *d, uint64_t sector)
{
	size_t i = track_place(d, sector);

	return i < d->nr_tracks && d->tracks[i].sector == sector ? &d->tracks[i] : NULL;
}

static void remove_track(struct device *d, struct track *t)
{
	size_t i = (size_t)(t - d->tracks);

	memmove(t, t + 1, (--d->nr_tracks - i) * sizeof(*t));
}

/* A process without a name is "unknown" from now on, as in blkparse. Return: 0 or -errno. */
static int name_unknown(struct blk_reader *r, uint32_t pid)
{
	static const char unknown[] = "unknown";

	return blk_reader_add_name(r, pid, unknown, sizeof(unknown) - 1);
}

/* NULL: no memory, with fail() set. */
static struct track *get_track(struct device *d, struct blk_reader *r, const struct blk_event *e)
{
	size_t i = track_place(d, e->sector);

	if (i < d->nr_tracks && d->tracks[i].sector == e->sector)
		return &d->tracks[i];
	if (name_unknown(r, e->pid))
		return NULL;
	if (ARRAY_ROOM(d->tracks, d->nr_tracks, d->room_tracks, 64)) {
		fail(ENOMEM, "out of memory for requests");
		return NULL;
	}
	memmove(d->tracks + i + 1, d->tracks + i, (d->nr_tracks++ - i) * sizeof(*d->tracks));
	d->tracks[i] = (struct track){.sector = e->sector,
				      .made_ns = BLK_NO_TIME,
				      .inserted_ns = BLK_NO_TIME,
				      .issued_ns = BLK_NO_TIME,
				      .pid = e->pid};
	return &d->tracks[i];
}

/* NULL: no memory, with fail() set. */
static struct process *get_process(struct blk_sums *s, struct blk_reader *r, uint32_t pid)
{
	const char *name;
	struct process *p;

	if (name_unknown(r, pid))
		return NULL;
	name = blk_reader_name(r, pid);
	for (size_t i = 0; i < s->nr_processes; i++) {
		p = &s->processes[i];
		if (p->pid == pid)
			return p;
		if (s->by_name && !strcmp(p->name, name)) {
			p->more = true;
			return p;
		}
	}
	if (ARRAY_ROOM(s->processes, s->nr_processes, s->room_processes, 64)) {
		fail(ENOMEM, "out of memory for processes");
		return NULL;
	}
	p = &s->processes[s->nr_processes++];
	*p = (struct process){.pid = pid};
	snprintf(p->name, sizeof(p->name), "%s", name);
	return p;
}

static void count(struct count *c, uint32_t bytes)
{
	c->n++;
	c->kib += bytes >> 10;
	c->rest += bytes & 1023;
}

static void add_io(struct io *io, const struct blk_event *e, int way)
{
	int pc = BLK_HAS(e, BLK_CAT_PC) ? PC_QUEUED - QUEUED : 0;

	switch (BLK_ACT(e->action)) {
	case BLK_QUEUE:
		count(&io->of[pc + QUEUED][way], e->bytes);
		break;
	case BLK_BACKMERGE:
	case BLK_FRONTMERGE:
		if (pc)
			break;
		count(&io->of[MERGED][way], e->bytes);
		break;
	case BLK_ISSUE:
		count(&io->of[pc + ISSUED][way], e->bytes);
		break;
	case BLK_REQUEUE:
		io->of[pc + REQUEUED][way].n++;
		io->of[pc + ISSUED][way].kib -= e->bytes >> 10;
		io->of[pc + ISSUED][way].rest -= e->bytes & 1023;
		break;
	case BLK_COMPLETE:
		count(&io->of[pc + COMPLETED][way], e->bytes);
		break;
	case BLK_UNPLUG_IO:
		io->unplugs++;
		break;
	case BLK_UNPLUG_TIMER:
		io->timer_unplugs++;
		break;
	}
}

static int waited(struct blk_sums *s, struct blk_reader *r, const struct track *t, int wait,
		  int way, uint64_t ns)
{
	struct process *p;

	if (!s->by_process || ns == BLK_NO_TIME)
		return 0;
	p = get_process(s, r, t->pid);
	if (!p)
		return -ENOMEM;
	if (ns > p->longest_ns[wait][way])
		p->longest_ns[wait][way] = ns;
	return 0;
}

static uint64_t since(uint64_t then_ns, uint64_t now_ns)
{
	return then_ns == BLK_NO_TIME ? BLK_NO_TIME : now_ns - then_ns;
}

/* Is it md or device mapper? For these the time from queue to complete is counted. */
static bool is_remapper(uint32_t device)
{
	return BLK_MAJOR(device) == 253 || BLK_MAJOR(device) == 9;
}

static int follow(struct blk_sums *s, struct blk_reader *r, struct device *d,
		  const struct blk_event *e, int way, uint64_t *elapsed_ns)
{
	struct track *t;
	int err;

	switch (BLK_ACT(e->action)) {
	case BLK_QUEUE:
	case BLK_GETRQ:
		if (BLK_ACT(e->action) == BLK_QUEUE && !is_remapper(e->device))
			return 0;
		t = get_track(d, r, e);
		if (!t)
			return -ENOMEM;
		if (BLK_ACT(e->action) == BLK_GETRQ)
			t->made_ns = e->time_ns;
		else
			t->issued_ns = e->time_ns;
		return 0;
	case BLK_FRONTMERGE:
		t = find_track(d, e->sector + blk_sectors(e));
		if (t) {
			struct track moved = *t;
			struct blk_event at = *e;

			moved.sector = e->sector;
			remove_track(d, t);
			t = get_track(d, r, &at);
			if (!t)
				return -ENOMEM;
			*t = moved;
		}
		return 0;
	case BLK_INSERT:
		t = get_track(d, r, e);
		if (!t)
			return -ENOMEM;
		t->inserted_ns = e->time_ns;
		*elapsed_ns = since(t->made_ns, e->time_ns);
		return waited(s, r, t, WAIT_MADE, way, *elapsed_ns);
	case BLK_ISSUE:
		t = BLK_HAS(e, BLK_CAT_FS) ? find_track(d, e->sector) : NULL;
		if (!t)
			return 0;
		t->issued_ns = e->time_ns;
		*elapsed_ns = since(t->inserted_ns != BLK_NO_TIME ? t->inserted_ns : t->made_ns,
				    e->time_ns);
		return waited(s, r, t, WAIT_INSERTED, way, *elapsed_ns);
	case BLK_COMPLETE:
		t = find_track(d, e->sector);
		if (!t)
			return 0;
		*elapsed_ns = since(t->issued_ns, e->time_ns);
		err = waited(s, r, t, WAIT_ISSUED, way, *elapsed_ns);
		remove_track(d, t);
		return err;
	}
	return 0;
}

int blk_sums_add(struct blk_sums *s, struct blk_reader *r, unsigned int input, unsigned int cpu,
		 const struct blk_record *rec, uint64_t *elapsed_ns)
{
	const struct blk_event *e = &rec->e;
	int way = BLK_HAS(e, BLK_CAT_WRITE) ? WRITES : READS;
	struct device *d = &s->devices[input];
	unsigned int act = BLK_ACT(e->action);
	struct cpu *c;

	*elapsed_ns = BLK_NO_TIME;
	c = cpu_of(d, cpu);
	if (!c)
		return -ENOMEM;
	add_io(&c->io, e, way);
	if (s->by_process && act && act < BLK_SPLIT && act != BLK_GETRQ && act != BLK_SLEEPRQ &&
	    act != BLK_PLUG && act != BLK_INSERT) {
		struct process *p = get_process(s, r, e->pid);

		if (!p)
			return -ENOMEM;
		add_io(&p->io, e, way);
	}
	if ((act == BLK_REQUEUE || act == BLK_COMPLETE) && d->depth[way])
		d->depth[way]--;
	if (act == BLK_ISSUE && ++d->depth[way] > d->depth_max[way])
		d->depth_max[way] = d->depth[way];
	return s->times && !BLK_HAS(e, BLK_CAT_PC) ? follow(s, r, d, e, way, elapsed_ns) : 0;
}

/* At most seven digits and a unit. */
static const char *size_text(char text[32], uint64_t n, bool kib)
{
	static const char units[] = "\0KMGP";
	unsigned int unit = kib;

	for (; n > 1000000 && unit < sizeof(units) - 2; unit++)
		n /= 1000;
	snprintf(text, 32, "%8" PRIu64 "%.1s", n, &units[unit]);
	return text;
}

static void put_count(struct out *o, const char *what, const struct count *c, const char *end)
{
	char n[32], size[32];

	out_printf(o, " %-16s %s, %siB%s", what, size_text(n, c->n, false),
		   size_text(size, c->kib + (c->rest >> 10), true), end);
}

static void put_counts(struct out *o, const struct io *io, int i, const char *reads,
		       const char *writes)
{
	put_count(o, reads, &io->of[i][READS], "\t");
	put_count(o, writes, &io->of[i][WRITES], "\n");
}

/* Only numbers of requests. */
static void put_numbers(struct out *o, const struct io *io, int i, const char *reads,
			const char *writes)
{
	char n[32];

	out_printf(o, " %-16s %s\t\t", reads, size_text(n, io->of[i][READS].n, false));
	out_printf(o, " %-17s %s\n", writes, size_text(n, io->of[i][WRITES].n, false));
}

static void put_pair(struct out *o, const char *left, uint64_t l, const char *right, uint64_t r)
{
	out_printf(o, " %-16s %8" PRIu64 "%8c\t", left, l, ' ');
	out_printf(o, " %-17s %8" PRIu64 "\n", right, r);
}

/* @d: the device whose queue depth is shown; NULL: none. */
static void put_io(struct out *o, const struct device *d, const struct io *io)
{
	bool pc = false;

	put_counts(o, io, QUEUED, "Reads Queued:", "Writes Queued:   ");
	put_counts(o, io, ISSUED, "Read Dispatches:", "Write Dispatches:");
	put_numbers(o, io, REQUEUED, "Reads Requeued:", "Writes Requeued:");
	put_counts(o, io, COMPLETED, "Reads Completed:", "Writes Completed:");
	put_counts(o, io, MERGED, "Read Merges:", "Write Merges:    ");
	if (d)
		put_pair(o, "Read depth:", d->depth_max[READS],
			 "Write depth:", d->depth_max[WRITES]);
	for (int i = PC_QUEUED; i < NR_COUNTS; i++)
		pc |= io->of[i][READS].n || io->of[i][WRITES].n;
	if (pc) {
		put_counts(o, io, PC_QUEUED, "PC Reads Queued:", "PC Writes Queued:");
		put_counts(o, io, PC_ISSUED, "PC Read Disp.:", "PC Write Disp.:  ");
		put_numbers(o, io, PC_REQUEUED, "PC Reads Req.:", "PC Writes Req.:");
		put_numbers(o, io, PC_COMPLETED, "PC Reads Compl.:", "PC Writes Compl.:");
	}
	put_pair(o, "IO unplugs:", io->unplugs, "Timer unplugs:", io->timer_unplugs);
}

static int by_name(const void *a, const void *b)
{
	const struct process *p = a, *q = b;
	int c = strverscmp(p->name, q->name);

	return c ? c : p->pid < q->pid ? -1 : p->pid > q->pid;
}

static void sort_processes(const struct blk_sums *s)
{
	if (s->nr_processes)
		qsort(s->processes, s->nr_processes, sizeof(*s->processes), by_name);
}

void blk_sums_put_processes(struct out *o, const struct blk_sums *s)
{
	static const char *const waits[] = {
		"Allocation wait:", "Dispatch wait:", "Completion wait:"};

	sort_processes(s);
	for (size_t i = 0; i < s->nr_processes; i++) {
		const struct process *p = &s->processes[i];

		out_printf(o, p->more ? "%s (%u, ...)\n" : "%s (%u)\n", p->name, p->pid);
		put_io(o, NULL, &p->io);
		for (int w = 0; w < NR_WAITS; w++)
			put_pair(o, waits[w], p->longest_ns[w][READS] / 1000, waits[w],
				 p->longest_ns[w][WRITES] / 1000);
	}
	out_text(o, "\n");
}

static void add_up(struct io *to, const struct io *io)
{
	for (int i = 0; i < NR_COUNTS; i++)
		for (int way = 0; way < NR_WAYS; way++) {
			to->of[i][way].n += io->of[i][way].n;
			to->of[i][way].kib += io->of[i][way].kib;
			to->of[i][way].rest += io->of[i][way].rest;
		}
	to->unplugs += io->unplugs;
	to->timer_unplugs += io->timer_unplugs;
}

static uint64_t rate(const struct count *c, uint64_t ms)
{
	return ms ? (1000 * c->kib + c->rest) / ms : 0;
}

static uint64_t milliseconds(const struct device *d)
{
	return (d->last_ns - d->first_ns) / 1000000;
}

static void put_device(struct out *o, const struct device *d, const char *name, uint64_t gaps,
		       uint64_t missing)
{
	struct io total = {0};
	unsigned int shown = 0;
	uint64_t ms = milliseconds(d), all = d->events + missing;

	for (size_t i = 0; i < d->nr_cpus; i++) {
		add_up(&total, &d->cpus[i].io);
		out_printf(o, "CPU%u (%s):\n", d->cpus[i].number, name);
		put_io(o, d, &d->cpus[i].io);
		shown++;
	}
	if (shown > 1) {
		out_printf(o, "\nTotal (%s):\n", name);
		put_io(o, NULL, &total);
	}
	out_printf(o, "\nThroughput (R/W): %" PRIu64 "KiB/s / %" PRIu64 "KiB/s\n",
		   rate(&total.of[COMPLETED][READS], ms), rate(&total.of[COMPLETED][WRITES], ms));
	out_printf(o, "Events (%s): %" PRIu64 " entries\n", name, d->events);
	out_printf(o, "Skips: %" PRIu64 " forward (%" PRIu64 " - %5.1f%%)\n", gaps, missing,
		   all ? 100.0 * (double)missing / (double)all : 0.0);
}

/* A device for the text and the JSON form. */
struct shown_device {
	const struct device *d;
	const char *name;
	uint64_t gaps, missing; /* records that the file lacks */
};

static void each_device(const struct blk_sums *s, const struct blk_reader *r,
			void (*put)(void *arg, const struct shown_device *shown), void *arg)
{
	static const struct device none;
	const struct blk_input *inputs;
	unsigned int nr;

	inputs = blk_reader_inputs(r, &nr);
	for (unsigned int i = 0; i < nr; i++) {
		struct shown_device shown = {.d = i < s->nr_devices ? &s->devices[i] : &none};
		char numbers[32];

		snprintf(numbers, sizeof(numbers), "%u,%u", BLK_MAJOR(inputs[i].device),
			 BLK_MINOR(inputs[i].device));
		shown.name = inputs[i].name ? inputs[i].name : numbers;
		blk_reader_skips(r, i, &shown.gaps, &shown.missing);
		put(arg, &shown);
	}
}

struct put_devices {
	struct out *o;
	bool others; /* a device was printed before */
};

static void put_next_device(void *arg, const struct shown_device *shown)
{
	struct put_devices *p = arg;

	if (p->others)
		out_text(p->o, "\n");
	p->others = true;
	put_device(p->o, shown->d, shown->name, shown->gaps, shown->missing);
}

void blk_sums_put_devices(struct out *o, const struct blk_sums *s, const struct blk_reader *r)
{
	each_device(s, r, put_next_device, &(struct put_devices){.o = o});
}

static void json_ways(struct json *j, const char *name, uint64_t reads, uint64_t writes)
{
	json_open(j, name, '{');
	json_number(j, "reads", reads);
	json_number(j, "writes", writes);
	json_close(j, '}');
}

/* Counts that the text has only as numbers have no bytes. */
static void json_io(struct json *j, const struct io *io)
{
	static const struct {
		const char *name;
		bool bytes;
	} rows[NR_COUNTS] = {
		[QUEUED] = {"queued", true},
		[ISSUED] = {"issued", true},
		[REQUEUED] = {"requeued", false},
		[COMPLETED] = {"completed", true},
		[MERGED] = {"merged", true},
		[PC_QUEUED] = {"pc_queued", true},
		[PC_ISSUED] = {"pc_issued", true},
		[PC_REQUEUED] = {"pc_requeued", false},
		[PC_COMPLETED] = {"pc_completed", false},
	};

	for (int i = 0; i < NR_COUNTS; i++) {
		json_open(j, rows[i].name, '{');
		for (int way = 0; way < NR_WAYS; way++) {
			const struct count *c = &io->of[i][way];

			json_open(j, way == READS ? "reads" : "writes", '{');
			json_number(j, "n", c->n);
			if (rows[i].bytes)
				json_number(j, "bytes", c->kib * 1024 + c->rest);
			json_close(j, '}');
		}
		json_close(j, '}');
	}
	json_number(j, "unplugs", io->unplugs);
	json_number(j, "timer_unplugs", io->timer_unplugs);
}

void blk_sums_json_processes(struct json *j, const struct blk_sums *s)
{
	static const char *const waits[] = {"allocation_wait", "dispatch_wait", "completion_wait"};

	sort_processes(s);
	json_open(j, "processes", '[');
	for (size_t i = 0; i < s->nr_processes; i++) {
		const struct process *p = &s->processes[i];

		json_open(j, NULL, '{');
		json_text(j, "name", p->name);
		json_number(j, "pid", p->pid);
		json_bool(j, "more", p->more);
		json_io(j, &p->io);
		for (int w = 0; s->times && w < NR_WAITS; w++)
			json_ways(j, waits[w], p->longest_ns[w][READS], p->longest_ns[w][WRITES]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_device(void *arg, const struct shown_device *shown)
{
	const struct device *d = shown->d;
	struct json *j = arg;
	struct io total = {0};
	uint64_t ms = milliseconds(d);

	json_open(j, NULL, '{');
	json_text(j, "device", shown->name);
	json_open(j, "cpus", '[');
	for (size_t i = 0; i < d->nr_cpus; i++) {
		add_up(&total, &d->cpus[i].io);
		json_open(j, NULL, '{');
		json_number(j, "cpu", d->cpus[i].number);
		json_io(j, &d->cpus[i].io);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "total", '{');
	json_io(j, &total);
	json_close(j, '}');
	json_ways(j, "depth", d->depth_max[READS], d->depth_max[WRITES]);
	json_ways(j, "kib_per_s", rate(&total.of[COMPLETED][READS], ms),
		  rate(&total.of[COMPLETED][WRITES], ms));
	json_number(j, "events", d->events);
	json_number(j, "skips", shown->gaps);
	json_number(j, "skipped", shown->missing);
	json_close(j, '}');
}

void blk_sums_json_devices(struct json *j, const struct blk_sums *s, const struct blk_reader *r)
{
	json_open(j, "devices", '[');
	each_device(s, r, json_device, j);
	json_close(j, ']');
}
