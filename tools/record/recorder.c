/* SPDX-License-Identifier: MIT */
/*
 * Members and their drain: see recorder.h. Costs a pread of a few hundred bytes a member and tick
 * while nothing is published; else the descriptors of the pages in use and one copy of the pages.
 * Tests: tests/cli/test_record.py.
 */
#include "tools/record/recorder_impl.h"

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

#include "tools/area/clock.h"
#include "tools/area/spool_format.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/time_ns.h"
#include "tools/code/object_identity.h"
#include "tools/code/ways_cache.h"
#include "tools/target/areas_dir.h"
#include "tools/target/image.h"

#define NS_PER_MS	UINT64_C(1000000)
#define CLOCK_EVERY_NS	(1000 * NS_PER_MS)
#define OFTEN_NS	(600000 * NS_PER_MS)
#define META_EVERY_NS	(1000 * NS_PER_MS)
#define LINGER_NS	(2000 * NS_PER_MS)
#define SETTLED_NS	(50 * NS_PER_MS) /* the resolution of the folder's mtime is finer */
#define LET_GO_EVERY_NS (100 * NS_PER_MS)
#define MANY_MEMBERS	64 /* with more members, ended ones are released early */
#define VERY_MANY	300
#define MAX_ANALYSED	1000
#define MAX_UNFILLED	1000 /* ticks that a file may stay without a header */

int recorder_new(const struct recorder_of *of, struct spool_writer *spool, struct recorder **out)
{
	struct recorder *r = calloc(1, sizeof(*r));

	if (!r)
		return fail(ENOMEM, "out of memory for the recorder");
	*r = (struct recorder){
		.of = *of, .spool = spool, .rescan = true, .begun_ns = time_ns(CLOCK_MONOTONIC)};
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
	free(m->open);
}

