/* SPDX-License-Identifier: MIT */
/*
 * See render.h. The texts are the kernel's (6.12). For a rendered file the process is not asked:
 * data of its area is copied once and printed. Tests: tests/cli/test_control.py, tests/tracefs/.
 */
#include "tools/target/render.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/option.h"
#include "tools/area/area.h"
#include "tools/area/area_printks.h"
#include "tools/base/fail.h"
#include "tools/reader/reader.h"
#include "tools/target/dead_events.h"
#include "tools/target/file_tree.h"
#include "tools/target/function_text.h"
#include "tools/target/hist_file.h"
#include "tools/target/pipe.h"
#include "tools/target/raw.h"
#include "tools/target/stack_text.h"
#include "tools/target/static_files.h"
#include "tools/target/trace_stream.h"

#define PER_CPU	    "per_cpu/cpu"
#define RAW_WAIT_MS 10

struct file {
	const char *path; /* behind per_cpu/cpuN/ for one of a CPU */
	/* Of the area's tables, of its records or of its deepest stack; none: trace_pipe. */
	int (*tables)(const struct meta *m, struct out *o);
	int (*records)(struct reader *r, struct out *o, unsigned int cpu);
	int (*stack)(const struct meta *m, int fd,
		     struct out *o); /* of the stack tracer's result */
	bool per_cpu;
	bool snapshot;
	bool raw;	/* of it */
	bool functions; /* all of them are listed */
	bool top;	/* an instance has none */
};

/* Load the tables. @keep: NULL, or gets the area's descriptor, which the caller closes. */
static int load(const struct image *t, struct meta **out, int *keep)
{
	uint64_t bytes;
	int fd, err;

	fd = area_open(t->dir.fd, t->name, O_RDONLY, &bytes);
	if (fd < 0)
		return fd;
	image_await_start(t, fd);
	err = meta_load(fd, 0, bytes, t->path, out);
	if (keep && !err)
		*keep = fd;
	else
		close(fd);
	return err;
}

static int saved_tgids(const struct meta *m, struct out *o)
{
	if (!m->nr_buffers || !area_option_on(m->buffers[0].options, AREA_OPTION_RECORD_TGID))
		return 0;
	for (uint32_t i = 0; i < m->nr_tasks; i++)
		if (m->tasks[i].tid > 0)
			out_printf(o, "%d %d\n", m->tasks[i].tid, m->tasks[i].tgid);
	return 0;
}

static int saved_cmdlines(const struct meta *m, struct out *o)
{
	for (uint32_t i = 0; i < m->nr_tasks; i++)
		if (m->tasks[i].tid > 0 && m->tasks[i].comm[0])
			out_printf(o, "%d %s\n", m->tasks[i].tid, m->tasks[i].comm);
	return 0;
}

static int trace(struct reader *r, struct out *o, unsigned int cpu)
{
	struct trace_shape shape = {.keep = UINT32_MAX};
	struct trace_stream *s;
	bool *cpus = NULL;
	int err;

	if (cpu != UINT32_MAX) {
		cpus = calloc(r->nr_cpus, sizeof(*cpus));
		if (!cpus)
			return fail(ENOMEM, "out of memory");
		cpus[cpu] = true;
	}
	shape.cpus = cpus;
	s = trace_stream_new(r, o, &shape, &err);
	if (s) {
		do {
			err = trace_stream_step(s);
		} while (err > 0 && !o->err);
		trace_stream_free(s);
	}
	free(cpus);
	return err < 0 ? err : 0;
}

static bool is_empty(const struct reader *r, unsigned int cpu)
{
	for (unsigned int i = 0; i < r->nr_cpus; i++)
		if ((cpu == UINT32_MAX || cpu == i) && r->stats[i].entries)
			return false;
	return true;
}

/* The kernel's text in place of an empty one. */
static void print_snapshot_help(struct out *o, bool allocated, bool of_cpu)
{
	out_printf(o, "#\n# * Snapshot is %s *\n#\n# Snapshot commands:\n",
		   allocated ? "allocated" : "freed");
	out_text(o, of_cpu ? "# echo 0 > snapshot : Invalid for per_cpu snapshot file.\n"
			   : "# echo 0 > snapshot : Clears and frees snapshot buffer\n");
	out_text(o, "# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.\n");
	out_printf(o, "#                      Takes a snapshot of the main buffer%s.\n",
		   of_cpu ? " for this cpu" : "");
	out_printf(o, "# echo 2 > snapshot : Clears %ssnapshot buffer (but does not allocate%s)\n",
		   of_cpu ? "this cpu's " : "", of_cpu ? "" : " or free");
	out_text(o, "#                      (Doesn't have to be '2' works with any number that\n");
	out_text(o, "#                       is not a '0' or '1')\n");
}

