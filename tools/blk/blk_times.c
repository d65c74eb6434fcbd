/* SPDX-License-Identifier: MIT */
/* See blk_times.h. */
#include "tools/blk/blk_times.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/blk/blk_model.h"

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory for the tables");
}

static void sum_add(struct blk_sum *s, uint64_t t)
{
	if (!s->n || t < s->min)
		s->min = t;
	if (!s->n || t > s->max)
		s->max = t;
	s->total += t;
	s->n++;
}

static uint64_t between(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns < to_ns ? to_ns - from_ns : 1;
}

static int range_add(struct blk_ranges *r, uint64_t ns, double pause_s)
{
	struct blk_range *last = r->nr ? &r->of[r->nr - 1] : NULL;

	if (last && ns < last->to_ns)
		return 0;
	if (last && blk_seconds(ns - last->to_ns) < pause_s) {
		last->to_ns = ns;
		return 0;
	}
	if (ARRAY_ROOM(r->of, r->nr, r->room, 16))
		return no_memory();
	r->of[r->nr++] = (struct blk_range){ns, ns};
	return 0;
}

/* Add [from, to], joined with all ranges that it touches; ranges are in order of time. */
static int live_add(struct blk_ranges *r, uint64_t from, uint64_t to)
{
	size_t first = r->nr, behind;

	while (first && r->of[first - 1].to_ns >= from)
		first--;
	for (behind = first; behind < r->nr && r->of[behind].from_ns <= to; behind++) {
		if (r->of[behind].from_ns < from)
			from = r->of[behind].from_ns;
		if (r->of[behind].to_ns > to)
			to = r->of[behind].to_ns;
	}
	if (first == behind) {
		if (ARRAY_ROOM(r->of, r->nr, r->room, 16))
			return no_memory();
		memmove(r->of + first + 1, r->of + first, (r->nr++ - first) * sizeof(*r->of));
	} else {
		memmove(r->of + first + 1, r->of + behind, (r->nr - behind) * sizeof(*r->of));
		r->nr -= behind - first - 1;
	}
	r->of[first] = (struct blk_range){from, to};
	return 0;
}

static size_t pid_place(const struct blk_model *m, uint32_t pid)
{
	return LOWER_BOUND(i, 0, m->nr_pids, m->pids[i].pid < pid);
}

/*
 * Find or make the process of a pid. The first name of a pid is kept; pids with one name are one
 * process.
 */
static int get_process(struct blk_model *m, uint32_t pid, const char *name, size_t *process)
{
	size_t i = pid_place(m, pid), k;
	char made[BLK_COMM_BYTES + 1];

	if (i < m->nr_pids && m->pids[i].pid == pid) {
		*process = m->pids[i].process;
		return 0;
	}
	if (!name) {
		snprintf(made, sizeof(made), "pid%09u", pid);
		name = made;
	}
	for (k = 0; k < m->nr_processes; k++)
		if (!strcmp(m->processes[k].name, name))
			break;
	if (k == m->nr_processes) {
		if (ARRAY_ROOM(m->processes, m->nr_processes, m->room_processes, 64))
			return no_memory();
		m->processes[m->nr_processes++] =
			(struct blk_process){.pid = pid, .last_q_ns = BLK_NEVER};
		snprintf(m->processes[k].name, sizeof(m->processes[k].name), "%s", name);
	}
	if (ARRAY_ROOM(m->pids, m->nr_pids, m->room_pids, 64))
		return no_memory();
	memmove(m->pids + i + 1, m->pids + i, (m->nr_pids++ - i) * sizeof(*m->pids));
	m->pids[i] = (struct blk_pid){pid, k};
	*process = k;
	return 0;
}

