/* SPDX-License-Identifier: MIT */
/*
 * See render.h. The texts are the kernel's (6.12). Of a rendered file nothing is asked of the process:
 * what its area holds is copied once and printed. Tests: tests/cli/test_control.py, tests/tracefs/.
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
#include "tools/base/fail.h"
#include "tools/target/hist_file.h"
#include "tools/target/names.h"
#include "tools/target/file_tree.h"
#include "tools/target/outside.h"
#include "tools/target/pipe.h"
#include "tools/target/raw.h"
#include "tools/target/trace_stream.h"
#include "tools/reader/area.h"
#include "tools/reader/reader.h"

#define PER_CPU	    "per_cpu/cpu"
#define RAW_WAIT_MS 10

struct file {
	const char *path; /* behind per_cpu/cpuN/ for one of a CPU */
	/* Of the area's tables or of its records; neither: trace_pipe. */
	int (*tables)(const struct meta *m, struct out *o);
	int (*records)(struct reader *r, struct out *o, unsigned int cpu);
	bool per_cpu;
	bool snapshot;
};

/* The tables; the area's descriptor in *@keep, to be closed, if that is wanted. */
static int load(const struct target *t, struct meta **out, int *keep)
{
	uint64_t bytes;
	int fd, err;

	fd = area_open(t->dir.fd, t->name, O_RDONLY, &bytes);
	if (fd < 0)
		return fd;
	err = meta_load(fd, 0, bytes, t->path, out);
	if (keep && !err)
		*keep = fd;
	else
		close(fd);
	return err;
}

/* A function by its place, as the kernel's lists are ordered. */
struct row {
	uint32_t object, offset, id;
};

static int by_place(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/*
 * Print the functions for which @want says so, with their counts of callbacks if @count says so.
 * Those of objects that are gone are not printed, and count: a filter of nothing else lets nothing pass,
 * as in the kernel.
 * Return: how many or -errno with fail() set.
 */
static int print_functions(const struct meta *m, struct out *o,
			   bool (*want)(const struct area_function *f), bool count)
{
	struct row *rows = calloc((size_t)m->nr_functions + 1, sizeof(*rows));
	struct names *names;
	uint32_t nr = 0, gone = 0;

	if (!rows)
		return fail(ENOMEM, "no memory for %u functions", m->nr_functions);
	for (uint32_t i = 0; i < m->nr_functions; i++) {
		const struct area_function *f = &m->functions[i];

		if (f->object >= m->nr_objects || !want(f))
			continue;
		if (m->objects[f->object].unload_stamp)
			gone++;
		else
			rows[nr++] = (struct row){f->object, f->offset, i};
	}
	if (!nr) {
		free(rows);
		return gone > 0;
	}
	names = names_new(m);
	if (!names) {
		free(rows);
		return -ENOMEM;
	}
	qsort(rows, nr, sizeof(*rows), by_place);
	for (uint32_t i = 0; i < nr; i++) {
		const struct symbol *s = names_find(names, rows[i].object, rows[i].offset);

		if (!s)
			continue;
		out_text(o, s->name);
		if (s->module)
			out_printf(o, " [%s]", s->module);
		/* blanks where the kernel has its flags */
		if (count)
			out_printf(o, " (%u)           ", m->functions[rows[i].id].callbacks);
		out_text(o, "\n");
	}
	names_free(names);
	free(rows);
	return nr > INT32_MAX ? INT32_MAX : (int)nr;
}

/* Of the process, as they are in its memory. */
static int available_filter_functions_addrs(const struct meta *m, struct out *o)
{
	struct names *names = names_new(m);

	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->nr_functions; i++) {
		const struct area_function *f = &m->functions[i];
		const struct symbol *s;

		if (f->object >= m->nr_objects || m->objects[f->object].unload_stamp)
			continue;
		s = names_find(names, f->object, f->offset);
		if (!s)
			continue;
		out_printf(o, "%016" PRIx64 " ", m->objects[f->object].bias + f->offset);
		out_text(o, s->name);
		if (s->module)
			out_printf(o, " [%s]", s->module);
		out_text(o, "\n");
	}
	names_free(names);
	return 0;
}

static bool want_all(const struct area_function *f)
{
	(void)f;
	return true;
}

static bool want_enabled(const struct area_function *f)
{
	return f->enabled;
}

static bool want_touched(const struct area_function *f)
{
	return f->flags & AREA_FUNCTION_TOUCHED;
}

static bool want_filter(const struct area_function *f)
{
	return f->filter & AREA_FILTER_TRACE;
}

static bool want_notrace(const struct area_function *f)
{
	return f->filter & AREA_FILTER_NOTRACE;
}

static bool want_graph(const struct area_function *f)
{
	return f->filter & AREA_FILTER_GRAPH;
}

static bool want_graph_notrace(const struct area_function *f)
{
	return f->filter & AREA_FILTER_GRAPH_NOTRACE;
}

static int available_filter_functions(const struct meta *m, struct out *o)
{
	return print_functions(m, o, want_all, false);
}

static int enabled_functions(const struct meta *m, struct out *o)
{
	return print_functions(m, o, want_enabled, true);
}