static int render_snapshot(const char *const *paths, unsigned int nr, const char *file,
			   unsigned int cpu, bool raw, struct out *o)
{
	struct reader *r;
	bool allocated;
	int err = reader_open_snapshots(paths, nr, &r, &allocated);

	if (err)
		return err;
	if (cpu != UINT32_MAX && cpu >= r->nr_cpus) {
		err = fail_errno(ENOENT, "%s", file);
	} else if (raw) {
		err = raw_print(r, cpu, o);
	} else if (is_empty(r, cpu)) {
		out_printf(o, "# tracer: %s\n#\n", r->tracer);
		print_snapshot_help(o, allocated, cpu != UINT32_MAX);
	} else {
		err = trace(r, o, cpu);
	}
	reader_close(r);
	return err;
}

/* The file of ftrace's first years. */
static int latency_trace(struct reader *r, struct out *o, unsigned int cpu)
{
	r->options_flipped |= UINT64_C(1) << AREA_OPTION_LATENCY_FORMAT;
	return trace(r, o, cpu);
}

static void print_ts(struct out *o, const char *what, uint64_t ts, bool ns)
{
	uint64_t us = (ts + 500) / 1000;

	if (ns)
		out_printf(o, "%s: %5" PRIu64 ".%06" PRIu64 "\n", what, us / 1000000, us % 1000000);
	else
		out_printf(o, "%s: %" PRIu64 "\n", what, ts);
}

static int stats(struct reader *r, struct out *o, unsigned int cpu)
{
	const struct reader_cpu_stats *s = &r->stats[cpu];

	out_printf(o,
		   "entries: %" PRIu64 "\noverrun: %" PRIu64 "\ncommit overrun: %" PRIu64
		   "\nbytes: %" PRIu64 "\n",
		   s->entries, s->overrun, s->commit_overrun, s->bytes);
	print_ts(o, "oldest event ts", s->oldest_ts, r->ts_is_ns);
	print_ts(o, "now ts", s->now_ts, r->ts_is_ns);
	out_printf(o, "dropped events: %" PRIu64 "\nread events: %" PRIu64 "\n", s->dropped_events,
		   s->read_events);
	return 0;
}

/* trace_pipe until its end. */
static int render_pipe(const struct image *t, unsigned int cpu, struct out *o)
{
	static const size_t room = 65536;
	char *buf = malloc(room);
	struct pipe *x;
	ssize_t n;
	int err;

	if (!buf)
		return fail(ENOMEM, "out of memory");
	err = pipe_open(t, cpu, &x);
	if (err) {
		free(buf);
		return err;
	}
	while ((n = pipe_read(x, buf, room, false, NULL)) > 0 && !o->err) {
		out_write(o, buf, (size_t)n);
		out_flush(o);
	}
	pipe_close(x);
	free(buf);
	return n < 0 ? (int)n : 0;
}

/* trace_pipe_raw until the process ends. */
static int render_raw(const struct image *t, unsigned int cpu, struct out *o)
{
	struct raw *x;
	bool lives;
	char *page;
	int ret = raw_open(t, &x);

	if (ret)
		return ret;
	page = malloc(raw_page_bytes(x));
	if (!page) {
		raw_close(x);
		return fail(ENOMEM, "out of memory");
	}
	raw_join(x, cpu);
	do {
		lives = image_lives(t->pid, t->start);
		ret = raw_page(x, cpu, page, RAW_ALL);
		if (ret > 0)
			out_write(o, page, raw_page_bytes(x));
		else if (!ret)
			poll(NULL, 0, RAW_WAIT_MS);
		out_flush(o);
	} while (!o->err && (ret > 0 || (!ret && lives)));
	free(page);
	raw_leave(x, cpu);
	raw_close(x);
	return ret;
}