static void take_note(void *arg, const struct blk_record *rec)
{
	char name[BLK_COMM_BYTES + 1] = "";
	unsigned int n = rec->pdu_bytes < BLK_COMM_BYTES ? rec->pdu_bytes : BLK_COMM_BYTES;
	size_t process;

	if (rec->e.action != BLK_NOTE_PROCESS)
		return;
	if (n)
		memcpy(name, rec->pdu, n);
	/* all kworkers are one process */
	name[strcspn(name, "/")] = '\0';
	/* on ENOMEM the name is made from the pid later, which fails, too */
	(void)get_process(arg, rec->e.pid, rec->e.pid ? name : "kernel", &process);
}

static struct blk_queued *queued_of(struct blk_tree_node *n)
{
	return (struct blk_queued *)n;
}

/*
 * The queued request that contains a sector: of several, the one nearest to the root of the tree.
 */
static struct blk_queued *queued_at(struct blk_device *d, uint64_t sector)
{
	struct blk_tree_node *n = d->queued.root;

	while (n && (sector < queued_of(n)->sector || sector >= queued_of(n)->end))
		n = n->child[sector >= queued_of(n)->sector];
	return n ? queued_of(n) : NULL;
}

struct found {
	struct blk_queued **of; /* malloced */
	size_t nr, room;
};

/* Find the queued requests that lie in a request, in btt's order. Return: 0 or -errno. */
static int find_within(struct blk_tree_node *n, uint64_t sector, uint64_t end, struct found *found)
{
	struct blk_queued *q = queued_of(n);
	int err = 0;

	if (!n)
		return 0;
	if (sector <= q->sector && q->end <= end) {
		if (ARRAY_ROOM(found->of, found->nr, found->room, 16))
			return no_memory();
		found->of[found->nr++] = q;
	}
	if (sector < q->sector)
		err = find_within(n->child[BLK_LEFT], sector, end, found);
	if (!err && q->end < end)
		err = find_within(n->child[BLK_RIGHT], sector, end, found);
	return err;
}

static void free_queued(struct blk_tree_node *n)
{
	free(queued_of(n));
}

static struct blk_device *find_device(struct blk_model *m, uint32_t device)
{
	for (size_t i = 0; i < m->nr_devices; i++)
		if (m->devices[i].device == device)
			return &m->devices[i];
	return NULL;
}

/*
 * The device of a record. NULL: the record does not count, because nothing was queued there before;
 * or memory is short (*err).
 */
static struct blk_device *get_device(struct blk_model *m, uint32_t device,
				     const struct blk_event *e, int *err)
{
	struct blk_device *d = find_device(m, device);

	if (!d) {
		if (ARRAY_ROOM(m->devices, m->nr_devices, m->room_devices, 8)) {
			*err = no_memory();
			return NULL;
		}
		d = &m->devices[m->nr_devices++];
		*d = (struct blk_device){.device = device,
					 .culling = true,
					 .last_q_ns = BLK_NEVER,
					 .begin_s = blk_seconds(e->time_ns)};
	}
	if (d->culling && BLK_ACT(e->action) != BLK_QUEUE && BLK_ACT(e->action) != BLK_REMAP)
		return NULL;
	d->culling = false;
	d->end_s = blk_seconds(e->time_ns);
	return d;
}

static void add_step(struct blk_model *m, struct blk_device *d, const struct blk_queued *q,
		     enum blk_step step, uint64_t ns)
{
	sum_add(&m->sums[step], ns);
	sum_add(&d->sums[step], ns);
	sum_add(&m->processes[q->process].sums[step], ns);
}

static void add_q2q(uint64_t *last_ns, struct blk_sum *sums, bool remapper, uint64_t ns)
{
	if (*last_ns != BLK_NEVER)
		sum_add(&sums[remapper ? Q2Q_DM : Q2Q], between(*last_ns, ns));
	*last_ns = ns;
}