static int touched_functions(const struct meta *m, struct out *o)
{
	return print_functions(m, o, want_touched, true);
}

/* Words that wait for an object. Return: whether there are any. */
static bool print_pending(const struct meta *m, struct out *o, enum area_pending_of of)
{
	/* no more than there are lists: AREA_NR_PENDING is none */
	const char *words = of < AREA_NR_PENDING && of < m->nr_pending ? m->pending[of].words : "";
	size_t n = strnlen(words, AREA_PENDING_BYTES);

	out_write(o, words, n);
	return n;
}

static int print_set(const struct meta *m, struct out *o,
		     bool (*want)(const struct area_function *f), enum area_pending_of pending,
		     const char *none)
{
	int n = print_functions(m, o, want, false);

	if (!print_pending(m, o, pending) && !n)
		out_printf(o, "%s\n", none);
	return n;
}

#define ALL_ENABLED   "#### all functions enabled ####"
#define NONE_DISABLED "#### no functions disabled ####"

/* The last command first, and each's functions by their places. */
static int by_order(const void *a, const void *b)
{
	const struct area_probe *const *x = a, *const *y = b;

	if ((*x)->order != (*y)->order)
		return (*x)->order > (*y)->order ? -1 : 1;
	return (*x)->function < (*y)->function ? -1 : (*x)->function > (*y)->function;
}

/* `SYSTEM:NAME:` */
static void print_event(const struct meta *m, struct out *o, uint16_t id)
{
	for (uint32_t i = 0; i < m->nr_events; i++)
		if (m->events[i].id == id)
			out_printf(o, "%s:%s:", meta_string(m, m->events[i].system),
				   meta_string(m, m->events[i].name));
}

static void print_probe(const struct meta *m, struct out *o, const char *name,
			const struct area_probe *p)
{
	static const char *const commands[] = {
		[AREA_PROBE_TRACEON] = "traceon",
		[AREA_PROBE_TRACEOFF] = "traceoff",
		[AREA_PROBE_DUMP] = "dump",
		[AREA_PROBE_CPUDUMP] = "cpudump",
		[AREA_PROBE_ENABLE_EVENT] = "enable_event",
		[AREA_PROBE_DISABLE_EVENT] = "disable_event",
		[AREA_PROBE_SNAPSHOT] = "snapshot",
		[AREA_PROBE_STACKTRACE] = "stacktrace",
	};

	if (p->command >= sizeof(commands) / sizeof(commands[0]))
		return; /* of a later version */
	out_printf(o, "%s:%s:", name, commands[p->command]);
	if (p->command == AREA_PROBE_ENABLE_EVENT || p->command == AREA_PROBE_DISABLE_EVENT)
		print_event(m, o, p->event);
	/* the kernel does not tell that cpudump comes once */
	if (p->count < 0 || p->command == AREA_PROBE_CPUDUMP)
		out_printf(o, "unlimited\n");
	else
		out_printf(o, "count=%" PRId64 "\n", p->count);
}

static int print_probes(const struct meta *m, struct out *o)
{
	const struct area_probe **rows;
	struct names *names;
	uint32_t nr = 0;

	if (!m->nr_probes)
		return 0;
	rows = calloc(m->nr_probes, sizeof(*rows));
	names = rows ? names_new(m) : NULL;
	if (!names) {
		free(rows);
		return fail(ENOMEM, "no memory for %u commands", m->nr_probes);
	}
	for (uint32_t i = 0; i < m->nr_probes; i++)
		if (m->probes[i].command && m->probes[i].function < m->nr_functions)
			rows[nr++] = &m->probes[i];
	qsort(rows, nr, sizeof(*rows), by_order);
	for (uint32_t i = 0; i < nr; i++) {
		const struct area_function *f = &m->functions[rows[i]->function];
		const struct symbol *s = NULL;

		if (f->object < m->nr_objects && !m->objects[f->object].unload_stamp)
			s = names_find(names, f->object, f->offset);
		if (s)
			print_probe(m, o, s->name, rows[i]);
	}
	names_free(names);
	free(rows);
	return 0;
}

static int set_ftrace_filter(const struct meta *m, struct out *o)
{
	int err = print_set(m, o, want_filter, AREA_PENDING_FILTER, ALL_ENABLED);

	return err < 0 ? err : print_probes(m, o);
}

static int set_ftrace_notrace(const struct meta *m, struct out *o)
{
	return print_set(m, o, want_notrace, AREA_PENDING_NOTRACE, NONE_DISABLED);
}

static int set_graph_function(const struct meta *m, struct out *o)
{
	return print_set(m, o, want_graph, AREA_NR_PENDING, ALL_ENABLED);
}