/* Files that are rendered even if the process does not list them. */
static const struct file files[] = {
	{.path = "available_filter_functions",
	 .tables = function_text_available_filter_functions,
	 .functions = true},
	{.path = "available_filter_functions_addrs",
	 .tables = function_text_available_filter_functions_addrs,
	 .functions = true},
	{.path = "enabled_functions", .tables = function_text_enabled_functions, .top = true},
	{.path = "latency_trace", .records = latency_trace},
	{.path = "touched_functions", .tables = function_text_touched_functions, .top = true},
	{.path = "saved_cmdlines", .tables = saved_cmdlines},
	{.path = "saved_tgids", .tables = saved_tgids},
	{.path = "set_ftrace_filter", .tables = function_text_set_ftrace_filter},
	{.path = "set_ftrace_notrace", .tables = function_text_set_ftrace_notrace},
	{.path = "set_graph_function", .tables = function_text_set_graph_function},
	{.path = "set_graph_notrace", .tables = function_text_set_graph_notrace},
	{.path = "snapshot", .snapshot = true},
	{.path = "stack_max_size", .stack = stack_text_max_size},
	{.path = "stack_trace", .stack = stack_text_trace},
	{.path = "stack_trace_filter", .tables = function_text_stack_trace_filter},
	{.path = "trace", .records = trace},
	{.path = "trace_pipe"},
	{.path = "snapshot", .snapshot = true, .per_cpu = true},
	{.path = "snapshot_raw", .snapshot = true, .raw = true, .per_cpu = true},
	{.path = "stats", .records = stats, .per_cpu = true},
	{.path = "trace", .records = trace, .per_cpu = true},
	{.path = "trace_pipe", .per_cpu = true},
	{.path = "trace_pipe_raw", .per_cpu = true},
};

#define NR_FILES (sizeof(files) / sizeof(files[0]))

/* The row of @path, and the CPU that it names (UINT32_MAX: none). NULL: there is none. */
static const struct file *find(const char *path, unsigned int *cpu)
{
	bool per_cpu = !strncmp(path, PER_CPU, strlen(PER_CPU));
	unsigned long n;
	char *end;

	*cpu = UINT32_MAX;
	if (per_cpu) {
		path += strlen(PER_CPU);
		n = strtoul(path, &end, 10);
		if (*path < '0' || *path > '9' || *end != '/' || n >= UINT16_MAX)
			return NULL;
		*cpu = (unsigned int)n;
		path = end + 1;
	}
	for (size_t i = 0; i < NR_FILES; i++)
		if (files[i].per_cpu == per_cpu && !strcmp(files[i].path, path))
			return &files[i];
	return NULL;
}

bool render_is_snapshot(const char *file)
{
	unsigned int cpu;
	const struct file *f = find(file, &cpu);

	return f && f->snapshot && !f->raw;
}

int render_snapshots(const char *const *paths, unsigned int nr, const char *file, struct out *o)
{
	unsigned int cpu;
	const struct file *f = find(file, &cpu);

	return render_snapshot(paths, nr, file, cpu, f->raw, o);
}

/*
 * A reader for `trace`: of the ring, or, while a latency tracer is on, of the maximum latency's
 * records that it keeps.
 */
static int open_shown(const char *path, struct reader **r)
{
	bool allocated;
	int err = reader_open_area(path, r);

	if (err || !reader_keeps_latency(*r))
		return err;
	reader_close(*r);
	return reader_open_snapshots(&path, 1, r, &allocated);
}

/*
 * Print control file @file to @o if it is a rendered one. Return: 0; -EOPNOTSUPP without fail()
 * when it is not: the engine has it; -errno with fail() set.
 */
static int render_file(const struct image *t, const char *file, struct out *o)
{
	unsigned int cpu;
	const struct file *f = find(file, &cpu);
	const char *path = t->path;
	struct reader *r;
	struct meta *m;
	int err, fd;

	if (!f)
		return -EOPNOTSUPP; /* only the engine knows whether there is such a file */
	if (f->top && *t->instance)
		return fail(ENOENT, "%s is of the whole process: read it without -B", file);
	if (f->snapshot || f->records)
		image_drain(t);
	if (f->snapshot)
		return render_snapshots(&path, 1, file, o);
	if (!f->tables && !f->records && !f->stack)
		return !strcmp(f->path, "trace_pipe") ? render_pipe(t, cpu, o)
						      : render_raw(t, cpu, o);
	if (f->tables || f->stack) {
		err = load(t, &m, &fd);
		if (!err && f->functions && image_functions(t, m)) {
			meta_free(m);
			close(fd);
			err = load(t, &m, &fd);
		}
		if (err)
			return err;
		err = f->tables ? f->tables(m, o) : f->stack(m, fd, o);
		close(fd);
		meta_free(m);
		return err < 0 ? err : 0;
	}
	err = f->records == stats ? reader_open_area(t->path, &r) : open_shown(t->path, &r);
	if (err)
		return err;
	if (cpu != UINT32_MAX && cpu >= r->nr_cpus)
		err = fail_errno(ENOENT, "%s", file);
	else
		err = f->records(r, o, cpu);
	reader_close(r);
	return err;
}