/* Write analyses to the cache. Errors are ignored: the files are then analysed again. */
static void keep_analysed(struct recorder *r)
{
	for (size_t i = 0; i < r->nr_analysed; i++) {
		ways_cache_keep(r->analysed[i].path, r->analysed[i].id, r->analysed[i].id_bytes);
		free(r->analysed[i].path);
	}
	free(r->analysed);
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	for (unsigned int i = 0; i < r->nr_members; i++)
		member_close(&r->members[i]);
	keep_analysed(r);
	free(r->members);
	free(r->copies);
	free(r->found);
	free(r);
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
	/* areas do not grow; a page in a grown part would not be mapped */
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
	if (m->is_named)
		area_count_from_clear(meta);
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

static bool is_named(const struct recorder *r, const struct area_header *h)
{
	for (unsigned int i = 0; i < r->of.nr_processes; i++)
		if (r->of.processes[i].pid == h->pid && r->of.processes[i].start == h->start_time)
			return true;
	return false;
}

/* Is it the session of a recorder that was killed? */
static bool is_left(const char *session)
{
	long pid = strtol(session, NULL, 10);

	return pid > 0 && session[strspn(session, "0123456789")] == '-' && pid <= INT32_MAX &&
	       kill((pid_t)pid, 0) && errno == ESRCH;
}

/*
 * Write our session to a member, so that children that it forks are members, too. The first byte is
 * written last, since the engine may copy the session meanwhile.
 */
static void give_session(struct recorder *r, struct member *m)
{
	const char *session = r->of.session, *had = m->meta->head.session;
	uint64_t at = offsetof(struct area_header, session);

	if (*had && !is_left(had))
		return;
	member_put(m, "", 1, at);
	member_put(m, session + 1, strlen(session), at + 1);
	member_put(m, session, 1, at);
	m->has_our_session = true;
}

/* Restore a member that still lives: it has no recorder any more. */
static void give_back(struct recorder *r, struct member *m)
{
	int32_t none = 0;

	if (m->has_our_session || !strcmp(m->meta->head.session, r->of.session))
		member_put(m, "", 1, offsetof(struct area_header, session));
	member_put(m, &none, sizeof(none), offsetof(struct area_header, recorder));
}

static bool is_its_file(const struct member *m, const struct stat *st)
{
	return st->st_dev == m->dev && st->st_ino == m->ino;
}

static bool has_its_name(const struct recorder *r, const struct member *m)
{
	struct stat st;

	return !fstatat(r->of.dirfd, m->name, &st, AT_SYMLINK_NOFOLLOW) && is_its_file(m, &st);
}

/*
 * An area of our session that is not known yet. Return: false when it is not filled in yet, or when
 * @name is not its name any more: exec renames the area of the image that it replaces.
 */
static bool attach(struct recorder *r, const char *name)
{
	struct member m = {.fd = -1}, *place;
	int32_t self = getpid();
	struct stat st, opened;
	uint64_t bytes;

	if (fstatat(r->of.dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno != ENOENT;
	for (unsigned int i = 0; i < r->nr_members; i++)
		if (is_its_file(&r->members[i], &st)) {
			/* exec may have renamed it since */
			snprintf(r->members[i].name, sizeof(r->members[i].name), "%s", name);
			return true;
		}
	snprintf(m.name, sizeof(m.name), "%s", name);
	m.fd = area_open(r->of.dirfd, name, O_RDWR, &bytes);
	if (m.fd < 0)
		return m.fd != -ENOENT;
	m.dev = st.st_dev;
	m.ino = st.st_ino;
	/* exec may have given the name to another file in between */
	if (fstat(m.fd, &opened) || !is_its_file(&m, &opened)) {
		member_close(&m);
		return false;
	}
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
	m.is_named = is_named(r, &m.meta->head);
	if (strcmp(m.meta->head.session, r->of.session) != 0 && !m.is_named) {
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
	member_put(&m, &self, sizeof(self), offsetof(struct area_header, recorder));
	if (m.is_named)
		give_session(r, &m);
	r->counter |= m.meta->head.clock == AREA_CLOCK_TSC;
	r->sum.nr_members++;
	write_meta(r, &m);
	place = add_member(r);
	if (!place) {
		fail(ENOMEM, "out of memory for %s: it is not recorded", m.name);
		member_give_up(&m);
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
	int fd = openat(r->of.dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
 * Has the folder changed? Its mtime is read at each tick. The resolution is the kernel's tick, so a
 * file that is made just after a scan may not change the mtime; therefore a recent change counts as
 * new for a while. inotify would be more exact, but closing it waits for a grace period, 14 ms
 * after the program's end.
 */
static bool folder_changed(struct recorder *r)
{
	uint64_t then, now = time_ns(CLOCK_REALTIME);
	struct stat st;

	if (fstat(r->of.dirfd, &st))
		return true;
	then = (uint64_t)st.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)st.st_mtim.tv_nsec;
	if (then == r->folder_ns && !r->rescan)
		return false;
	r->folder_ns = then < now && now - then > SETTLED_NS ? then : 0;
	return true;
}

/* Have tables grown that pages refer to? */
static bool has_grown(const struct member *m)
{
	static const int grow[] = {AREA_OBJECTS, AREA_FUNCTIONS, AREA_TASKS, AREA_EVENTS,
				   AREA_PRINTKS};
	struct area_header h;

	if (pread(m->fd, &h, sizeof(h), 0) != sizeof(h))
		return false;
	for (unsigned int i = 0; i < sizeof(grow) / sizeof(*grow); i++)
		if (meta_has_table(&m->meta->head, grow[i]) &&
		    AREA_TABLE(&h, grow[i])->count != AREA_TABLE(&m->meta->head, grow[i])->count)
			return true;
	return false;
}

/*
 * Write tables that have grown: at most once a second, and at the end. @turn: check them in any
 * case.
 * Return: false if the tables in the spool are known to be older than the member's.
 */
static bool update_meta(struct recorder *r, struct member *m, uint64_t now, bool turn)
{
	if (m->damaged || (!turn && now - m->look_ns < META_EVERY_NS))
		return true;
	m->look_ns = now;
	if (!has_grown(m))
		return true;
	if (now - m->meta_ns < META_EVERY_NS)
		return false;
	if (load_meta(m))
		member_give_up(m);
	else
		write_meta(r, m);
	return true;
}

/* The rest of a member's line that begins with @what. */
static void note_line(const struct meta *meta, const char *what, char *text, size_t room)
{
	const char *at = strstr(meta->status, what);

	if (at)
		snprintf(text, room, "%.*s", (int)strcspn(at + strlen(what), "\n"),
			 at + strlen(what));
}

/* Note a filter that matches no function: the engine's list is empty then, so all are traced. */
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

uint64_t recorder_nr_wrapped(const struct meta *m)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < m->nr_functions; i++)
		nr += m->functions[i].how != AREA_BY_MCOUNT &&
		      !(m->functions[i].flags &
			(AREA_FUNCTION_PASSED_ON | AREA_FUNCTION_ENTRY_ONLY));
	return nr;
}

static void sum_up(struct recorder *r, const struct meta *meta)
{
	struct meta_losses l = meta_losses(meta);
	struct recorder_summary *s = &r->sum;
	uint64_t enabled = 0, wrapped = recorder_nr_wrapped(meta);

	for (uint32_t i = 0; i < meta->nr_functions; i++)
		enabled += meta->functions[i].enabled != 0;
	if (meta->nr_functions > s->nr_functions)
		s->nr_functions = meta->nr_functions;
	if (wrapped > s->nr_wrapped)
		s->nr_wrapped = wrapped;
	if (enabled > s->nr_enabled)
		s->nr_enabled = enabled;
	s->untraced_calls += meta->head.untraced_calls;
	note_line(meta, "nothing is traced: ", s->asleep, sizeof(s->asleep));
	note_line(meta, "function_graph has ended: ", s->graph_ended, sizeof(s->graph_ended));
	note_refusal(s, meta);
	s->losses.overrun += l.overrun;
	s->losses.dropped_events += l.dropped_events;
	s->losses.commit_overrun += l.commit_overrun;
	s->losses.no_memory += l.no_memory;
	s->losses.no_growth += l.no_growth;
}

/* Remember the files that a member has analysed, for the cache. */
static void note_analysed(struct recorder *r, const struct meta *meta)
{
	for (uint32_t i = 0; i < meta->nr_objects; i++) {
		const struct area_object *o = &meta->objects[i];
		const char *path = meta_string(meta, o->path);
		uint32_t n = object_id_bytes(o);
		struct analysed *a;
		size_t k = 0;

		if (o->analysis != AREA_ANALYSIS_MADE || !n || *path != '/')
			continue;
		while (k < r->nr_analysed && (r->analysed[k].id_bytes != n ||
					      memcmp(r->analysed[k].id, o->build_id, n) != 0))
			k++;
		if (k < r->nr_analysed || k >= MAX_ANALYSED ||
		    ARRAY_ROOM(r->analysed, r->nr_analysed, r->room_analysed, 16))
			continue;
		a = &r->analysed[k];
		*a = (struct analysed){.path = strdup(path), .id_bytes = n};
		memcpy(a->id, o->build_id, n);
		r->nr_analysed += a->path != NULL;
	}
}

/*
 * Has its process ended? From another PID namespace this is always true. If the name has an earlier
 * start time, exec has replaced the image.
 */
static bool is_gone(const struct member *m)
{
	const struct area_header *h = &m->meta->head;

	return strtoull(m->name + strcspn(m->name, ".") + 1, NULL, 10) != h->start_time ||
	       h->pid <= 0 || image_has_ended(h->pid, h->start_time);
}

/* The last drain of a member. Its file is removed, unless its process continues. */
static void finish_member(struct recorder *r, struct member *m)
{
	member_drain(r, m, true);
	if (!m->damaged) {
		if (load_meta(m)) {
			member_give_up(m);
		} else {
			if (is_gone(m))
				m->meta->head.state = SPOOL_STATE_ENDED;
			write_meta(r, m);
		}
	}
	sum_up(r, m->meta);
	note_analysed(r, m->meta);
	if (!is_gone(m))
		give_back(r, m);
	else if (has_its_name(r, m))
		areas_dir_remove(r->of.dirfd, m->name, is_gone(m));
	member_close(m);
}

/* Is the file there, but under another name than at the last scan? */
static bool was_renamed(const struct recorder *r, const struct member *m)
{
	struct stat st;

	return !fstat(m->fd, &st) && st.st_nlink && !has_its_name(r, m);
}

/*
 * Finish a member under its present name. If its file stayed under another one, the next scan would
 * record it again. Members may be added behind it.
 */
static void finish_at(struct recorder *r, unsigned int i)
{
	if (was_renamed(r, &r->members[i]))
		scan(r);
	finish_member(r, &r->members[i]);
}

/* @now: may be a little before the member's last publication. */
static bool has_ended(const struct member *m, uint64_t now, uint64_t linger_ns)
{
	return now > m->active_ns + linger_ns && is_gone(m);
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
		finish_at(r, i);
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

/*
 * With turns, pairs of clocks are more frequent at first, since a turn only covers the time up to
 * the pair before the last one.
 */
static uint64_t clock_every_ns(const struct recorder *r, uint64_t now)
{
	return r->turn && now - r->begun_ns < OFTEN_NS ? turn_every_ns(r, now) : CLOCK_EVERY_NS;
}

bool recorder_tick(struct recorder *r)
{
	uint64_t now = time_ns(CLOCK_MONOTONIC), stamp = 0;
	bool full = false, turn = turn_begins(r, now, &stamp);

	if (folder_changed(r))
		scan(r);
	if (turn)
		stamp = r->unfilled ? 0 : turn_oldest(r, stamp);
	for (unsigned int i = 0; i < r->nr_members; i++) {
		full |= member_drain(r, &r->members[i], false);
		if (!update_meta(r, &r->members[i], now, turn))
			stamp = 0;
	}
	if (now - r->clock_ns >= clock_every_ns(r, now))
		take_clock(r, now);
	/* an ended member keeps its pages until it is released, and a turn waits for them */
	if ((r->turn || r->nr_members > MANY_MEMBERS) && now - r->let_go_ns >= LET_GO_EVERY_NS)
		let_go(r, now);
	if (stamp && !spool_failed(r->spool))
		r->turn(r->turn_arg, spool_bytes(r->spool), stamp);
	return full;
}

void recorder_finish(struct recorder *r, struct recorder_summary *sum)
{
	scan(r);
	if (r->rescan)
		scan(r);
	for (unsigned int i = 0; i < r->nr_members; i++)
		finish_at(r, i);
	r->nr_members = 0;
	take_clock(r, time_ns(CLOCK_MONOTONIC));
	*sum = r->sum;
}

int recorder_living(struct recorder *r, int **pids)
{
	struct stat st;
	int nr = 0;

	if (pids) {
		scan(r);
		*pids = calloc(r->nr_members + 1, sizeof(**pids));
		if (!*pids)
			return fail(ENOMEM, "out of memory for the recorder");
	}
	for (unsigned int i = 0; i < r->nr_members; i++) {
		const struct member *m = &r->members[i];

		/* exec removes the name */
		if (is_gone(m) || fstat(m->fd, &st) || !st.st_nlink)
			continue;
		if (pids)
			(*pids)[nr] = m->meta->head.pid;
		nr++;
	}
	return nr;
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
