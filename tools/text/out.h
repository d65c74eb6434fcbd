/* SPDX-License-Identifier: MIT */
/*
 * A large buffer in front of a file descriptor or a function. After the first error, which is kept,
 * all output is dropped, so a printer needs to check for errors only from time to time.
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
 * out_terminal() - from now on stdout is a terminal, or a pager in front of one: a struct out on it
 * and the FILE stdout escape control bytes in the text, except newlines and tabs. main() switches
 * it on; a command that draws on the terminal itself switches it off.
 */
void out_terminal(bool on);
/* Whether out_terminal() is on. */
bool out_is_terminal(void);

/* Output to the descriptor @fd, which stays the caller's. Return: 0 or -ENOMEM. */
int out_init(struct out *o, int fd);
/*
 * out_beside() - let a second thread write to the file descriptor, once there is more text than
 * OUT_BUFFERS buffers hold. The caller then sees an error later, by that much text. If the thread
 * cannot be created, the caller writes.
 */
void out_beside(struct out *o);
/* As out_init(), but the text goes to @sink. */
int out_init_sink(struct out *o, int (*sink)(void *arg, const char *text, size_t bytes), void *arg);
/* Write what is left and free the buffer. Return: 0 or the first error. */
int out_end(struct out *o);
/*
 * out_end_stdout() - out_end() for an output on stdout.
 * @err: the result so far; returned if it is not 0. @what: names the output in the error: "cannot
 * write WHAT". A closed pipe is no error. Return: 0 or -errno with fail() set.
 */
int out_end_stdout(struct out *o, int err, const char *what);
void out_flush(struct out *o);

/* Any number of bytes. */
void out_write(struct out *o, const char *text, size_t bytes);
void out_text(struct out *o, const char *text);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* @text, @n bytes, as a part of a line: all control bytes are escaped, newlines too. */
void out_safe(struct out *o, const char *text, size_t n);
/* The same for a text of several lines: its newlines and tabs stay. */
void out_safe_lines(struct out *o, const char *text, size_t n);
/*
 * out_string() - a program's string in a text that has the kernel's form: as it is, except that on
 * a terminal control bytes other than tabs are escaped.
 */
void out_string(struct out *o, const char *text, size_t n);

/*
 * out_room() - room for @bytes, at most OUT_BYTES, in one piece. The caller writes there and calls
 * out_done() with @end, the first byte behind its text.
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

/*
 * out_deflate() - write bytes through zlib. @z: of deflateInit(), the caller's. @flush:
 * deflate()'s: Z_FINISH with the last bytes.
 */
struct z_stream_s;
void out_deflate(struct out *o, struct z_stream_s *z, const void *bytes, size_t n, int flush);

#endif