/* Keep a request for the tables of the program. *@io: gets its number. */
static int add_io(struct blk_model *m, const struct blk_event *e, size_t process, size_t *io)
{
	const char *name = m->processes[process].name;

	*io = SIZE_MAX;
	if (!m->f->program || !blk_is_device_asked(m, e->device) || !blk_is_program_asked(m, name))
		return 0;
	if (ARRAY_ROOM(m->ios.of, m->ios.nr, m->ios.room, 1024))
		return no_memory();
	*io = m->ios.nr++;
	m->ios.of[*io] = (struct blk_io){
		.ts_ns = m->zero_ns + e->time_ns,
		.bytes = e->bytes,
		.q2c_ns = BLK_IO_OPEN,
		.tid = e->pid,
		.of = strcmp(name, "kworker") != 0 ? BLK_IO_OTHER : BLK_IO_WRITEBACK,
		.is_write = BLK_HAS(e, BLK_CAT_WRITE),
	};
	return 0;
}

static int take_queue(struct blk_model *m, struct blk_device *d, const struct blk_event *e)
{
	uint64_t end = e->sector + blk_sectors(e);
	bool remapper = blk_is_remapper(e->device);
	struct blk_tree_node *parent = NULL, *at = d->queued.root;
	struct blk_process *p;
	struct blk_queued *q;
	int err, side = BLK_LEFT;
	size_t process, io;

	err = get_process(m, e->pid, NULL, &process);
	if (!err)
		err = add_io(m, e, process, &io);
	if (err)
		return err;
	q = malloc(sizeof(*q));
	if (!q)
		return no_memory();
	*q = (struct blk_queued){.sector = e->sector,
				 .end = end,
				 .q_ns = e->time_ns,
				 .g_ns = BLK_NEVER,
				 .i_ns = BLK_NEVER,
				 .m_ns = BLK_NEVER,
				 .d_ns = BLK_NEVER,
				 .s_ns = BLK_NEVER,
				 .process = process,
				 .io = io};
	for (; at && e->sector != queued_of(at)->sector; at = at->child[side]) {
		side = e->sector > queued_of(at)->sector;
		parent = at;
	}
	if (at) {
		/* btt forgets a request when another one with the same first sector is queued */
		blk_tree_replace(&d->queued, at, &q->node);
		free(queued_of(at));
	} else {
		blk_tree_link(&d->queued, &q->node, parent, side);
	}
	p = &m->processes[process];
	err = blk_seeks_add(&d->q_seeks, e->sector, end, m->f->absolute);
	if (!err)
		err = range_add(&m->activity.q, e->time_ns, m->f->range_s);
	if (!err)
		err = range_add(&d->activity.q, e->time_ns, m->f->range_s);
	if (!err)
		err = range_add(&p->activity.q, e->time_ns, m->f->range_s);
	add_q2q(&d->last_q_ns, d->sums, remapper, e->time_ns);
	add_q2q(&p->last_q_ns, p->sums, remapper, e->time_ns);
	add_q2q(&m->last_q_ns, m->sums, remapper, e->time_ns);
	d->nr_q++;
	d->at_q += d->in_queue++;
	return err;
}

static void take_remap(struct blk_model *m, const struct blk_record *r, int *err)
{
	struct blk_device *d;
	struct blk_remap remap;
	struct blk_queued *q;

	if (!blk_pdu_remap(r, &remap) || !get_device(m, remap.to, &r->e, err))
		return;
	d = find_device(m, remap.from);
	q = d ? queued_at(d, remap.sector_from) : NULL;
	if (q)
		add_step(m, d, q, blk_is_remapper(remap.from) ? Q2A_DM : Q2A,
			 between(q->q_ns, r->e.time_ns));
}

