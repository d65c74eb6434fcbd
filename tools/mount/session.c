/* SPDX-License-Identifier: MIT */
/*
 * Sessions: see session.h. A session is found by the tag in the areas of its members; the folder is
 * looked through when it is asked for, and every few milliseconds once something was written, so that
 * a member that comes later gets what was written before it. A write takes the place of the one
 * before to the same file, where that means the same (not of what is added to lists).
 * Any thread. Locks: the table's, then a session's, then a process's. Tests: tests/tracefs/test_sessions.py.
 */
#include "tools/mount/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/mount/roll.h"
#include "tools/mount/session_file.h"
#include "tools/mount/writes.h"
#include "tools/target/hist_file.h"
#include "tools/target/probe_names.h"

#define WATCH_MS     20
#define START_MS     1000
#define LOOK_NS	     UINT64_C(5000000)
#define MAX_SESSIONS 1024u

struct session {
	struct session *next;
	unsigned int refs; /* under the table's lock */
	char name[64];
	char instance[64];    /* of its members; "": the members themselves */
	pthread_mutex_t lock; /* of what follows */
	struct roll roll;
	struct process **members; /* of the roll, in the order in which they came */
	unsigned int nr_members, room;
	unsigned int first; /* those before it have ended */
	struct writes writes;
	struct session_file file; /* of them */
	bool watched;
	struct claims claims; /* made with the first member */
	unsigned int nr_open; /* files */
	uint64_t looked_ns;   /* when members were looked for last */
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *table;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * A fork's child has its parent's histograms, which count from its first moment: made anew they would begin
 * with nothing. Whether it had the write so.
 */
static bool is_inherited(const struct session *s, const struct process *p, const struct written *w)
{
	size_t skip = w->n && w->text[0] == '!';
	bool child = false;

	/* an open with O_TRUNC is a write of nothing, and takes the histograms that were there */
	if (s->instance[0] || (w->n && (w->n < skip + 4 || memcmp(w->text + skip, "hist", 4) != 0)))
		return false;
	for (unsigned int i = 0; i < s->nr_members && !child; i++)
		child = s->members[i] != p && !memcmp(s->members[i]->head.image_id,
						      p->head.image_id, sizeof(p->head.image_id));
	return child && hist_file_has_since(&p->t, w->path, w->begin_ns);
}

static bool read_area(int fd, struct area_header *head)
{
	return pread(fd, head, sizeof(*head), 0) == (ssize_t)sizeof(*head) &&
	       head->major == AREA_MAJOR && head->minor >= 3;
}

/* Wait until the process has carried out what it found when it started. Return: up to when that was written. */
static uint64_t done_until(struct process *p)
{
	struct area_header head = {0};
	char name[sizeof(p->t.name)];
	int fd;

	/* the process's own area, if this is an instance's */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(p->t.name, "@"), p->t.name);
	fd = openat(p->t.dir.fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	for (int ms = 0; ms < START_MS && process_lives(p); ms++) {
		if (!read_area(fd, &head) || head.state != AREA_STARTING)
			break;
		poll(NULL, 0, 1);
	}
	close(fd);
	return read_area(p->fd, &head) ? head.session_ns : 0;
}

/* Show what was written to those who start. Locked. */
static void show_writes(struct session *s)
{
	if (s->nr_members)
		session_file_write(&s->file, &s->members[0]->t.dir, s->name, s->instance,
				   &s->writes);
}

/* It gets what was written before it came. */
static void add_member(void *arg, struct process *p)
{
	struct session *s = arg;
	uint64_t done;

	if (s->nr_members == s->room) {
		unsigned int room = s->room ? s->room * 2 : 8;
		struct process **more = realloc(s->members, room * sizeof(struct process *));

		if (!more)
			return;
		s->members = more;
		s->room = room;
	}
	s->members[s->nr_members++] = p;
	if (!s->claims.cpus)
		claims_init(&s->claims, p->head.nr_cpus);
	done = s->writes.nr ? done_until(p) : 0;
	for (unsigned int i = 0; i < s->writes.nr && process_lives(p); i++) {
		const struct written *w = &s->writes.at[i];

		if ((w->end_ns <= done && !w->by_server) || (w->text && is_inherited(s, p, w)))
			continue;
		if (w->text)
			target_write(&p->t, w->path, w->text, w->n, w->truncate);
		else
			target_mkdir(&p->t, w->path);
	}
}

static void remove_member(void *arg, struct process *p)
{
	struct session *s = arg;
	unsigned int i;

	for (i = 0; i < s->nr_members && s->members[i] != p; i++)
		;
	if (i == s->nr_members)
		return;
	memmove(&s->members[i], &s->members[i + 1],
		(--s->nr_members - i) * sizeof(struct process *));
	s->first -= i < s->first;
}

/* Find new members, let those go whose areas are gone. Locked. */
static void refresh(struct session *s)
{
	const struct roll_calls calls = {add_member, remove_member, s};

	s->looked_ns = now_ns();
	roll_call(&s->roll, s->name, s->instance, &calls);
}

static void session_free(struct session *s)
{
	roll_free(&s->roll);
	writes_free(&s->writes);
	session_file_remove(&s->file);
	free(s->members);
	claims_free(&s->claims);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Follow a session whose later members are to get what was written, until it has none left. */
static void *watch(void *arg)
{
	struct session *s = arg;
	bool some = true;

	while (some) {
		poll(NULL, 0, WATCH_MS);
		pthread_mutex_lock(&s->lock);
		refresh(s);
		some = s->nr_members != 0;
		s->watched = some;
		pthread_mutex_unlock(&s->lock);
	}
	session_put(s);
	return NULL;
}

/* Locked; the watcher has a reference of its own. */
static void start_watch(struct session *s)
{
	pthread_t thread;

	if (s->watched)
		return;
	pthread_mutex_lock(&table_lock);
	s->refs++;
	pthread_mutex_unlock(&table_lock);
	s->watched = !pthread_create(&thread, NULL, watch, s);
	if (s->watched) {
		pthread_detach(thread);
		return;
	}
	pthread_mutex_lock(&table_lock);
	s->refs--;
	pthread_mutex_unlock(&table_lock);
}

struct session *session_get(const char *name, const char *instance, int *err)
{
	struct session *s;
	unsigned int nr = 0, nr_members;

	*err = -ENOENT;
	if (!instance)
		instance = "";
	if (!*name || strlen(name) >= sizeof(s->name) || strlen(instance) >= sizeof(s->instance))
		return NULL;
	pthread_mutex_lock(&table_lock);
	for (s = table; s && (strcmp(s->name, name) || strcmp(s->instance, instance)); s = s->next)
		nr++;
	if (!s && nr < MAX_SESSIONS) {
		s = calloc(1, sizeof(*s));
		if (s) {
			strcpy(s->name, name);
			strcpy(s->instance, instance);
			pthread_mutex_init(&s->lock, NULL);
			s->next = table;
			table = s;
		}
	}
	if (s)
		s->refs++;
	pthread_mutex_unlock(&table_lock);
	if (!s) {
		*err = -ENOMEM;
		return NULL;
	}
	pthread_mutex_lock(&s->lock);
	if (!s->watched || !s->nr_members || now_ns() - s->looked_ns > LOOK_NS)
		refresh(s);
	nr_members = s->nr_members;
	pthread_mutex_unlock(&s->lock);
	if (nr_members)
		return s;
	session_put(s);
	return NULL;
}

/* One that nobody uses and that has no members is forgotten. */
void session_put(struct session *s)
{
	struct session **at;
	bool gone;

	pthread_mutex_lock(&table_lock);
	gone = !--s->refs && !s->nr_members;
	for (at = &table; gone && *at; at = &(*at)->next) {
		if (*at == s) {
			*at = s->next;
			break;
		}
	}
	pthread_mutex_unlock(&table_lock);
	if (gone)
		session_free(s);
}

struct names {
	char (*names)[64];
	unsigned int nr;
};

static int take_name(void *arg, int pid)
{
	struct names *n = arg;
	struct process *p;
	unsigned int i;
	int err;

	p = process_get(pid, NULL, &err);
	if (!p)
		return 0;
	for (i = 0; i < n->nr && strcmp(n->names[i], p->head.session); i++)
		;
	if (i == n->nr && n->nr < MAX_SESSIONS && p->head.session[0] &&
	    !strchr(p->head.session, '/') && p->head.session[0] != '.')
		strcpy(n->names[n->nr++], p->head.session);
	process_put(p);
	return 0;
}

void session_list(int (*put)(void *arg, const char *name), void *arg)
{
	struct names n = {.names = calloc(MAX_SESSIONS, sizeof(*n.names))};

	if (!n.names)
		return;
	process_list(take_name, &n);
	for (unsigned int i = 0; i < n.nr && !put(arg, n.names[i]); i++)
		;
	free(n.names);
}

unsigned int session_members(struct session *s, struct process ***out)
{
	unsigned int nr;

	pthread_mutex_lock(&s->lock);
	nr = s->nr_members;
	*out = calloc(nr + 1u, sizeof(struct process *));
	if (!*out)
		nr = 0;
	for (unsigned int i = 0; i < nr; i++)
		(*out)[i] = process_ref(s->members[i]);
	pthread_mutex_unlock(&s->lock);
	return nr;
}

void session_look(struct session *s, bool now)
{
	pthread_mutex_lock(&s->lock);
	if (now || now_ns() - s->looked_ns > LOOK_NS)
		refresh(s);
	pthread_mutex_unlock(&s->lock);
}

struct process *session_first(struct session *s)
{
	struct process *p = NULL;

	pthread_mutex_lock(&s->lock);
	for (unsigned int i = s->first; i < s->nr_members && !p; i++) {
		if (process_lives(s->members[i]))
			p = s->members[i];
		else if (i == s->first && s->members[i]->ended)
			s->first++;
	}
	if (!p && s->nr_members)
		p = s->members[0];
	if (p)
		process_ref(p);
	pthread_mutex_unlock(&s->lock);
	return p;
}

int session_claim(struct session *s, unsigned int cpu)
{
	int err;

	pthread_mutex_lock(&s->lock);
	err = s->claims.cpus ? claims_take(&s->claims, cpu) : -ENOENT;
	if (!err)
		start_watch(s);
	pthread_mutex_unlock(&s->lock);
	return err;
}

void session_unclaim(struct session *s, unsigned int cpu)
{
	pthread_mutex_lock(&s->lock);
	claims_give(&s->claims, cpu);
	pthread_mutex_unlock(&s->lock);
}

void session_raw_opened(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	s->claims.nr_open++;
	start_watch(s);
	pthread_mutex_unlock(&s->lock);
}

void session_raw_closed(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	s->claims.nr_open--;
	pthread_mutex_unlock(&s->lock);
}

bool session_has_pipes(struct session *s)
{
	bool some;

	pthread_mutex_lock(&s->lock);
	some = s->claims.nr_open != 0;
	pthread_mutex_unlock(&s->lock);
	return some;
}

/* Does a write to it empty the buffer? */
static bool is_emptying(const char *path, bool truncate)
{
	return !strcmp(path, "current_tracer") || !strcmp(path, "trace_clock") ||
	       (!strcmp(path, "trace") && truncate);
}

/*
 * What was recorded by members that are dead goes with what the others have: nobody else can empty
 * it, and it would stand in `trace` for ever.
 */
static void empty_dead(struct session *s)
{
	for (unsigned int i = 0; i < s->nr_members; i++)
		if (!process_lives(s->members[i]))
			unlinkat(s->members[i]->t.dir.fd, s->members[i]->t.name, 0);
	refresh(s);
}

/* Is the thread one of the process's? */
static bool is_thread_of(const struct process *p, int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", p->t.pid, tid);
	return !access(path, F_OK);
}

/* A mark is one record, where the kernel would have one. Locked. */
static int write_mark(struct session *s, const char *path, const char *text, size_t n, int tid)
{
	struct process *to = NULL;

	for (unsigned int i = 0; i < s->nr_members; i++) {
		struct process *p = s->members[i];

		if (!process_lives(p))
			continue;
		if (is_thread_of(p, tid)) {
			to = p;
			break;
		}
		to = to ? to : p;
	}
	return to ? target_write_as(&to->t, path, text, n, false, tid) : -ESRCH;
}

int session_write(struct session *s, const char *path, const char *text, size_t n, bool truncate,
		  int tid)
{
	struct written w = {.path = (char *)(uintptr_t)path,
			    .text = (char *)(uintptr_t)text,
			    .n = n,
			    .truncate = truncate};
	int err = 0, kept = 0;

	pthread_mutex_lock(&s->lock);
	if (target_is_marker(path)) {
		/* an open that truncates, or a close, writes nothing */
		err = n ? write_mark(s, path, text, n, tid) : 0;
		pthread_mutex_unlock(&s->lock);
		return err;
	}
	w.begin_ns = now_ns();
	for (unsigned int i = 0; i < s->nr_members; i++) {
		struct process *p = s->members[i];
		int one = process_lives(p) ? target_write(&p->t, path, text, n, truncate) : 0;

		/* one that ends meanwhile does not count */
		if (one && one != -ESRCH && !err)
			err = one;
	}
	if (!err && is_emptying(path, truncate))
		empty_dead(s);
	if (!err && writes_keep(path)) {
		w.end_ns = now_ns();
		w.by_server = probe_names_are_in(path, text, n);
		kept = writes_add(&s->writes, &w);
		show_writes(s);
		start_watch(s);
	}
	pthread_mutex_unlock(&s->lock);
	return err ? err : kept;
}

int session_mkdir(struct session *s, const char *instance)
{
	struct written w = {.path = (char *)(uintptr_t)instance};
	int err = 0, nr = 0, kept = 0;

	pthread_mutex_lock(&s->lock);
	w.begin_ns = now_ns();
	for (unsigned int i = 0; i < s->nr_members; i++) {
		int one = process_lives(s->members[i]) ? process_mkdir(s->members[i], instance)
						       : -ESRCH;

		nr += !one;
		if (one && one != -ESRCH && one != -EEXIST)
			err = one;
	}
	if (!err && nr) {
		w.end_ns = now_ns();
		kept = writes_add(&s->writes, &w);
		show_writes(s);
		start_watch(s);
	}
	pthread_mutex_unlock(&s->lock);
	return err ? err : nr ? kept : -EEXIST;
}

/* Is a file of the instance open as the session's? */
static bool is_open(struct session *inside)
{
	bool open;

	pthread_mutex_lock(&inside->lock);
	open = inside->nr_open != 0;
	pthread_mutex_unlock(&inside->lock);
	return open;
}

/* The instance is gone: what was written to it is not for the next one of its name. */
static void forget_instance(struct session *inside)
{
	pthread_mutex_lock(&inside->lock);
	writes_free(&inside->writes);
	session_file_remove(&inside->file);
	refresh(inside);
	pthread_mutex_unlock(&inside->lock);
}

/* Locked. */
static int remove_instance(struct session *s, const char *instance)
{
	int err = 0, nr = 0;

	writes_forget_instance(&s->writes, instance);
	show_writes(s);
	for (unsigned int i = 0; i < s->nr_members; i++) {
		int one = process_lives(s->members[i]) ? process_rmdir(s->members[i], instance)
						       : -ESRCH;

		nr += !one;
		if (one && one != -ESRCH && one != -ENOENT)
			err = one;
	}
	return err ? err : nr ? 0 : -ENOENT;
}

int session_rmdir(struct session *s, const char *instance)
{
	struct session *inside;
	int err;

	inside = session_get(s->name, instance, &err);
	if (!inside)
		return err;
	if (is_open(inside)) {
		err = -EBUSY;
	} else {
		pthread_mutex_lock(&s->lock);
		err = remove_instance(s, instance);
		pthread_mutex_unlock(&s->lock);
		if (!err)
			forget_instance(inside);
	}
	session_put(inside);
	return err;
}

void session_opened(struct session *s, int change)
{
	pthread_mutex_lock(&s->lock);
	s->nr_open += (unsigned int)change;
	pthread_mutex_unlock(&s->lock);
}

void sessions_end(void)
{
	pthread_mutex_lock(&table_lock);
	for (struct session *s = table; s; s = s->next) {
		pthread_mutex_lock(&s->lock);
		session_file_remove(&s->file);
		s->file.others = true;
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&table_lock);
}
