/* SPDX-License-Identifier: MIT */
/*
 * Members and their drain: see recorder.h. Costs a pread of a few hundred bytes a member and tick
 * while nothing is published; else the descriptors of the pages in use and one copy of the pages.
 * Tests: tests/cli/test_record.py.
 */
#include "tools/record/recorder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/area/area.h"
#include "tools/area/clock.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/time_ns.h"
#include "tools/record/launch.h"
#include "tools/target/areas_dir.h"

#define NS_PER_MS	UINT64_C(1000000)
#define CLOCK_EVERY_NS	(1000 * NS_PER_MS)
#define META_EVERY_NS	(1000 * NS_PER_MS)
#define LINGER_NS	(2000 * NS_PER_MS)
#define SETTLED_NS	(50 * NS_PER_MS) /* the folder's time of change is finer than this */
#define LET_GO_EVERY_NS (100 * NS_PER_MS)
#define MANY_MEMBERS	64 /* from here on, those that ended are let go early */
#define VERY_MANY	300
#define MAX_UNFILLED	1000 /* ticks that a file may stay without a header */
#define DRAIN_AT_ONCE	500  /* pages between two hand-backs */

struct published {
	uint64_t seq;
	uint32_t index;
	uint32_t cpu;
};

struct member {
	char name[64];
	uint64_t dev, ino;
	int fd;
	uint32_t id; /* in the spool */
	const unsigned char *map;
	uint64_t map_bytes;
	struct meta *meta;
	uint64_t publish_seq;	  /* of the buffer when it was drained last */
	uint64_t meta_ns;	  /* when its tables were written */
	uint64_t active_ns;	  /* when it published last */
	struct area_done drained; /* pages that were written, where the buffer overwrites */
	bool damaged;
};

struct recorder {
	int dirfd;
	uint64_t folder_ns; /* the folder's change that was scanned last; 0: to be scanned again */
	const char *session;
	struct spool_writer *spool;
	struct member *members;
	unsigned int nr_members, room;
	uint32_t next_id;
	unsigned int unfilled; /* ticks in a row with a file that has no header yet */
	bool rescan;
	bool counter; /* some member has the stamp counter for its clock */
	uint64_t clock_ns, let_go_ns;
	struct recorder_summary sum;
	struct published *found;
	size_t room_found;
	unsigned char *copies; /* room for DRAIN_AT_ONCE pages */
};

int recorder_new(int dirfd, const char *session, struct spool_writer *spool, struct recorder **out)
{
	struct recorder *r = calloc(1, sizeof(*r));

	if (!r)
		return fail(ENOMEM, "no memory for the recorder");
	*r = (struct recorder){.dirfd = dirfd, .session = session, .spool = spool, .rescan = true};
	*out = r;
	return 0;
}

static void member_close(struct member *m)
{
	if (m->map)
		munmap((void *)m->map, m->map_bytes);
	if (m->fd >= 0)
		close(m->fd);
	meta_free(m->meta);
	free(m->drained.seq);
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	for (unsigned int i = 0; i < r->nr_members; i++)
		member_close(&r->members[i]);
	free(r->members);
	free(r->copies);
	free(r->found);
	free(r);
}

/* Into the area. One that was cut is found out by the next look at it. */
static void put(const struct member *m, const void *from, size_t bytes, uint64_t at)
{
	if (pwrite(m->fd, from, bytes, (off_t)at) < 0)
		return;
}

/* Say once what is wrong with a member, and leave it alone. */
static void give_up(struct member *m)
{
	if (!m->damaged)
		note("%s", fail_text());
	m->damaged = true;
}

static int load_meta(struct member *m)
{
	struct stat st;
	struct meta *meta;
	int err;

	if (fstat(m->fd, &st))
		return fail_errno(errno, "cannot stat %s", m->name);
	err = meta_load(m->fd, 0, (uint64_t)st.st_size, m->name, &meta);
	if (err)
		return err;
	/* no area grows; what has is not where the mapping is */
	if (m->map && (uint64_t)st.st_size > m->map_bytes)
		err = fail(EINVAL, "%s is damaged: it has grown", m->name);
	else
		err = area_check(meta, (uint64_t)st.st_size, m->name);
	if (err) {
		meta_free(meta);
		return err;
	}
	meta_free(m->meta);
	m->meta = meta;
	return 0;
}

