/* SPDX-License-Identifier: MIT */
/*
 * Sessions: see session.h. A session is found by the tag in the areas of its members. The folder is
 * read when a request comes, and after the first write every few milliseconds, so that later
 * members get the earlier writes. Any thread. Locks: the table's, then a session's, then a
 * process's. Tests: tests/tracefs/test_sessions.py.
 */
#include "tools/target/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/area/area.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/time_ns.h"
#include "tools/target/hist_file.h"
#include "tools/target/meaning.h"

#define WATCH_MS  20
#define START_MS  1000
#define LOOK_NS	  UINT64_C(5000000)
#define IDLE_NS	  UINT64_C(1000000000)
#define FORGET_MS 500

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *table;
static bool serving;	/* idle sessions stay for the next request */
static bool forgetting; /* a thread frees idle sessions */

/*
 * Whether a write has reached @p by fork: a child inherits its parent's histograms, which count
 * from its start. Writing the trigger again would begin with empty histograms.
 */
static bool is_inherited(const struct session *s, const struct process *p, const struct written *w)
{
	size_t skip = w->n && w->text[0] == '!';
	bool child = false;

	/* an open with O_TRUNC is a write without text, and removes the histograms */
	if (w->n && (w->n < skip + 4 || memcmp(w->text + skip, "hist", 4) != 0))
		return false;
	for (unsigned int i = 0; i < s->nr_members && !child; i++)
		child = s->members[i] != p && !memcmp(s->members[i]->head.image_id,
						      p->head.image_id, sizeof(p->head.image_id));
	return child && hist_file_has_since(&p->image, w->path, w->begin_ns);
}

static bool read_area(int fd, struct area_header *head)
{
	return pread(fd, head, sizeof(*head), 0) == (ssize_t)sizeof(*head) &&
	       head->major == AREA_MAJOR && head->minor >= 3;
}

static bool is_starting(int fd)
{
	struct area_header head;

	return read_area(fd, &head) && head.state == AREA_STARTING;
}

/*
 * Wait until the process has carried out the writes that it found when it started. Return: the time
 * of the last of these.
 */
static uint64_t done_until(struct process *p)
{
	struct area_header head = {0};
	char name[sizeof(p->image.name)];
	int fd;

	/* the process's own area, if this is an instance's */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(p->image.name, "@"), p->image.name);
	fd = openat(p->image.dir.fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	for (int ms = 0; ms < START_MS && process_lives(p); ms++) {
		/* a fork's child has its own area first, and session_ns in an instance's later */
		if (!is_starting(fd) && !is_starting(p->fd))
			break;
		poll(NULL, 0, 1);
	}
	close(fd);
	return read_area(p->fd, &head) ? head.session_ns : 0;
}

void session_set_done(const struct process *p, uint64_t until_ns)
{
	struct area_header head;
	uint64_t bytes;
	int fd = area_open(p->image.dir.fd, p->image.name, O_RDWR, &bytes);

	if (fd < 0)
		return;
	/*
	 * After exec the file of that name is another image's, which has only the writes that it
	 * found itself. If this fails, the children get the write again.
	 */
	if (bytes < sizeof(head) || !read_area(fd, &head) ||
	    memcmp(head.image_id, p->head.image_id, sizeof(head.image_id)) ||
	    pwrite(fd, &until_ns, sizeof(until_ns), offsetof(struct area_header, session_ns)) < 0)
		until_ns = 0;
	close(fd);
}

void session_show_writes(struct session *s)
{
	if (s->nr_members)
		session_file_write(&s->file, &s->members[0]->image.dir, s->target.name, s->instance,
				   &s->writes);
}

int session_carry_out(struct process *p, struct written *w)
{
	if (!w->text)
		return image_mkdir(&p->image, w->path);
	if (w->depends)
		return meaning_write(w, &p->image);
	return image_write(&p->image, w->path, w->text, w->n, w->truncate);
}

