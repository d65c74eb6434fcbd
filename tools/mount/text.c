/* SPDX-License-Identifier: MIT */
/*
 * Text by offset. The text of a small file is made at once. `trace`, which may be gigabytes, is a
 * window that moves forward as it is read; a read before the window makes the text again from the
 * start. Each has its own reader of the area, so its text is one consistent view of the buffer. One
 * thread at a time. Tests: tests/tracefs/.
 */
#include "tools/mount/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/reader/reader.h"
#include "tools/target/trace_stream.h"

#define KEEP_BYTES (64u << 10) /* kept of the text before the last read */

struct text {
	struct target *t;
	char *path;
	bool is_trace;
	unsigned int cpu; /* of a trace; UINT32_MAX all */
	/* the window */
	char *buf;
	size_t used, room;
	uint64_t start; /* offset of its first byte */
	bool made;	/* it has begun */
	bool end;	/* there is no more behind it */
	/* of a trace */
	struct reader *r;
	struct trace_stream *s;
	struct out o;
	bool *cpus;
};

static int append(void *arg, const char *text, size_t bytes)
{
	struct text *x = arg;

	if (x->room - x->used < bytes) {
		size_t room = x->room ? x->room * 2 : 8192;
		char *more;

		while (room - x->used < bytes)
			room *= 2;
		more = realloc(x->buf, room);
		if (!more)
			return -ENOMEM;
		x->buf = more;
		x->room = room;
	}
	memcpy(x->buf + x->used, text, bytes);
	x->used += bytes;
	return 0;
}

/* `trace` or `per_cpu/cpuN/trace`. */
static bool is_trace(const char *path, unsigned int *cpu)
{
	char end;

	*cpu = UINT32_MAX;
	return !strcmp(path, "trace") || (sscanf(path, "per_cpu/cpu%u/trac%c", cpu, &end) == 2 &&
					  end == 'e' && !strcmp(strrchr(path, '/'), "/trace"));
}

struct text *text_new(struct target *t, const char *path)
{
	struct text *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->t = t;
	x->path = strdup(path);
	x->is_trace = is_trace(path, &x->cpu);
	if (!x->path) {
		free(x);
		return NULL;
	}
	return x;
}

static void end_trace(struct text *x)
{
	trace_stream_free(x->s);
	x->s = NULL;
	reader_close(x->r);
	x->r = NULL;
	if (x->o.buf)
		out_end(&x->o);
	free(x->cpus);
	x->cpus = NULL;
}

void text_free(struct text *x)
{
	if (!x)
		return;
	end_trace(x);
	free(x->buf);
	free(x->path);
	free(x);
}

static int open_reader(struct text *x)
{
	end_trace(x);
	return x->t->ops->records(x->t, &x->r);
}

static int print_kallsyms(struct text *x, struct out *o)
{
	char *text = NULL;
	size_t bytes = 0;
	int err = open_reader(x);
	FILE *f;

	if (err)
		return err;
	f = open_memstream(&text, &bytes);
	err = f ? symbols_print_kallsyms(x->r->symbols, f) : fail(ENOMEM, "out of memory");
	if (f && fclose(f) && !err)
		err = fail(ENOMEM, "out of memory for the symbols");
	if (!err)
		out_write(o, text, bytes);
	free(text);
	end_trace(x);
	return err;
}

static int begin_trace(struct text *x)
{
	struct trace_shape shape = {.keep = UINT32_MAX};
	int err = open_reader(x);

	if (err)
		return err;
	if (x->cpu != UINT32_MAX && x->cpu >= x->r->nr_cpus)
		return -ENOENT;
	if (x->cpu != UINT32_MAX) {
		x->cpus = calloc(x->r->nr_cpus, sizeof(*x->cpus));
		if (!x->cpus)
			return fail(ENOMEM, "out of memory");
		x->cpus[x->cpu] = true;
	}
	shape.cpus = x->cpus;
	if (out_init_sink(&x->o, append, x))
		return fail(ENOMEM, "out of memory");
	x->s = trace_stream_new(x->r, &x->o, &shape, &err);
	return x->s ? 0 : err;
}

static int begin(struct text *x)
{
	struct out o;
	int err, end;

	x->used = 0;
	x->start = 0;
	x->made = x->end = false;
	if (x->is_trace) {
		err = begin_trace(x);
		x->made = !err;
		return err;
	}
	if (out_init_sink(&o, append, x))
		return fail(ENOMEM, "out of memory");
	if (!strcmp(x->path, TARGET_KALLSYMS))
		err = print_kallsyms(x, &o);
	else
		err = x->t->ops->print(x->t, x->path, &o);
	end = out_end(&o);
	x->made = !err && !end;
	x->end = true;
	return err ? err : end;
}

/* Make the trace's text up to @until, or to its end. */
static int make_more(struct text *x, uint64_t until)
{
	int ret = 1;

	while (!x->end && x->start + x->used < until) {
		while (x->o.used < OUT_BYTES / 2 && (ret = trace_stream_step(x->s)) > 0)
			;
		out_flush(&x->o);
		if (ret < 0 || x->o.err)
			return ret < 0 ? ret : x->o.err;
		if (!ret) {
			x->end = true;
			end_trace(x);
		}
	}
	return 0;
}

ssize_t text_read(struct text *x, char *buf, size_t bytes, uint64_t offset)
{
	size_t n;
	int err;

	if (!x->made || !offset || offset < x->start) {
		err = begin(x);
		if (err)
			return err;
	}
	/* text that was read long ago is dropped, but not during a long skip */
	while (x->is_trace && !x->end && x->start + x->used < offset + bytes) {
		uint64_t keep = offset > KEEP_BYTES ? offset - KEEP_BYTES : 0;
		size_t drop = keep > x->start ? (size_t)(keep - x->start) : 0;

		if (drop > x->used)
			drop = x->used;
		if (drop) {
			memmove(x->buf, x->buf + drop, x->used - drop);
			x->used -= drop;
			x->start += drop;
		}
		err = make_more(x, x->start + x->used + 1);
		if (err)
			return err;
	}
	if (offset >= x->start + x->used)
		return 0;
	n = x->used - (size_t)(offset - x->start);
	if (n > bytes)
		n = bytes;
	memcpy(buf, x->buf + (offset - x->start), n);
	return (ssize_t)n;
}