static void write_meta(struct recorder *r, struct member *m)
{
	m->meta_ns = time_ns(CLOCK_MONOTONIC);
	if (!spool_failed(r->spool))
		spool_put_meta(r->spool, m->id, m->meta);
}

static struct member *add_member(struct recorder *r)
{
	if (ARRAY_ROOM(r->members, r->nr_members, r->room, 4))
		return NULL;
	return &r->members[r->nr_members++];
}

/* An area of our session that is not known yet. Return: false when it is not filled in yet. */
static bool attach(struct recorder *r, const char *name)
{
	struct member m = {.fd = -1}, *place;
	int32_t self = getpid();
	struct stat st;
	uint64_t bytes;

	if (fstatat(r->dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return true;
	for (unsigned int i = 0; i < r->nr_members; i++)
		if (r->members[i].dev == st.st_dev && r->members[i].ino == st.st_ino) {
			/* exec may have renamed it since */
			snprintf(r->members[i].name, sizeof(r->members[i].name), "%s", name);
			return true;
		}
	snprintf(m.name, sizeof(m.name), "%s", name);
	m.fd = area_open(r->dirfd, name, O_RDWR, &bytes);
	if (m.fd < 0)
		return true;
	m.dev = st.st_dev;
	m.ino = st.st_ino;
	switch (load_meta(&m)) {
	case 0:
		break;
	case -EAGAIN:
	case -EINVAL: /* half of a header, perhaps */
		member_close(&m);
		return false;
	default:
		member_close(&m);
		return true;
	}
	if (strcmp(m.meta->head.session, r->session)) {
		member_close(&m);
		return true;
	}
	if (m.meta->head.state == AREA_STARTING) {
		member_close(&m);
		return false;
	}
	m.map = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, m.fd, 0);
	if (m.map == MAP_FAILED)
		m.map = NULL;
	m.map_bytes = bytes;
	m.id = r->next_id++;
	m.active_ns = time_ns(CLOCK_MONOTONIC);
	put(&m, &self, sizeof(self), offsetof(struct area_header, recorder));
	r->counter |= m.meta->head.clock == AREA_CLOCK_TSC;
	r->sum.nr_members++;
	write_meta(r, &m);
	place = add_member(r);
	if (!place) {
		fail(ENOMEM, "no memory for %s: it is not recorded", m.name);
		give_up(&m);
		member_close(&m);
		return true;
	}
	*place = m;
	return true;
}

static bool is_area_name(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return digits && name[digits] == '.' && name[digits + 1] &&
	       name[digits + 1 + strspn(name + digits + 1, "0123456789")] == '\0';
}

static void scan(struct recorder *r)
{
	int fd = openat(r->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool filled = true;
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(dir)))
		if (is_area_name(e->d_name))
			filled &= attach(r, e->d_name);
	closedir(dir);
	r->unfilled = filled ? 0 : r->unfilled + 1;
	r->rescan = !filled && r->unfilled < MAX_UNFILLED;
}

/*
 * By the folder's time of change, asked at each tick. It is as coarse as the kernel's tick: what
 * was made right behind a scan may have the time of before it, so a change is new for a while.
 * inotify would tell more exactly, but to close it waits for a grace period, 14 ms behind the
 * program's end.
 */
static bool folder_changed(struct recorder *r)
{
	uint64_t then, now = time_ns(CLOCK_REALTIME);
	struct stat st;

	if (fstat(r->dirfd, &st))
		return true;
	then = (uint64_t)st.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)st.st_mtim.tv_nsec;
	if (then == r->folder_ns && !r->rescan)
		return false;
	r->folder_ns = then < now && now - then > SETTLED_NS ? then : 0;
	return true;
}

