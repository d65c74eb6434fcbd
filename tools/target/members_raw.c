/* SPDX-License-Identifier: MIT */
/*
 * See members_raw.h. A table has one object for each session that is read, since all CPUs of a
 * session must be read together. Any thread. Locks: the table's, then an object's, then a
 * session's.
 * Tests: tests/tracefs/test_sessions.py.
 */
#include "tools/target/members_raw.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/fail.h"
#include "tools/target/members.h"

struct members_raw {
	struct members_raw *next;
	struct session *s;
	unsigned int refs;    /* under the table's lock */
	pthread_mutex_t lock; /* of what follows */
	struct members members;
	struct raw *raw; /* NULL: there was no member yet */
	int err;	 /* why raw is NULL */
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct members_raw *table;

static void add(void *arg, const struct image *t)
{
	struct members_raw *x = arg;

	if (x->raw)
		raw_add(x->raw, t);
	else
		x->err = raw_open(t, &x->raw);
}

struct raw *members_raw_now(struct members_raw *x, bool look)
{
	uint64_t looked_ns;

	if (look)
		session_look(x->s, false);
	/* of that look, or of a later one */
	looked_ns = session_looked(x->s);
	pthread_mutex_lock(&x->lock);
	members_join(&x->members, x->s, add, x);
	if (x->raw)
		raw_known(x->raw, looked_ns);
	pthread_mutex_unlock(&x->lock);
	return x->raw;
}

bool members_raw_live(struct members_raw *x)
{
	if (raw_lives(members_raw_now(x, false)))
		return true;
	/* another member may have come, as by exec */
	session_look(x->s, true);
	return raw_lives(members_raw_now(x, false));
}

static void raw_free(struct members_raw *x)
{
	if (x->raw)
		raw_close(x->raw);
	members_free(&x->members);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

/* A new one. Table locked. */
static int make(struct session *s, struct members_raw **out)
{
	struct members_raw *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return fail(ENOMEM, "out of memory");
	x->s = s;
	x->err = -ENOENT;
	pthread_mutex_init(&x->lock, NULL);
	if (!members_raw_now(x, false)) {
		err = x->err;
		raw_free(x);
		return err;
	}
	x->next = table;
	table = x;
	*out = x;
	return 0;
}

int members_raw_get(struct session *s, unsigned int cpu, struct members_raw **out)
{
	struct members_raw *x;
	int err = 0;

	pthread_mutex_lock(&table_lock);
	for (x = table; x && x->s != s; x = x->next)
		;
	if (!x)
		err = make(s, &x);
	if (!err) {
		x->refs++;
		raw_join(x->raw, cpu);
		*out = x;
	}
	pthread_mutex_unlock(&table_lock);
	return err;
}

void members_raw_put(struct members_raw *x, unsigned int cpu)
{
	struct members_raw **at;
	bool last;

	pthread_mutex_lock(&table_lock);
	raw_leave(x->raw, cpu);
	last = !--x->refs;
	for (at = &table; last && *at; at = &(*at)->next) {
		if (*at == x) {
			*at = x->next;
			break;
		}
	}
	pthread_mutex_unlock(&table_lock);
	if (last)
		raw_free(x);
}