static void take_step(struct blk_model *m, struct blk_device *d, const struct blk_event *e)
{
	struct blk_queued *q = queued_at(d, e->sector);
	unsigned int act = BLK_ACT(e->action);

	if ((act == BLK_BACKMERGE || act == BLK_FRONTMERGE) && d->in_queue)
		d->in_queue--;
	if (!q)
		return;
	switch (act) {
	case BLK_SLEEPRQ:
		q->s_ns = e->time_ns;
		break;
	case BLK_GETRQ:
		q->g_ns = e->time_ns;
		add_step(m, d, q, Q2G, between(q->q_ns, e->time_ns));
		if (q->s_ns != BLK_NEVER)
			add_step(m, d, q, S2G, between(q->s_ns, e->time_ns));
		break;
	case BLK_INSERT:
		q->i_ns = e->time_ns;
		if (q->g_ns != BLK_NEVER)
			add_step(m, d, q, G2I, between(q->g_ns, e->time_ns));
		break;
	default:
		q->m_ns = e->time_ns;
		add_step(m, d, q, Q2M, between(q->q_ns, e->time_ns));
	}
}

static void add_q2d(struct blk_q2d *h, uint64_t ns)
{
	static const unsigned int below_ms[] = {5, 10, 25, 50, 75, 100, 250, 500, 1000};
	unsigned int class = 0;

	while (class < BLK_Q2D_CLASSES - 1 && (long)(blk_seconds(ns) / 0.001) >= below_ms[class])
		class ++;
	h->of[class]++;
	h->n++;
}

static int take_issue(struct blk_model *m, struct blk_device *d, const struct blk_event *e)
{
	uint64_t end = e->sector + blk_sectors(e);
	struct found found = {0};
	int err = find_within(d->queued.root, e->sector, end, &found);

	if (d->in_queue)
		d->in_queue--;
	d->nr_d++;
	for (size_t i = 0; i < found.nr; i++) {
		struct blk_queued *q = found.of[i];

		if (q->i_ns != BLK_NEVER)
			add_step(m, d, q, I2D, between(q->i_ns, e->time_ns));
		else if (q->m_ns != BLK_NEVER)
			add_step(m, d, q, M2D, between(q->m_ns, e->time_ns));
		q->d_ns = e->time_ns;
		add_q2d(&d->q2d, e->time_ns - q->q_ns);
	}
	free(found.of);
	return err ? err : blk_seeks_add(&d->d_seeks, e->sector, end, m->f->absolute);
}

static int take_complete(struct blk_model *m, struct blk_device *d, const struct blk_event *e)
{
	struct found found = {0};
	size_t process;
	int err = get_process(m, e->pid, NULL, &process);

	if (err)
		return err;
	sum_add(&d->blocks, blk_sectors(e));
	err = range_add(&m->activity.c, e->time_ns, m->f->range_s);
	if (!err)
		err = range_add(&d->activity.c, e->time_ns, m->f->range_s);
	if (!err)
		err = range_add(&m->processes[process].activity.c, e->time_ns, m->f->range_s);
	if (!err)
		err = find_within(d->queued.root, e->sector, e->sector + blk_sectors(e), &found);
	for (size_t i = 0; i < found.nr; i++) {
		struct blk_queued *q = found.of[i];

		add_step(m, d, q, blk_is_remapper(d->device) ? Q2C_DM : Q2C,
			 between(q->q_ns, e->time_ns));
		if (q->io < m->ios.nr)
			m->ios.of[q->io].q2c_ns = between(q->q_ns, e->time_ns);
		if (q->d_ns != BLK_NEVER) {
			add_step(m, d, q, D2C, between(q->d_ns, e->time_ns));
			if (!err)
				err = live_add(&d->live, q->d_ns, e->time_ns);
			if (!err)
				err = live_add(&m->live, q->d_ns, e->time_ns);
		}
		blk_tree_erase(&d->queued, &q->node);
		free(q);
	}
	free(found.of);
	return err;
}