/* The numbers that move while the program runs: header, top buffer, CPUs. */
static int refresh(struct member *m)
{
	const struct area_header *h = &m->meta->head;
	const struct area_table *b = &h->tables[AREA_BUFFERS], *c = &h->tables[AREA_CPUS];
	const struct area_table *s = &h->tables[AREA_SNAPSHOTS];
	struct area_buffer *buffer = m->meta->buffers;
	struct area_buffer now;

	if (!m->meta->nr_buffers)
		return -ENODATA;
	if (pread(m->fd, &now, sizeof(now), (off_t)b->offset) != sizeof(now))
		return fail(EIO, "%s was cut", m->name);
	buffer->flags = now.flags;
	buffer->take_seq = now.take_seq;
	buffer->publish_seq = now.publish_seq;
	for (uint32_t i = buffer->first_cpu; i < buffer->first_cpu + buffer->nr_cpus; i++) {
		struct area_cpu row, *mine = &m->meta->cpus[i];
		uint64_t at = c->offset + (uint64_t)i * c->entry_bytes;

		if (pread(m->fd, &row, sizeof(row), (off_t)at) != sizeof(row))
			return fail(EIO, "%s was cut", m->name);
		/* Bounds were checked once and stay; only what is backed grows. */
		if ((uint64_t)mine->first_page + row.nr_backed <= m->meta->nr_pages)
			mine->nr_backed = row.nr_backed;
		mine->overrun = row.overrun;
		mine->dropped_events = row.dropped_events;
		mine->commit_overrun = row.commit_overrun;
		mine->no_memory = row.no_memory;
		mine->no_growth = row.no_growth;
		if (i < m->meta->nr_snapshots &&
		    pread(m->fd, &m->meta->snapshots[i], sizeof(*m->meta->snapshots),
			  (off_t)(s->offset + (uint64_t)i * s->entry_bytes)) !=
			    sizeof(*m->meta->snapshots))
			return fail(EIO, "%s was cut", m->name);
	}
	return 0;
}

