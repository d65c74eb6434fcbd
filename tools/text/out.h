/* SPDX-License-Identifier: MIT */
/*
 * A large buffer in front of a file descriptor or a function. The first error is kept and
 * everything after it is dropped, so that a printer needs to look once a while only.
 */
#ifndef VESTIGE_TOOLS_OUT_H
#define VESTIGE_TOOLS_OUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUT_BYTES   (256u << 10)
#define OUT_BUFFERS 4u /* of out_beside() */

struct out_writer;

struct out {
	int fd;
	struct out_writer *writer; /* out_beside()'s; NULL: the caller writes */
	int (*sink)(void *arg, const char *text, size_t bytes); /* instead of fd: 0 or -errno */
	void *arg;
	const atomic_bool
		*stop; /* once it is set nothing is written, and err is -EINTR; NULL: none */
	bool terminal; /* its text is for a terminal: out_flush() escapes control bytes */
	int err;       /* -errno of the first failure; -EPIPE when no process reads any more */
	size_t used;
	char *buf; /* OUT_BYTES */
};

/*
 * out_terminal() - what is written to stdout from now on is for a terminal, or a pager in front of one: an
 * out on it, and the FILE of that name, escape control bytes that are in the text, newlines and
 * tabs apart. main() begins it; a command that draws on the terminal itself ends it.
 */
void out_terminal(bool on);
/* Whether it is. */
bool out_is_terminal(void);

/* Return: 0 or -ENOMEM. */
int out_init(struct out *o, int fd);
/*
 * out_beside() - from now on a thread of its own writes to the file descriptor, once there is more
 * than OUT_BUFFERS of text. An error is then seen as much later. Where no thread could be had the
 * caller writes.
 */
void out_beside(struct out *o);
/* The same as out_init() in front of @sink. */
int out_init_sink(struct out *o, int (*sink)(void *arg, const char *text, size_t bytes), void *arg);
/* Write what is left and free the buffer. Return: 0 or the first error. */
int out_end(struct out *o);
/*
 * out_end_stdout() - the same of an output on stdout, after @err, which is passed on if it is not
 * 0.
 * @what: names it in the error: "cannot write WHAT". A closed pipe is no error. Return: 0 or -errno
 * with fail() set.
 */
int out_end_stdout(struct out *o, int err, const char *what);
void out_flush(struct out *o);

/* Any number of bytes. */
void out_write(struct out *o, const char *text, size_t bytes);
void out_text(struct out *o, const char *text);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* @text, @n bytes, in a line of its own or in one of ours: all control bytes are escaped. */
void out_safe(struct out *o, const char *text, size_t n);
/* The same for a text of lines: its newlines and tabs stay. */
void out_safe_lines(struct out *o, const char *text, size_t n);
/*
 * out_string() - a program's string in a text whose bytes are the kernel's: out_safe() where that is for a
 * terminal, else as it is. Tabs stay.
 */
void out_string(struct out *o, const char *text, size_t n);

/*
 * Room for @bytes, at most OUT_BYTES, in one piece; out_done() with the first byte behind what was
 * put there.
 */
static inline char *out_room(struct out *o, size_t bytes)
{
	if (OUT_BYTES - o->used < bytes)
		out_flush(o);
	return o->buf + o->used;
}

static inline void out_done(struct out *o, const char *end)
{
	o->used = (size_t)(end - o->buf);
}

#endif
