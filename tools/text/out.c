/* SPDX-License-Identifier: MIT */
/*
 * See out.h. To write a line into a file costs the kernel 30 ns, about as much as to make it, so
 * long outputs have a thread for that. Tests: tests/unit/test_text.c.
 */
#include "tools/text/out.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"

int out_init(struct out *o, int fd)
{
	*o = (struct out){.fd = fd, .buf = malloc(OUT_BYTES)};
	return o->buf ? 0 : -ENOMEM;
}

int out_init_sink(struct out *o, int (*sink)(void *arg, const char *text, size_t bytes), void *arg)
{
	int err = out_init(o, -1);

	o->sink = sink;
	o->arg = arg;
	return err;
}

/*
 * Full buffers on their way to the thread that writes them. The caller's own is one of them: it is
 * exchanged for an empty one. Handing over costs a lock for 256 KB.
 */
struct out_writer {
	int fd;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t more, less; /* a buffer is full, or the end; one is written */
	uint64_t full, written;	   /* buffers, since the beginning */
	bool end;
	int err; /* -errno of the first failure: nothing is written after it */
	struct {
		char *buf;
		size_t bytes;
	} ring[OUT_BUFFERS];
};

/* Return: 0 or -errno. */
static int write_fd(int fd, const char *p, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, p, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* Write the buffers that are full. With the lock held, which is given up meanwhile. */
static void write_full(struct out_writer *w)
{
	while (w->written < w->full) {
		unsigned int i = w->written % OUT_BUFFERS;
		int err = w->err;

		pthread_mutex_unlock(&w->lock);
		if (!err)
			err = write_fd(w->fd, w->ring[i].buf, w->ring[i].bytes);
		pthread_mutex_lock(&w->lock);
		w->err = err;
		w->written++;
		pthread_cond_signal(&w->less);
	}
}

static void *write_beside(void *arg)
{
	struct out_writer *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		write_full(w);
		if (w->end)
			break;
		pthread_cond_wait(&w->more, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void writer_free(struct out_writer *w)
{
	for (unsigned int i = 0; i < OUT_BUFFERS; i++)
		free(w->ring[i].buf);
	free(w);
}

void out_beside(struct out *o)
{
	struct out_writer *w = calloc(1, sizeof(*w));
	bool whole = w != NULL;

	for (unsigned int i = 0; whole && i < OUT_BUFFERS; i++) {
		w->ring[i].buf = malloc(OUT_BYTES);
		whole = w->ring[i].buf != NULL;
	}
	if (!whole) {
		if (w)
			writer_free(w);
		return;
	}
	w->fd = o->fd;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	pthread_cond_init(&w->less, NULL);
	o->writer = w;
}

/* A short output never comes here: what it has waits in the buffers for writer_end(). */
static void writer_start(struct out_writer *w)
{
	sigset_t all, old;

	/* signals are the main thread's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	w->running = !pthread_create(&w->thread, NULL, write_beside, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* The caller's buffer is full: it goes its way. Return: 0 or the first error so far. */
static int writer_put(struct out_writer *w, char **buf, size_t bytes)
{
	unsigned int i;
	char *empty;
	int err;

	if (!w->running && w->full == OUT_BUFFERS)
		writer_start(w);
	pthread_mutex_lock(&w->lock);
	if (!w->running && w->full - w->written == OUT_BUFFERS)
		write_full(w);
	while (w->full - w->written == OUT_BUFFERS)
		pthread_cond_wait(&w->less, &w->lock);
	i = w->full++ % OUT_BUFFERS;
	empty = w->ring[i].buf;
	w->ring[i].buf = *buf;
	w->ring[i].bytes = bytes;
	*buf = empty;
	err = w->err;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	return err;
}

/* Write what is left; the writer is gone. Return: as above. */
static int writer_end(struct out_writer *w)
{
	int err;

	pthread_mutex_lock(&w->lock);
	w->end = true;
	if (w->running)
		pthread_cond_signal(&w->more);
	else
		write_full(w);
	pthread_mutex_unlock(&w->lock);
	if (w->running)
		pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->more);
	pthread_cond_destroy(&w->less);
	pthread_mutex_destroy(&w->lock);
	err = w->err;
	writer_free(w);
	return err;
}

void out_flush(struct out *o)
{
	size_t bytes = o->used;

	o->used = 0;
	if (!o->err && o->stop && atomic_load_explicit(o->stop, memory_order_relaxed))
		o->err = -EINTR;
	if (!bytes || o->err)
		return;
	if (o->writer)
		o->err = writer_put(o->writer, &o->buf, bytes);
	else
		o->err = o->sink ? o->sink(o->arg, o->buf, bytes) : write_fd(o->fd, o->buf, bytes);
}

int out_end(struct out *o)
{
	if (o->buf)
		out_flush(o);
	if (o->writer) {
		int err = writer_end(o->writer);

		o->err = o->err ? o->err : err;
		o->writer = NULL;
	}
	free(o->buf);
	o->buf = NULL;
	return o->err;
}

int out_end_stdout(struct out *o, int err, const char *what)
{
	int end = out_end(o);

	if (!err && end && end != -EPIPE)
		err = fail_errno(-end, "cannot write %s", what);
	return err;
}

void out_write(struct out *o, const char *text, size_t bytes)
{
	for (; bytes > OUT_BYTES; text += OUT_BYTES, bytes -= OUT_BYTES)
		out_write(o, text, OUT_BYTES);
	memcpy(out_room(o, bytes), text, bytes);
	o->used += bytes;
}

void out_text(struct out *o, const char *text)
{
	out_write(o, text, strlen(text));
}

void out_printf(struct out *o, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n > 0)
		out_write(o, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}