static int by_seq(const void *a, const void *b)
{
	const struct published *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Find the published pages of one CPU, with @owned the owned ones too (seq 0, at the end). */
static size_t find_pages(struct recorder *r, struct member *m, uint32_t row, unsigned int which,
			 bool owned)
{
	const struct area_cpu *c = &m->meta->cpus[row];
	struct area_share s = area_share(m->meta, row, which);
	uint32_t stride = m->meta->head.tables[AREA_PAGES].entry_bytes;
	bool overwrite = meta_overwrites(m->meta);
	size_t nr = 0, nr_owned = 0;
	unsigned char *descs;
	ssize_t n;

	if (!s.nr)
		return 0;
	if (r->room_found < s.nr) {
		struct published *more = realloc(r->found, s.nr * sizeof(*more));

		if (!more)
			return 0;
		r->found = more;
		r->room_found = s.nr;
	}
	descs = malloc((size_t)s.nr * stride + 1);
	if (!descs)
		return 0;
	n = pread(m->fd, descs, (size_t)s.nr * stride,
		  (off_t)area_desc_offset(&m->meta->head, s.first));
	for (uint32_t i = 0; n > 0 && i < (size_t)n / stride; i++) {
		struct page_desc d;
		uint32_t index = s.first + i;

		memcpy(&d, descs + (size_t)i * stride, sizeof(d));
		if (d.state == PAGE_OWNED && owned) {
			/* From the far end, so that both kinds fit. */
			nr_owned++;
			r->found[r->room_found - nr_owned] = (struct published){0, index, c->cpu};
		}
		if (d.state != PAGE_PUBLISHED || !d.seq ||
		    (overwrite && area_done_has(&m->drained, index, d.seq)))
			continue;
		r->found[nr++] = (struct published){d.seq, index, c->cpu};
	}
	free(descs);
	if (nr)
		qsort(r->found, nr, sizeof(*r->found), by_seq);
	memmove(r->found + nr, r->found + r->room_found - nr_owned, nr_owned * sizeof(*r->found));
	return nr + nr_owned;
}

/* Set a run of descriptors to FREE. They are the reader's: no other process writes them. */
static void free_pages(struct member *m, const struct published *found, size_t nr)
{
	const struct area_header *h = &m->meta->head;
	struct page_desc run[64];
	size_t i = 0;

	while (i < nr) {
		uint32_t first = found[i].index;
		size_t n = 0;

		do {
			run[n++] = (struct page_desc){.seq = found[i++].seq, .state = PAGE_FREE};
		} while (i < nr && n < 64 && found[i].index == first + n &&
			 h->tables[AREA_PAGES].entry_bytes == sizeof(*run));
		put(m, run, n * sizeof(*run), area_desc_offset(h, first));
	}
}

static void bump_reader_gen(struct member *m)
{
	uint64_t gen;
	off_t at = offsetof(struct area_header, reader_gen);

	if (pread(m->fd, &gen, sizeof(gen), at) == sizeof(gen)) {
		gen++;
		put(m, &gen, sizeof(gen), (uint64_t)at);
	}
}

/* Copies of pages that stay as they are, run by run. Return: 0 or -EFAULT with fail() set. */
static int copy_runs(const struct member *m, const struct published *found, unsigned int nr,
		     unsigned char *copies)
{
	for (unsigned int i = 0, n; i < nr; i += n) {
		for (n = 1; i + n < nr && found[i + n].index == found[i].index + n;)
			n++;
		if (pread(m->fd, copies + (size_t)i * PAGE_BYTES, (size_t)n * PAGE_BYTES,
			  (off_t)area_page_offset(&m->meta->head, found[i].index)) !=
		    (ssize_t)((size_t)n * PAGE_BYTES))
			return fail(EFAULT, "%s shrank while it was read", m->name);
	}
	return 0;
}

/* Copies of pages that may be overwritten meanwhile; those that were are left out. */
static unsigned int copy_stable(struct member *m, struct published *found, unsigned int nr,
				unsigned char *copies)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < nr; i++) {
		const struct area_header *h = &m->meta->head;
		unsigned char *to = copies + (size_t)kept * PAGE_BYTES;
		struct page_desc d;

		if (pread(m->fd, to, PAGE_BYTES, (off_t)area_page_offset(h, found[i].index)) !=
			    PAGE_BYTES ||
		    pread(m->fd, &d, sizeof(d), (off_t)area_desc_offset(h, found[i].index)) !=
			    sizeof(d))
			continue;
		if (found[i].seq && (d.state != PAGE_PUBLISHED || d.seq != found[i].seq))
			continue;
		found[kept++] = found[i];
	}
	return kept;
}

static int write_pages(struct recorder *r, struct member *m, struct published *found,
		       unsigned int nr, bool overwrite)
{
	/* the kernel may read from the mapping: a file that shrinks is an error to it, no signal */
	bool copy = overwrite || !m->map || spool_reads_pages(r->spool);
	struct spool_page pages[DRAIN_AT_ONCE];

	if (copy && !r->copies)
		r->copies = malloc((size_t)DRAIN_AT_ONCE * PAGE_BYTES);
	if (copy && !r->copies)
		return fail(ENOMEM, "no memory to read %s", m->name);
	if (overwrite)
		nr = copy_stable(m, found, nr, r->copies);
	else if (copy && copy_runs(m, found, nr, r->copies))
		return -EFAULT;
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t at = area_page_offset(&m->meta->head, found[i].index);

		pages[i].page = copy ? r->copies + (size_t)i * PAGE_BYTES : m->map + at;
		pages[i].publish_seq = found[i].seq;
		area_done_put(&m->drained, found[i].index, found[i].seq);
	}
	return nr ? spool_put_pages(r->spool, m->id, found[0].cpu, pages, nr) : 0;
}

