/* SPDX-License-Identifier: MIT */
/*
 * See members_pipe.h: a pipe for each member, asked in turn. Of one member the records come in order of
 * time; of several, piece by piece: `trace` is the one that puts them in order. Members that come
 * later join, a dead one that has been read to its end leaves.
 * Any thread; the lock is not held while waiting. Tests: tests/tracefs/test_sessions.py.
 */
#include "tools/mount/members_pipe.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/target/pipe.h"

#define WAIT_MS 10

struct one {
	struct process *p;
	struct pipe *pipe; /* NULL: read to its end */
};

struct members_pipe {
	struct session *s;
	unsigned int cpu;
	pthread_mutex_t lock; /* of what follows */
	struct one *of;
	unsigned int nr, turn;
};

int members_pipe_open(struct session *s, unsigned int cpu, struct members_pipe **out)
{
	struct members_pipe *x = calloc(1, sizeof(*x));

	if (!x)
		return fail(ENOMEM, "no memory");
	x->s = s;
	x->cpu = cpu;
	pthread_mutex_init(&x->lock, NULL);
	*out = x;
	return 0;
}

void members_pipe_close(struct members_pipe *x)
{
	for (unsigned int i = 0; i < x->nr; i++) {
		if (x->of[i].pipe)
			pipe_close(x->of[i].pipe);
		process_put(x->of[i].p);
	}
	free(x->of);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

/* Members that are not among ours yet. Locked. */
static void join(struct members_pipe *x)
{
	struct process **members;
	unsigned int nr = session_members(x->s, &members);

	for (unsigned int i = 0; i < nr; i++) {
		struct one *more;
		unsigned int k;

		for (k = 0; k < x->nr && x->of[k].p != members[i]; k++)
			;
		more = k < x->nr ? NULL : realloc(x->of, (x->nr + 1) * sizeof(*more));
		if (!more) {
			process_put(members[i]);
			continue;
		}
		x->of = more;
		x->of[x->nr] = (struct one){.p = members[i]};
		if (pipe_open(&members[i]->t, x->cpu, &x->of[x->nr].pipe))
			x->of[x->nr].pipe = NULL;
		x->nr++;
	}
	free(members);
}

/* Return: bytes; -EAGAIN nothing now; 0 all have ended; -errno. Locked. */
static ssize_t read_now(struct members_pipe *x, char *buf, size_t bytes)
{
	bool some = false;

	join(x);
	for (unsigned int i = 0; i < x->nr; i++) {
		struct one *one = &x->of[(x->turn + i) % x->nr];
		ssize_t n = one->pipe ? pipe_read(one->pipe, buf, bytes, true, NULL) : 0;

		if (n > 0) {
			x->turn = (x->turn + i + 1) % x->nr;
			return n;
		}
		some |= n == -EAGAIN;
		if (!n && one->pipe && !process_lives(one->p)) {
			pipe_close(one->pipe);
			one->pipe = NULL;
		}
	}
	return some ? -EAGAIN : 0;
}

ssize_t members_pipe_read(struct members_pipe *x, char *buf, size_t bytes, bool nonblock,
			  int (*interrupted)(void))
{
	for (;;) {
		ssize_t n;

		pthread_mutex_lock(&x->lock);
		n = read_now(x, buf, bytes);
		pthread_mutex_unlock(&x->lock);
		if (n != -EAGAIN || nonblock)
			return n;
		if (interrupted && interrupted())
			return -EINTR;
		poll(NULL, 0, WAIT_MS);
	}
}

bool members_pipe_ready(struct members_pipe *x)
{
	bool ready = false, some = false;

	pthread_mutex_lock(&x->lock);
	join(x);
	for (unsigned int i = 0; i < x->nr && !ready; i++) {
		some |= x->of[i].pipe != NULL;
		ready = x->of[i].pipe && pipe_ready(x->of[i].pipe);
	}
	pthread_mutex_unlock(&x->lock);
	return ready || !some;
}
