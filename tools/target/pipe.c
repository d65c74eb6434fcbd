/* SPDX-License-Identifier: MIT */
/*
 * trace_pipe: see pipe.h. Records are consumed before their text is handed out, so a reader of
 * `trace` does not see them meanwhile. A reader that goes away loses at most the rest of its last
 * read, as in the kernel. The traced program wakes no reader, which would cost it time: the area is
 * polled every few milliseconds. Any thread; the lock is not held while waiting. Tests:
 * tests/tracefs/.
 */
#include "tools/target/pipe.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/area/follow.h"
#include "tools/base/fail.h"
#include "tools/target/trace_stream.h"

#define FIRST_WAIT_MS 1
#define LAST_WAIT_MS  20

struct pipe {
	unsigned int nr_cpus;
	pthread_mutex_t lock; /* of what follows */
	struct follow *f;
	struct trace_stream *s; /* NULL: none yet */
	bool renewed;		/* the data that s borrows is gone */
	unsigned int nr;	/* of processes */
	struct out o;
	bool *cpus;	  /* which CPUs are printed, NULL all */
	unsigned int cpu; /* the only CPU that is printed, else UINT32_MAX */
	uint64_t *taken;  /* by CPU: of this stream, reported to the follower */
	bool more;	  /* this turn has more records */
	bool has_read;
	/* text that was made and not handed out */
	char *buf;
	size_t at, used, room;
};

static int append(void *arg, const char *text, size_t bytes)
{
	struct pipe *x = arg;

	if (x->at == x->used)
		x->at = x->used = 0;
	if (x->room - x->used < bytes) {
		size_t room = x->used + bytes + OUT_BYTES;
		char *more = realloc(x->buf, room);

		if (!more)
			return -ENOMEM;
		x->buf = more;
		x->room = room;
	}
	memcpy(x->buf + x->used, text, bytes);
	x->used += bytes;
	return 0;
}

static int open_follow(struct pipe *x, const struct image *t, unsigned int cpu)
{
	const struct followed what = image_followed(t);
	int err = follow_open(&what, true, &x->f);

	if (err)
		return err;
	x->nr_cpus = follow_reader(x->f)->nr_cpus;
	if (cpu != UINT32_MAX && cpu >= x->nr_cpus)
		return fail(ENOENT, "process %d has no CPU %u", t->pid, cpu);
	x->taken = calloc(x->nr_cpus, sizeof(*x->taken));
	if (cpu != UINT32_MAX)
		x->cpus = calloc(x->nr_cpus, sizeof(*x->cpus));
	if (!x->taken || (cpu != UINT32_MAX && !x->cpus) || out_init_sink(&x->o, append, x))
		return fail(ENOMEM, "out of memory");
	x->o.terminal = out_is_terminal();
	if (x->cpus)
		x->cpus[cpu] = true;
	x->cpu = cpu;
	return 0;
}

int pipe_open(const struct image *t, unsigned int cpu, struct pipe **out)
{
	struct pipe *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return fail(ENOMEM, "out of memory");
	x->nr = 1;
	pthread_mutex_init(&x->lock, NULL);
	err = open_follow(x, t, cpu);
	if (err) {
		pipe_close(x);
		return err;
	}
	*out = x;
	return 0;
}

int pipe_add(struct pipe *x, const struct image *t)
{
	const struct followed what = image_followed(t);
	int err;

	pthread_mutex_lock(&x->lock);
	err = follow_add(x->f, &what);
	x->nr += !err;
	pthread_mutex_unlock(&x->lock);
	return err;
}

void pipe_known(struct pipe *x, uint64_t known_ns)
{
	pthread_mutex_lock(&x->lock);
	follow_known(x->f, known_ns);
	pthread_mutex_unlock(&x->lock);
}