/* Drain one member. Return: true if a CPU's share was more than a quarter full. */
static bool drain(struct recorder *r, struct member *m, bool last)
{
	const struct area_buffer *b;
	bool full = false, overwrite;
	int err;

	if (m->damaged || spool_failed(r->spool))
		return false;
	err = refresh(m);
	if (err == -ENODATA)
		return false;
	if (err) {
		give_up(m);
		return false;
	}
	b = m->meta->buffers;
	if (b->publish_seq == m->publish_seq && !last)
		return false;
	if (b->publish_seq != m->publish_seq)
		m->active_ns = time_ns(CLOCK_MONOTONIC);
	m->publish_seq = b->publish_seq;
	overwrite = meta_overwrites(m->meta);
	/* without the memory some pages may be there twice, which readers expect */
	if (overwrite)
		area_done_fit(&m->drained, m->meta);
	/* of each CPU the one share, and then the other */
	for (uint32_t c = 2 * b->first_cpu; c < 2 * (b->first_cpu + b->nr_cpus); c++) {
		const struct area_cpu *row = &m->meta->cpus[c / 2];
		size_t nr = find_pages(r, m, c / 2, c % 2, last);

		full |= nr > row->nr_pages / 4;
		for (size_t i = 0; i < nr; i += DRAIN_AT_ONCE) {
			unsigned int n =
				nr - i < DRAIN_AT_ONCE ? (unsigned int)(nr - i) : DRAIN_AT_ONCE;
			unsigned int p = n;

			err = write_pages(r, m, r->found + i, n, overwrite);
			if (err) {
				if (!spool_failed(r->spool))
					give_up(m);
				return false;
			}
			while (p && !r->found[i + p - 1].seq)
				p--;
			if (!overwrite && p) {
				free_pages(m, r->found + i, p);
				bump_reader_gen(m);
			}
		}
	}
	return full;
}

/*
 * Have tables grown that pages refer to? Written at most once a second, the last time at the end.
 */
static void update_meta(struct recorder *r, struct member *m, uint64_t now)
{
	struct area_header h;
	static const int grow[] = {AREA_OBJECTS, AREA_FUNCTIONS, AREA_TASKS, AREA_EVENTS,
				   AREA_PRINTKS};

	if (m->damaged || now - m->meta_ns < META_EVERY_NS)
		return;
	m->meta_ns = now;
	if (pread(m->fd, &h, sizeof(h), 0) != sizeof(h))
		return;
	for (unsigned int i = 0; i < sizeof(grow) / sizeof(*grow); i++) {
		if (!meta_has_table(&m->meta->head, grow[i]) ||
		    AREA_TABLE(&h, grow[i])->count == AREA_TABLE(&m->meta->head, grow[i])->count)
			continue;
		if (load_meta(m))
			give_up(m);
		else
			write_meta(r, m);
		return;
	}
}

static void note_asleep(struct recorder_summary *s, const struct meta *meta)
{
	static const char what[] = "nothing is traced: ";
	const char *at = strstr(meta->status, what);

	if (at)
		snprintf(s->asleep, sizeof(s->asleep), "%.*s",
			 (int)strcspn(at + strlen(what), "\n"), at + strlen(what));
}

/* A filter that names nothing leaves the engine's list empty: all functions are traced. */
static void note_refusal(struct recorder_summary *s, const struct meta *meta)
{
	const char *at = strstr(meta->status, "ftrace_filter: ");
	size_t n;

	if (!at || !meta->nr_functions || s->refused[0])
		return;
	for (uint32_t i = 0; i < meta->nr_functions; i++)
		if (meta->functions[i].filter & AREA_FILTER_TRACE)
			return;
	at += strlen("ftrace_filter: ");
	n = strcspn(at, " \n");
	snprintf(s->refused, sizeof(s->refused), "%.*s", (int)n, at);
	snprintf(s->refused_exe, sizeof(s->refused_exe), "%s", meta->head.exe);
}