/* The formats that have been printed; the others are in objects. */
static void put_printks(const struct meta *m, struct out *o)
{
	struct printks printks = {0};
	char *text = NULL;
	size_t bytes = 0;
	FILE *mem = open_memstream(&text, &bytes);

	if (!mem)
		return;
	if (!printks_add_meta(&printks, m)) {
		printks_settle(&printks);
		printks_print(&printks, mem);
	}
	fclose(mem);
	out_write(o, text, bytes);
	free(text);
	printks_free(&printks);
}

/* A file without text, from the area's own tables: of a CPU, of an option, the status. */
static int render_state(const struct meta *m, const struct file_at *at, struct out *o)
{
	const struct area_buffer *b = m->buffers;

	if (!strcmp(at->row->path, "vestige_status"))
		out_write(o, m->status, m->status_bytes);
	else if (!strcmp(at->row->path, "printk_formats"))
		put_printks(m, o);
	else if (at->row->text)
		out_write(o, at->row->text, at->row->bytes);
	else if (at->option >= 0 && m->nr_buffers)
		out_printf(o, "%d\n", area_option_on(b->options, at->option));
	else if (!strcmp(at->row->path, "buffer_size_kb") && m->nr_buffers && at->cpu < b->nr_cpus)
		out_printf(o, "%" PRIu64 "\n",
			   (uint64_t)m->cpus[b->first_cpu + at->cpu].nr_pages * PAGE_BYTES / 1024);
	else
		return -ENODATA;
	return 0;
}

/*
 * Print the last text of @file in the area of a process that cannot answer. Return: 0 or -errno
 * with fail() set: ENOENT: there is no such file; ENODATA: its text is not in the area.
 */
static int render_left(const struct image *t, const char *file, struct out *o)
{
	struct file_tree tree = {0};
	struct file_at at;
	struct meta *m;
	int err, fd;

	err = dead_events_print(t, file, o);
	if (err != -ENOENT)
		return err;
	err = load(t, &m, &fd);
	if (err)
		return err;
	err = file_tree_load(fd, &m->head, &tree);
	close(fd);
	if (!err && file_tree_find(&tree, file, m->head.nr_cpus, &at))
		err = fail_errno(ENOENT, "%s", file);
	/* Only the process knew the files of such a folder; the folder's name has no '/'. */
	if (!err && !at.row && !(at.branch && strchr(file, '/')))
		err = fail_errno(EISDIR, "%s", file);
	if (!err && (!at.row || render_state(m, &at, o)))
		err = fail(ENODATA, "%s: the process has ended and left no text of it", file);
	file_tree_free(&tree);
	meta_free(m);
	return err;
}

static int ask(struct image *t, const char *file, struct out *o)
{
	size_t bytes;
	char *text;
	int err;

	if (!t->alive || image_stopped(t->pid))
		return render_left(t, file, o);
	err = image_read(t, file, &text, &bytes);
	if (err == -ESRCH)
		return render_left(t, file, o);
	if (!err) {
		out_write(o, text, bytes);
		free(text);
	}
	return err;
}

int render_any(struct image *t, const char *file, struct out *o)
{
	int err = hist_file_is(file) ? hist_file_print(&t, 1, file, o) : render_file(t, file, o);

	if (err != -EOPNOTSUPP)
		return err;
	err = ask(t, file, o);
	return err && static_file_print(file, o) ? 0 : err;
}

struct listing {
	const struct file_tree *tree;
	const char *dir;
	uint32_t nr_cpus;
	struct out *o;
};

static int list_dir(struct listing *l, const char *dir);

static int list_name(void *arg, const char *name, const struct file_at *at)
{
	struct listing *l = arg;
	const char *dir = l->dir;
	char path[256];
	int ret = 0;

	snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", name);
	if (at->row) {
		out_printf(l->o, "%s\n", path);
	} else {
		ret = list_dir(l, path);
		if (ret == -ENOENT) /* of which only the process knows */
			ret = 0;
		l->dir = dir;
	}
	return ret;
}

static int list_dir(struct listing *l, const char *dir)
{
	l->dir = dir;
	return file_tree_list(l->tree, dir, l->nr_cpus, list_name, l);
}

int render_list(const struct image *t, struct out *o)
{
	struct file_tree tree = {0};
	struct meta *m;
	int fd, err = load(t, &m, &fd);

	if (err)
		return err;
	err = file_tree_load(fd, &m->head, &tree);
	close(fd);
	if (!err) {
		struct listing l = {.tree = &tree, .nr_cpus = m->head.nr_cpus, .o = o};

		err = list_dir(&l, "");
	} else if (err == -ENODATA) {
		err = 0;
		for (size_t i = 0; i < NR_FILES; i++)
			if (!files[i].per_cpu)
				out_printf(o, "%s\n", files[i].path);
	}
	file_tree_free(&tree);
	meta_free(m);
	return err;
}