void pipe_close(struct pipe *x)
{
	trace_stream_free(x->s);
	if (x->f)
		follow_close(x->f);
	if (x->o.buf) {
		x->o.used = 0;
		out_end(&x->o);
	}
	free(x->cpus);
	free(x->taken);
	free(x->buf);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

/* Report the records of each CPU that are in the text now. */
static void take(struct pipe *x)
{
	for (unsigned int c = 0; x->s && c < x->nr_cpus; c++) {
		uint64_t nr;

		if (x->cpus && !x->cpus[c])
			continue;
		nr = trace_stream_nr_taken(x->s, c);
		follow_take(x->f, c, nr - x->taken[c]);
		x->taken[c] = nr;
	}
}

/* A stream of the reader as it is now. Return: 0 or -errno. */
static int make_stream(struct pipe *x)
{
	const struct trace_shape shape = {.cpus = x->cpus, .keep = UINT32_MAX, .no_header = true};
	bool renewed = x->renewed;
	int ret = 0;

	x->renewed = false;
	if (x->s && !renewed) {
		trace_stream_again(x->s);
		return 0;
	}
	if (x->s)
		ret = trace_stream_go_on(x->s, follow_reader(x->f), &shape);
	if (ret > 0)
		return 0;
	trace_stream_free(x->s);
	x->s = NULL;
	if (ret)
		return ret;
	memset(x->taken, 0, x->nr_cpus * sizeof(*x->taken));
	x->s = trace_stream_new(follow_reader(x->f), &x->o, &shape, &ret);
	return x->s ? 0 : ret;
}

/* Look for records. Return: 1 there are some, 0, -errno. */
static int turn(struct pipe *x, uint64_t hold_ns)
{
	int ret = follow_look(x->f, x->cpus, hold_ns, &x->renewed);

	if (ret <= 0)
		return ret;
	ret = make_stream(x);
	return ret < 0 ? ret : 1;
}

/* Make text of some @bytes. Return: 0 or -errno; there may be none. */
static int make(struct pipe *x, size_t bytes, uint64_t hold_ns)
{
	int ret;

	if (!x->more) {
		ret = turn(x, hold_ns);
		if (ret <= 0)
			return ret;
		x->more = true;
	}
	ret = 1;
	while (ret > 0 && x->o.used < bytes && x->o.used < OUT_BYTES / 2)
		ret = trace_stream_step(x->s);
	out_flush(&x->o);
	take(x);
	if (ret <= 0)
		x->more = false;
	if (ret < 0)
		return ret;
	return x->o.err;
}

/* Up to the last whole line that fits; a line that is longer comes in pieces. */
static size_t hand_out(struct pipe *x, char *buf, size_t bytes)
{
	size_t n = x->used - x->at;
	const char *end;

	if (n > bytes) {
		end = memrchr(x->buf + x->at, '\n', bytes);
		n = end ? (size_t)(end - (x->buf + x->at)) + 1 : bytes;
	}
	memcpy(buf, x->buf + x->at, n);
	x->at += n;
	x->has_read |= n != 0;
	return n;
}

/* Return: bytes, -EAGAIN nothing, 0 the end, -errno. Locked. */
static ssize_t read_now(struct pipe *x, char *buf, size_t bytes, uint64_t hold_ns)
{
	/* checked before the look, so that the look finds all records up to the end */
	bool over = !follow_lives(x->f) || (x->has_read && !follow_tracing_on(x->f));
	int err = 0;

	if (x->at == x->used)
		err = make(x, bytes, hold_ns);
	if (x->at < x->used)
		return (ssize_t)hand_out(x, buf, bytes);
	if (err)
		return err;
	return over ? 0 : -EAGAIN;
}

ssize_t pipe_look(struct pipe *x, char *buf, size_t bytes, bool hold)
{
	uint64_t hold_ns = hold && x->nr > 1 ? FOLLOW_HOLD_NS : 0;
	ssize_t n;

	pthread_mutex_lock(&x->lock);
	n = read_now(x, buf, bytes, hold_ns);
	/* the end: no member comes any more, so no record has to wait */
	if (!n && hold_ns)
		n = read_now(x, buf, bytes, 0);
	pthread_mutex_unlock(&x->lock);
	return n;
}

ssize_t pipe_read(struct pipe *x, char *buf, size_t bytes, bool nonblock, int (*interrupted)(void))
{
	int wait_ms = FIRST_WAIT_MS;
	ssize_t n;

	for (;;) {
		n = pipe_look(x, buf, bytes, false);
		if (n != -EAGAIN || nonblock)
			return n;
		if (interrupted && interrupted())
			return -EINTR;
		poll(NULL, 0, wait_ms);
		wait_ms = wait_ms * 2 < LAST_WAIT_MS ? wait_ms * 2 : LAST_WAIT_MS;
	}
}

bool pipe_ready(struct pipe *x)
{
	bool ready;

	pthread_mutex_lock(&x->lock);
	/* as in the kernel, buffer_percent has no effect on the pipe of all CPUs */
	ready = x->at < x->used || x->more || !follow_lives(x->f) ||
		(x->cpus ? follow_is_full(x->f, x->cpu, 0) : follow_any(x->f, NULL));
	pthread_mutex_unlock(&x->lock);
	return ready;
}