static void take_plug(struct blk_model *m, const struct blk_record *r)
{
	struct blk_device *d = find_device(m, r->e.device);
	double now_s = blk_seconds(r->e.time_ns);
	unsigned int act = BLK_ACT(r->e.action);

	if (!d)
		return;
	if (act == BLK_PLUG) {
		if (!d->plugged)
			d->plug_s = now_s;
		d->plugged = true;
		return;
	}
	if (!d->plugged)
		return;
	d->plugged = false;
	d->plugged_s += now_s - d->plug_s;
	*(act == BLK_UNPLUG_IO ? &d->nr_unplugs : &d->nr_timer_unplugs) += 1;
	*(act == BLK_UNPLUG_IO ? &d->ios_up : &d->ios_up_timer) += blk_pdu_number(r);
}

static int take_record(struct blk_model *m, const struct blk_record *r)
{
	const struct blk_event *e = &r->e;
	unsigned int act = BLK_ACT(e->action);
	struct blk_device *d;
	int err = 0;

	switch (act) {
	case BLK_PLUG:
	case BLK_UNPLUG_IO:
	case BLK_UNPLUG_TIMER:
		take_plug(m, r);
		return 0;
	case BLK_REMAP:
		take_remap(m, r, &err);
		return err;
	case BLK_QUEUE:
	case BLK_ISSUE:
	case BLK_COMPLETE:
	case BLK_GETRQ:
	case BLK_SLEEPRQ:
	case BLK_INSERT:
	case BLK_BACKMERGE:
	case BLK_FRONTMERGE:
		if (!e->bytes) /* a flush without data: btt ignores it altogether */
			return 0;
		break;
	case BLK_REQUEUE:
		break;
	default:
		return 0;
	}
	d = get_device(m, e->device, e, &err);
	if (!d)
		return err;
	switch (act) {
	case BLK_QUEUE:
		return take_queue(m, d, e);
	case BLK_ISSUE:
		return take_issue(m, d, e);
	case BLK_COMPLETE:
		return take_complete(m, d, e);
	case BLK_REQUEUE: /* the request is queued again */
		d->nr_q++;
		d->at_q += d->in_queue++;
		return 0;
	}
	take_step(m, d, e);
	return 0;
}

static void model_free(struct blk_model *m)
{
	for (size_t i = 0; i < m->nr_devices; i++) {
		struct blk_device *d = &m->devices[i];

		blk_tree_free(&d->queued, free_queued);
		free(d->activity.q.of);
		free(d->activity.c.of);
		free(d->live.of);
		blk_seeks_free(&d->q_seeks);
		blk_seeks_free(&d->d_seeks);
	}
	for (size_t i = 0; i < m->nr_processes; i++) {
		free(m->processes[i].activity.q.of);
		free(m->processes[i].activity.c.of);
	}
	free(m->devices);
	free(m->processes);
	free(m->pids);
	free(m->activity.q.of);
	free(m->activity.c.of);
	free(m->live.of);
	free(m->ios.of);
}

int blk_times(const struct blk_times_flags *f, struct out *o)
{
	struct blk_model m = {.f = f, .last_q_ns = BLK_NEVER};
	struct blk_record rec;
	struct blk_reader *r;
	unsigned int input;
	int err, got = 1;

	err = blk_reader_open(f->folder, f->names, f->nr_names, false, take_note, &m, &r);
	if (err)
		goto out;
	while (got > 0 && (got = blk_reader_next(r, &input, &rec)) > 0) {
		double s = blk_seconds(rec.e.time_ns);

		m.zero_ns = blk_reader_zero(r);
		if (BLK_HAS(&rec.e, BLK_CAT_NOTIFY) || BLK_HAS(&rec.e, BLK_CAT_PC) || s < f->from_s)
			continue;
		if (f->to_s > 0 && s > f->to_s)
			break;
		err = take_record(&m, &rec);
		if (err)
			got = err;
	}
	blk_reader_close(r);
	err = got < 0 ? got : 0;
	if (!err && f->program)
		err = f->program->find(f->program->arg, m.ios.of, m.ios.nr);
	if (!err) {
		blk_model_end(&m);
		err = f->json ? blk_json_put(o, &m) : blk_tables_put(o, &m);
	}
out:
	model_free(&m);
	return err;
}
