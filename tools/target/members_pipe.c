/* SPDX-License-Identifier: MIT */
/*
 * See members_pipe.h: one pipe of all members. Later members join when it is read.
 * Any thread; the lock is not held while waiting. Tests: tests/tracefs/test_sessions.py.
 */
#include "tools/target/members_pipe.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "tools/base/fail.h"
#include "tools/target/members.h"
#include "tools/target/pipe.h"

#define WAIT_MS 10

struct members_pipe {
	struct session *s;
	unsigned int cpu;
	pthread_mutex_t lock; /* of what follows */
	struct members members;
	struct pipe *pipe; /* NULL: there was no member yet */
	int err;	   /* why there is no pipe */
};

static void add(void *arg, const struct image *t)
{
	struct members_pipe *x = arg;

	if (x->pipe)
		pipe_add(x->pipe, t);
	else
		x->err = pipe_open(t, x->cpu, &x->pipe);
}

/* Add new members to the pipe. Return: how many have come so far. */
static unsigned int join(struct members_pipe *x)
{
	/* of the last look */
	uint64_t looked_ns = session_looked(x->s);
	unsigned int nr;

	pthread_mutex_lock(&x->lock);
	members_join(&x->members, x->s, add, x);
	nr = x->members.nr;
	if (x->pipe)
		pipe_known(x->pipe, looked_ns);
	pthread_mutex_unlock(&x->lock);
	return nr;
}

int members_pipe_open(struct session *s, unsigned int cpu, struct members_pipe **out)
{
	struct members_pipe *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return fail(ENOMEM, "out of memory");
	x->s = s;
	x->cpu = cpu;
	x->err = -ENOENT;
	pthread_mutex_init(&x->lock, NULL);
	join(x);
	if (!x->pipe) {
		err = x->err;
		members_pipe_close(x);
		return err;
	}
	*out = x;
	return 0;
}

void members_pipe_close(struct members_pipe *x)
{
	if (x->pipe)
		pipe_close(x->pipe);
	members_free(&x->members);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

ssize_t members_pipe_read(struct members_pipe *x, char *buf, size_t bytes, bool nonblock,
			  int (*interrupted)(void))
{
	for (;;) {
		unsigned int nr;
		ssize_t n;

		session_look(x->s, false);
		nr = join(x);
		n = pipe_look(x->pipe, buf, bytes, !nonblock);
		if (!n) {
			/* the end, unless a member has come since that look, as by exec */
			session_look(x->s, true);
			if (join(x) != nr)
				continue;
		}
		if (n != -EAGAIN || nonblock)
			return n;
		if (interrupted && interrupted())
			return -EINTR;
		poll(NULL, 0, WAIT_MS);
	}
}

bool members_pipe_ready(struct members_pipe *x)
{
	join(x);
	return pipe_ready(x->pipe);
}
