/* SPDX-License-Identifier: MIT */
/*
 * See out.h. The kernel needs 30 ns to write a line to a file, about as long as we need to make it.
 * So a second thread writes long outputs. Tests: tests/unit/test_text.c.
 */
#include "tools/text/out.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "tools/base/control_byte.h"
#include "tools/base/fail.h"
#include "tools/base/signals.h"

static FILE *stdout_was; /* NULL: out_terminal() is off */

static ssize_t write_stdout(void *cookie, const char *text, size_t bytes);

void out_terminal(bool on)
{
	FILE *f;

	if (on == out_is_terminal())
		return;
	fflush(stdout);
	f = on ? fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_stdout})
	       : stdout_was;
	if (!f)
		return;
	if (on)
		setvbuf(f, NULL, _IOLBF, BUFSIZ);
	stdout_was = on ? stdout : NULL;
	stdout = f;
}

bool out_is_terminal(void)
{
	return stdout_was;
}

int out_init(struct out *o, int fd)
{
	*o = (struct out){.fd = fd,
			  .terminal = fd == STDOUT_FILENO && out_is_terminal(),
			  .buf = malloc(OUT_BYTES)};
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
 * The buffers of the writing thread. The caller fills one and exchanges it for an empty one, which
 * takes a lock once for 256 KiB.
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
		if (w->full - w->written == OUT_BUFFERS / 2)
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
	/* a terminal needs no speed */
	struct out_writer *w = o->terminal ? NULL : calloc(1, sizeof(*w));
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

/* Start the thread. A short output has none: writer_end() writes its buffers. */
static void writer_start(struct out_writer *w)
{
	w->running = !thread_without_signals(&w->thread, write_beside, w);
}

/* Pass the caller's full buffer on and get an empty one. Return: 0 or the first error so far. */
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
	/* if it must wait, until half of them are written: a wake-up costs as much as 100 lines */
	if (w->full - w->written == OUT_BUFFERS)
		while (w->full - w->written > OUT_BUFFERS / 2)
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

/* Return: as write_fd(). */
static int write_to(const struct out *o, const char *text, size_t bytes)
{
	return o->sink ? o->sink(o->arg, text, bytes) : write_fd(o->fd, text, bytes);
}

/* How many bytes of @text come before the first that must be escaped. @stay: is not escaped. */
static size_t plain_lines(const char *text, size_t n, const char *stay)
{
	size_t plain = 0;

	while ((plain += control_plain(text + plain, n - plain)) < n && text[plain] &&
	       strchr(stay, text[plain]))
		plain++;
	return plain;
}

/* For a terminal, in parts: an escape is longer than its byte. Return: as write_fd(). */
static int write_escaped(const struct out *o, const char *text, size_t n)
{
	char part[4096];
	size_t used = 0, taken, bytes;
	int err = 0;

	for (; n && !err; text += taken, n -= taken) {
		taken = plain_lines(text, n, "\n\t");
		if (taken > sizeof(part) - used)
			taken = sizeof(part) - used;
		memcpy(part + used, text, taken);
		used += taken;
		if (sizeof(part) - used < CONTROL_ESCAPE_BYTES) {
			err = write_to(o, part, used);
			used = 0;
		} else if (taken < n) {
			text += taken;
			n -= taken;
			taken = control_escape(part + used, &bytes, text, n);
			used += bytes;
		}
	}
	return err ? err : write_to(o, part, used);
}

/* The write function of the FILE: takes all of the text, or fails. */
static ssize_t write_stdout(void *cookie, const char *text, size_t bytes)
{
	const struct out o = {.fd = STDOUT_FILENO};
	int err = write_escaped(&o, text, bytes);

	(void)cookie;
	if (err)
		errno = -err;
	return err ? 0 : (ssize_t)bytes;
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
		o->err = o->terminal ? write_escaped(o, o->buf, bytes) : write_to(o, o->buf, bytes);
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
	char line[1024], *all = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(line)) { /* names may be longer */
		va_start(ap, fmt);
		n = vasprintf(&all, fmt, ap);
		va_end(ap);
		if (n < 0) {
			all = NULL;
			o->err = o->err ? o->err : -ENOMEM;
		}
	}
	if (n > 0)
		out_write(o, all ? all : line, (size_t)n);
	free(all);
}

static void put_safe(struct out *o, const char *text, size_t n, const char *stay)
{
	char escape[CONTROL_ESCAPE_BYTES];
	size_t taken, bytes;

	while (n) {
		taken = plain_lines(text, n, stay);
		out_write(o, text, taken);
		text += taken;
		n -= taken;
		if (!n)
			return;
		taken = control_escape(escape, &bytes, text, n);
		out_write(o, escape, bytes);
		text += taken;
		n -= taken;
	}
}

void out_safe(struct out *o, const char *text, size_t n)
{
	put_safe(o, text, n, "");
}

void out_safe_lines(struct out *o, const char *text, size_t n)
{
	put_safe(o, text, n, "\n\t");
}

void out_string(struct out *o, const char *text, size_t n)
{
	if (o->terminal)
		put_safe(o, text, n, "\t");
	else
		out_write(o, text, n);
}

void out_deflate(struct out *o, struct z_stream_s *z, const void *bytes, size_t n, int flush)
{
	const unsigned int step = OUT_BYTES / 2;

	z->next_in = (unsigned char *)(uintptr_t)bytes;
	z->avail_in = (uInt)n;
	do {
		char *to = out_room(o, step);

		z->next_out = (unsigned char *)to;
		z->avail_out = step;
		deflate(z, flush);
		out_done(o, to + step - z->avail_out);
	} while (!z->avail_out);
}