/* A new member gets the writes from before it came. */
static void add_member(void *arg, struct process *p)
{
	struct session *s = arg;
	unsigned int learned = 0;
	uint64_t done;

	if (ARRAY_ROOM(s->members, s->nr_members, s->room, 8))
		return;
	s->members[s->nr_members++] = p;
	if (!s->pipe_readers.cpus)
		pipe_readers_init(&s->pipe_readers, p->head.nr_cpus);
	done = s->writes.nr ? done_until(p) : 0;
	for (unsigned int i = 0; i < s->writes.nr && process_lives(p); i++) {
		struct written *w = &s->writes.at[i];
		unsigned int before = w->nr_meanings;

		if (w->end_ns <= done || (w->text && is_inherited(s, p, w)))
			continue;
		session_carry_out(p, w);
		session_set_done(p, w->end_ns);
		learned += w->nr_meanings - before;
	}
	if (learned)
		session_show_writes(s);
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

void session_refresh(struct session *s)
{
	const struct session_member_calls calls = {add_member, remove_member, s};

	s->looked_ns = time_ns(CLOCK_MONOTONIC);
	session_members_call(&s->roll, s->target.name, s->instance, &calls);
}

static void session_free(struct session *s)
{
	session_members_free(&s->roll);
	writes_free(&s->writes);
	session_file_remove(&s->file);
	free(s->members);
	pipe_readers_free(&s->pipe_readers);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Look for new members of a session, which get the earlier writes, until it has no member left. */
static void *watch(void *arg)
{
	struct session *s = arg;
	bool some = true;

	while (some) {
		poll(NULL, 0, WATCH_MS);
		pthread_mutex_lock(&s->lock);
		session_refresh(s);
		some = s->nr_members != 0;
		s->watched = some;
		pthread_mutex_unlock(&s->lock);
	}
	session_put(s);
	return NULL;
}

/* The watcher has a reference of its own. */
void session_watch(struct session *s)
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
	fail(ENOENT, "no process of a session %s lives (`vestige run %s -- PROGRAM`)", name, name);
	if (!instance)
		instance = "";
	if (!*name || strlen(name) >= sizeof(s->target.name) ||
	    strlen(instance) >= sizeof(s->instance))
		return NULL;
	pthread_mutex_lock(&table_lock);
	for (s = table; s && (strcmp(s->target.name, name) || strcmp(s->instance, instance));
	     s = s->next)
		nr++;
	if (!s && nr < MAX_SESSIONS) {
		s = calloc(1, sizeof(*s));
		if (s) {
			s->target.ops = &session_ops;
			strcpy(s->target.name, name);
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
		*err = fail(ENOMEM, "out of memory for a session");
		return NULL;
	}
	pthread_mutex_lock(&s->lock);
	if (!s->watched || !s->nr_members || time_ns(CLOCK_MONOTONIC) - s->looked_ns > LOOK_NS)
		session_refresh(s);
	nr_members = s->nr_members;
	pthread_mutex_unlock(&s->lock);
	if (nr_members)
		return s;
	session_put(s);
	return NULL;
}

static void unlink_session(struct session *s)
{
	struct session **at = &table;

	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
}

/*
 * Is the session kept only for the next request? A session with writes is kept for later members; a
 * watcher has a reference to it, unless its thread could not be created. Table locked.
 */
static bool is_idle(const struct session *s)
{
	return !s->refs && !s->writes.nr;
}

/*
 * Remove the sessions from the table that have been idle for a while. *@more: others are idle.
 * Table locked.
 */
static struct session *take_idle(bool *more)
{
	struct session *gone = NULL, *s, *next;
	uint64_t now = time_ns(CLOCK_MONOTONIC);

	*more = false;
	for (s = table; s; s = next) {
		next = s->next;
		if (!is_idle(s))
			continue;
		if (now - s->idle_ns < IDLE_NS) {
			*more = true;
			continue;
		}
		unlink_session(s);
		s->next = gone;
		gone = s;
	}
	return gone;
}

/*
 * A thread that drops idle sessions until there are none, since no request would notice that their
 * members are gone.
 */
static void *forget(void *arg)
{
	bool more = true;

	(void)arg;
	while (more) {
		struct session *gone, *next;

		poll(NULL, 0, FORGET_MS);
		pthread_mutex_lock(&table_lock);
		gone = take_idle(&more);
		forgetting = more;
		pthread_mutex_unlock(&table_lock);
		for (; gone; gone = next) {
			next = gone->next;
			session_free(gone);
		}
		process_forget_gone();
	}
	return NULL;
}

/* Release it. An unused session is freed after a while, one without members at once. */
void session_put(struct session *s)
{
	pthread_t thread;
	bool gone;

	pthread_mutex_lock(&table_lock);
	s->idle_ns = time_ns(CLOCK_MONOTONIC);
	gone = !--s->refs && !s->nr_members;
	if (!gone && is_idle(s) && !forgetting) {
		forgetting = serving && !pthread_create(&thread, NULL, forget, NULL);
		if (forgetting)
			pthread_detach(thread);
		gone = !forgetting;
	}
	if (gone)
		unlink_session(s);
	pthread_mutex_unlock(&table_lock);
	if (gone)
		session_free(s);
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
	if (now || time_ns(CLOCK_MONOTONIC) - s->looked_ns > LOOK_NS)
		session_refresh(s);
	pthread_mutex_unlock(&s->lock);
}

uint64_t session_looked(struct session *s)
{
	uint64_t ns;

	pthread_mutex_lock(&s->lock);
	ns = s->looked_ns;
	pthread_mutex_unlock(&s->lock);
	return ns;
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

void sessions_serve(bool on)
{
	pthread_mutex_lock(&table_lock);
	serving = on;
	for (struct session *s = on ? NULL : table; s; s = s->next) {
		pthread_mutex_lock(&s->lock);
		session_file_remove(&s->file);
		s->file.others = true;
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&table_lock);
}