static void sum_up(struct recorder *r, const struct meta *meta)
{
	struct meta_losses l = meta_losses(meta);
	struct recorder_summary *s = &r->sum;
	uint64_t enabled = 0;

	for (uint32_t i = 0; i < meta->nr_functions; i++)
		enabled += meta->functions[i].enabled != 0;
	if (meta->nr_functions > s->nr_functions)
		s->nr_functions = meta->nr_functions;
	if (enabled > s->nr_enabled)
		s->nr_enabled = enabled;
	s->untraced_calls += meta->head.untraced_calls;
	note_asleep(s, meta);
	note_refusal(s, meta);
	s->losses.overrun += l.overrun;
	s->losses.dropped_events += l.dropped_events;
	s->losses.commit_overrun += l.commit_overrun;
	s->losses.no_memory += l.no_memory;
	s->losses.no_growth += l.no_growth;
}

/*
 * Has its process ended? Seen from another PID namespace it always has. An earlier start in the
 * name is exec's mark on the area of the image that it replaced.
 */
static bool is_gone(const struct member *m)
{
	const struct area_header *h = &m->meta->head;

	return strtoull(m->name + strcspn(m->name, ".") + 1, NULL, 10) != h->start_time ||
	       h->pid <= 0 || launch_start_time(h->pid, NULL) != h->start_time;
}

/* The last drain of a member; its file goes. */
static void finish_member(struct recorder *r, struct member *m)
{
	struct stat st;

	drain(r, m, true);
	if (!m->damaged) {
		if (load_meta(m))
			give_up(m);
		else
			write_meta(r, m);
	}
	sum_up(r, m->meta);
	if (!fstatat(r->dirfd, m->name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == m->dev &&
	    st.st_ino == m->ino)
		areas_dir_remove(r->dirfd, m->name, is_gone(m));
	member_close(m);
}

static bool has_ended(const struct member *m, uint64_t now, uint64_t linger_ns)
{
	return now - m->active_ns > linger_ns && is_gone(m);
}

static void let_go(struct recorder *r, uint64_t now)
{
	/* Descriptors are fewer than processes may be. */
	uint64_t linger_ns = r->nr_members > VERY_MANY ? 0 : LINGER_NS;

	r->let_go_ns = now;
	for (unsigned int i = 0; i < r->nr_members;) {
		if (!has_ended(&r->members[i], now, linger_ns)) {
			i++;
			continue;
		}
		finish_member(r, &r->members[i]);
		r->members[i] = r->members[--r->nr_members];
	}
}

static void take_clock(struct recorder *r, uint64_t now)
{
	struct area_clock pair;

	if (!r->counter || spool_failed(r->spool) || !clock_sample(&pair, 50))
		return;
	spool_put_clock(r->spool, &pair);
	r->clock_ns = now;
}

bool recorder_tick(struct recorder *r)
{
	uint64_t now = time_ns(CLOCK_MONOTONIC);
	bool full = false;

	if (folder_changed(r))
		scan(r);
	for (unsigned int i = 0; i < r->nr_members; i++) {
		full |= drain(r, &r->members[i], false);
		update_meta(r, &r->members[i], now);
	}
	if (now - r->clock_ns >= CLOCK_EVERY_NS)
		take_clock(r, now);
	if (r->nr_members > MANY_MEMBERS && now - r->let_go_ns >= LET_GO_EVERY_NS)
		let_go(r, now);
	return full;
}

void recorder_finish(struct recorder *r, struct recorder_summary *sum)
{
	scan(r);
	for (unsigned int i = 0; i < r->nr_members; i++)
		finish_member(r, &r->members[i]);
	r->nr_members = 0;
	take_clock(r, time_ns(CLOCK_MONOTONIC));
	*sum = r->sum;
}

const struct meta *recorder_meta(struct recorder *r, int pid)
{
	if (folder_changed(r))
		scan(r);
	for (unsigned int i = 0; i < r->nr_members; i++)
		if (!pid || r->members[i].meta->head.pid == pid)
			return r->members[i].meta;
	return NULL;
}
