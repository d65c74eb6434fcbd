/* SPDX-License-Identifier: MIT */
/*
 * See oops.h. The lines before the call trace are printed as the process wrote them, with better
 * names. The names of the frames are looked up here. All numbers are untrusted. Tests:
 * tests/engine/fire/crash.
 */
#include "tools/target/oops.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/area.h"
#include "tools/area/meta.h"
#include "tools/base/fail.h"
#include "tools/reader/reader.h"
#include "tools/target/names.h"
#include "tools/target/trace_stream.h"

#define TRIES  100
#define TRY_US 1000

static int open_area(const char *path, uint64_t *bytes)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return fail_errno(errno, "cannot open '%s'", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return fail(EINVAL, "'%s' is not an area", path);
	}
	*bytes = (uint64_t)st.st_size;
	return fd;
}

/* A consistent copy. If the process died while it wrote, the copy is what is there. */
static struct area_oops *load(int fd, uint64_t at)
{
	struct area_oops *o = calloc(1, sizeof(*o));
	uint32_t gen;

	if (!o) {
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	for (int i = 0; at && at <= INT64_MAX && i < TRIES; i++) {
		if (pread(fd, o, sizeof(*o), (off_t)at) != (ssize_t)sizeof(*o) ||
		    pread(fd, &gen, sizeof(gen), (off_t)at) != (ssize_t)sizeof(gen)) {
			memset(o, 0, sizeof(*o));
			break;
		}
		if (!(o->gen & 1) && o->gen == gen)
			break;
		usleep(TRY_US);
	}
	if (o->nr_frames > AREA_OOPS_FRAMES)
		o->nr_frames = AREA_OOPS_FRAMES;
	if (o->text_bytes > AREA_OOPS_TEXT)
		o->text_bytes = AREA_OOPS_TEXT;
	return o;
}

static void put_text(struct out *o, const char *text, size_t n)
{
	out_safe_lines(o, text, n);
}

/* The process's lines before its call trace, @n bytes. Its line RIP gets a better name. */
static void put_head(const struct area_oops *oops, size_t n, struct names *names, struct out *o)
{
	const char *at = oops->text, *end = oops->text + n;

	while (at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		next = next ? next + 1 : end;
		if (end - at > 5 && !memcmp(at, "RIP: ", 5) && oops->nr_regs > 16) {
			out_text(o, "RIP: ");
			names_put_line(names, oops->regs[16], true, o);
			out_text(o, "\n");
		} else {
			put_text(o, at, (size_t)(next - at));
		}
		at = next;
	}
}

static void put_frames(const struct area_oops *oops, struct names *names, struct out *o)
{
	out_text(o, "Call Trace:\n <TASK>\n");
	for (uint32_t i = 0; i < oops->nr_frames; i++) {
		const struct area_oops_frame *f = &oops->frames[i];

		if (!f->ip && f->reserved) {
			out_printf(o, " ... %u more ...\n", f->reserved);
			continue;
		}
		out_text(o, f->flags & AREA_OOPS_UNSURE ? " ? " : " ");
		names_put_line(names, f->ip, f->flags & AREA_OOPS_EXACT, o);
		out_text(o, "\n");
	}
	out_text(o, " </TASK>\n---[ end trace 0000000000000000 ]---\n");
}

static int print(const struct meta *m, const struct area_oops *oops, struct out *o)
{
	static const char begin[] = "Call Trace:\n";
	const char *trace = memmem(oops->text, oops->text_bytes, begin, sizeof(begin) - 1);
	struct names *names = names_new(m);

	if (!names)
		return -ENOMEM;
	put_head(oops, trace ? (size_t)(trace - oops->text) : oops->text_bytes, names, o);
	if (!oops->text_bytes)
		out_printf(o, "Oops: signal %d, code %d\n", oops->sig, oops->code);
	put_frames(oops, names, o);
	names_free(names);
	return 1;
}

int oops_print(const char *path, struct out *o, int *tid)
{
	struct area_oops *oops = NULL;
	struct meta *m = NULL;
	uint64_t bytes;
	int fd = open_area(path, &bytes), ret;

	if (fd < 0)
		return fd;
	ret = meta_load(fd, 0, bytes, path, &m);
	if (!ret)
		oops = load(fd, m->head.oops_offset);
	if (!ret && !oops)
		ret = -ENOMEM;
	if (!ret && oops->kind != AREA_OOPS_NONE) {
		*tid = oops->tid;
		ret = print(m, oops, o);
	}
	free(oops);
	meta_free(m);
	close(fd);
	return ret;
}

bool oops_is_there(const char *path)
{
	struct area_header head = {0};
	struct area_oops *oops;
	uint64_t bytes;
	bool is_there = false;
	int fd = open_area(path, &bytes);

	if (fd < 0)
		return false;
	if (pread(fd, &head, sizeof(head), 0) > 0 && !meta_check_head(&head, bytes, path) &&
	    head.header_bytes >= sizeof(head)) {
		oops = load(fd, head.oops_offset);
		is_there = oops && oops->kind == AREA_OOPS_SIGNAL;
		free(oops);
	}
	close(fd);
	return is_there;
}

/* A reader that gives only one thread's records of another reader. */
struct one_thread {
	struct reader r;
	struct reader *all;
	int tid;
};

static int read_one(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	struct one_thread *t = (struct one_thread *)r;
	unsigned int kept = 0;
	int n;

	do {
		n = reader_read(t->all, cpu, out, max);
		for (int i = 0; i < n; i++)
			if (out[i].pid == t->tid)
				out[kept++] = out[i];
	} while (n > 0 && !kept);
	return n < 0 ? n : (int)kept;
}

static void learn(struct reader *r, uint32_t process)
{
	struct one_thread *t = (struct one_thread *)r;

	if (t->all->ops->learn_printks)
		t->all->ops->learn_printks(t->all, process);
}

static const struct reader_ops one_thread_ops = {.read = read_one, .learn_printks = learn};

/* Keeps the last lines of a text that comes in pieces. */
struct tail {
	char **lines;
	uint64_t nr, at, all; /* room; where the next one goes; how many there were */
	char *piece;	      /* a line that has not ended */
	size_t bytes;
};

static int keep_line(struct tail *t, const char *text, size_t n)
{
	char *line = malloc(t->bytes + n + 1);

	if (!line)
		return -ENOMEM;
	memcpy(line, t->piece ? t->piece : "", t->bytes);
	memcpy(line + t->bytes, text, n);
	line[t->bytes + n] = 0;
	free(t->piece);
	t->piece = NULL;
	t->bytes = 0;
	free(t->lines[t->at]);
	t->lines[t->at] = line;
	t->at = (t->at + 1) % t->nr;
	t->all++;
	return 0;
}

static int keep_tail(void *arg, const char *text, size_t bytes)
{
	struct tail *t = arg;
	char *more;

	while (bytes) {
		const char *end = memchr(text, '\n', bytes);
		size_t n = end ? (size_t)(end - text) + 1 : bytes;

		if (end) {
			if (keep_line(t, text, n))
				return -ENOMEM;
		} else {
			more = realloc(t->piece, t->bytes + n);
			if (!more)
				return -ENOMEM;
			t->piece = more;
			memcpy(more + t->bytes, text, n);
			t->bytes += n;
		}
		text += n;
		bytes -= n;
	}
	return 0;
}

static void put_tail(struct tail *t, struct out *o)
{
	if (t->all > t->nr)
		out_printf(o, "[%" PRIu64 " lines before these]\n", t->all - t->nr);
	for (uint64_t i = 0; i < t->nr; i++)
		if (t->lines[(t->at + i) % t->nr])
			out_text(o, t->lines[(t->at + i) % t->nr]);
}

static int put_trace(struct reader *r, struct out *o)
{
	const struct trace_shape shape = {.no_header = true};
	struct trace_stream *s;
	int ret;

	s = trace_stream_new(r, o, &shape, &ret);
	if (!s)
		return ret;
	do {
		ret = trace_stream_step(s);
	} while (ret > 0 && !o->err);
	trace_stream_free(s);
	return ret;
}

static int put_last(struct reader *r, uint64_t lines, struct out *o)
{
	struct tail t = {.nr = lines};
	struct out to;
	int ret;

	if (!lines)
		return put_trace(r, o);
	t.lines = calloc(lines, sizeof(*t.lines));
	if (!t.lines || out_init_sink(&to, keep_tail, &t)) {
		free(t.lines);
		return fail(ENOMEM, "out of memory");
	}
	ret = put_trace(r, &to);
	if (out_end(&to) && !ret)
		ret = fail(ENOMEM, "out of memory");
	put_tail(&t, o);
	for (uint64_t i = 0; i < lines; i++)
		free(t.lines[i]);
	free(t.lines);
	free(t.piece);
	return ret;
}

int oops_records(const char *path, int tid, uint64_t lines, struct out *o)
{
	static const char rule[] = "---------------------------------\n";
	struct one_thread one;
	struct reader *r;
	int ret = reader_open_area(path, &r);

	if (ret)
		return ret;
	out_text(o, "Dumping ftrace buffer:\n");
	out_text(o, rule);
	if (tid) {
		one.r = *r;
		one.r.ops = &one_thread_ops;
		one.r.bases_known = false;
		one.all = r;
		one.tid = tid;
	}
	ret = put_last(tid ? &one.r : r, lines, o);
	out_text(o, rule);
	reader_close(r);
	return ret;
}