static int set_graph_notrace(const struct meta *m, struct out *o)
{
	return print_set(m, o, want_graph_notrace, AREA_NR_PENDING, NONE_DISABLED);
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
			return fail(ENOMEM, "no memory");
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

/* What the kernel says in place of an empty one. */
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

static int render_snapshot(const struct target *t, const char *file, unsigned int cpu,
			   struct out *o)
{
	struct reader *r;
	bool allocated;
	int err = reader_open_snapshot(t->path, &r, &allocated);

	if (err)
		return err;
	if (cpu != UINT32_MAX && cpu >= r->nr_cpus) {
		err = fail_errno(ENOENT, "%s", file);
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
static int render_pipe(const struct target *t, unsigned int cpu, struct out *o)
{
	static const size_t room = 65536;
	char *buf = malloc(room);
	struct pipe *x;
	ssize_t n;
	int err;

	if (!buf)
		return fail(ENOMEM, "no memory");
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
static int render_raw(const struct target *t, unsigned int cpu, struct out *o)
{
	char page[RAW_PAGE_BYTES];
	struct raw *x;
	bool lives;
	int ret = raw_open(t, &x);

	if (ret)
		return ret;
	raw_join(x, cpu);
	do {
		lives = target_lives(t->pid, t->start);
		ret = raw_page(x, cpu, page, true);
		if (ret > 0)
			out_write(o, page, sizeof(page));
		else if (!ret)
			poll(NULL, 0, RAW_WAIT_MS);
		out_flush(o);
	} while (!o->err && (ret > 0 || (!ret && lives)));
	raw_leave(x, cpu);
	raw_close(x);
	return ret;
}

/* Those that are rendered whether the process tells of them or not. */
static const struct file files[] = {
	{.path = "available_filter_functions", .tables = available_filter_functions},
	{.path = "available_filter_functions_addrs", .tables = available_filter_functions_addrs},
	{.path = "enabled_functions", .tables = enabled_functions},
	{.path = "latency_trace", .records = latency_trace},
	{.path = "touched_functions", .tables = touched_functions},
	{.path = "saved_cmdlines", .tables = saved_cmdlines},
	{.path = "saved_tgids", .tables = saved_tgids},
	{.path = "set_ftrace_filter", .tables = set_ftrace_filter},
	{.path = "set_ftrace_notrace", .tables = set_ftrace_notrace},
	{.path = "set_graph_function", .tables = set_graph_function},
	{.path = "set_graph_notrace", .tables = set_graph_notrace},
	{.path = "snapshot", .snapshot = true},
	{.path = "trace", .records = trace},
	{.path = "trace_pipe"},
	{.path = "snapshot", .snapshot = true, .per_cpu = true},
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

int render_file(const struct target *t, const char *file, struct out *o)
{
	unsigned int cpu;
	const struct file *f = find(file, &cpu);
	struct reader *r;
	struct meta *m;
	int err;

	if (!f)
		return -EOPNOTSUPP; /* the engine says whether there is such a file */
	if (f->snapshot)
		return render_snapshot(t, file, cpu, o);
	if (!f->tables && !f->records)
		return !strcmp(f->path, "trace_pipe") ? render_pipe(t, cpu, o)
						      : render_raw(t, cpu, o);
	if (f->tables) {
		err = load(t, &m, NULL);
		if (err)
			return err;
		err = f->tables(m, o);
		meta_free(m);
		return err < 0 ? err : 0;
	}
	err = reader_open_area(t->path, &r);
	if (err)
		return err;
	if (cpu != UINT32_MAX && cpu >= r->nr_cpus)
		err = fail_errno(ENOENT, "%s", file);
	else
		err = f->records(r, o, cpu);
	reader_close(r);
	return err;
}

/* What the area's own tables tell of a file without text: of a CPU, of an option, the status. */
static int render_state(const struct meta *m, const struct file_at *at, struct out *o)
{
	const struct area_buffer *b = m->buffers;

	if (!strcmp(at->row->path, "vestige_status"))
		out_write(o, m->status, m->status_bytes);
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

int render_left(const struct target *t, const char *file, struct out *o)
{
	struct file_tree tree = {0};
	struct file_at at;
	struct meta *m;
	int err, fd;

	err = load(t, &m, &fd);
	if (err)
		return err;
	err = file_tree_load(fd, &m->head, &tree);
	close(fd);
	if (!err && file_tree_find(&tree, file, m->head.nr_cpus, &at))
		err = fail_errno(ENOENT, "%s", file);
	if (!err && !at.row)
		err = fail_errno(EISDIR, "%s", file);
	if (!err && render_state(m, &at, o))
		err = fail(ENODATA, "%s: the process left nothing to read of it", file);
	file_tree_free(&tree);
	meta_free(m);
	return err;
}

static int ask(struct target *t, const char *file, struct out *o)
{
	size_t bytes;
	char *text;
	int err;

	if (!t->alive || target_stopped(t->pid))
		return render_left(t, file, o);
	err = target_read(t, file, &text, &bytes);
	if (err == -ESRCH)
		return render_left(t, file, o);
	if (!err) {
		out_write(o, text, bytes);
		free(text);
	}
	return err;
}

int render_any(struct target *t, const char *file, struct out *o)
{
	int err = hist_file_is(file) ? hist_file_print(&t, 1, file, o) : render_file(t, file, o);

	if (err != -EOPNOTSUPP)
		return err;
	err = ask(t, file, o);
	return err && outside_print(file, o) ? 0 : err;
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

int render_list(const struct target *t, struct out *o)
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
