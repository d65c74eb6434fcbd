/* SPDX-License-Identifier: MIT */
/*
 * See render.h. The texts are the kernel's (6.12). Nothing of the process is asked: what its area
 * holds is copied once and printed. Tests: tests/cli/test_control.py.
 */
#include "tools/target/render.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/option.h"
#include "tools/base/fail.h"
#include "tools/target/names.h"
#include "tools/target/trace_print.h"
#include "tools/reader/area.h"
#include "tools/reader/reader.h"

#define PER_CPU "per_cpu/cpu"

struct file {
	const char *path; /* behind per_cpu/cpuN/ for one of a CPU */
	/* Of the area's tables or of its records; neither: the engine's. */
	int (*tables)(const struct meta *m);
	int (*records)(struct reader *r, unsigned int cpu);
	bool per_cpu;
};

static int load(struct target *t, struct meta **out)
{
	uint64_t bytes;
	int fd, err;

	fd = area_open(t->dir.fd, t->name, O_RDONLY, &bytes);
	if (fd < 0)
		return fd;
	err = meta_load(fd, 0, bytes, t->path, out);
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
 * Return: how many or -errno with fail() set.
 */
static int print_functions(const struct meta *m, bool (*want)(const struct area_function *f),
			   bool count)
{
	struct row *rows = calloc((size_t)m->nr_functions + 1, sizeof(*rows));
	struct names *names;
	uint32_t nr = 0;

	if (!rows)
		return fail(ENOMEM, "no memory for %u functions", m->nr_functions);
	for (uint32_t i = 0; i < m->nr_functions; i++) {
		const struct area_function *f = &m->functions[i];

		if (f->object < m->nr_objects && !m->objects[f->object].unload_stamp && want(f))
			rows[nr++] = (struct row){f->object, f->offset, i};
	}
	if (!nr) {
		free(rows);
		return 0;
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
		fputs(s->name, stdout);
		if (s->module)
			printf(" [%s]", s->module);
		/* blanks where the kernel has its flags */
		if (count)
			printf(" (%u)           ", m->functions[rows[i].id].callbacks);
		putchar('\n');
	}
	names_free(names);
	free(rows);
	return nr > INT32_MAX ? INT32_MAX : (int)nr;
}

/* Of the process, as they are in its memory. */
static int available_filter_functions_addrs(const struct meta *m)
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
		printf("%016" PRIx64 " %s", m->objects[f->object].bias + f->offset, s->name);
		if (s->module)
			printf(" [%s]", s->module);
		putchar('\n');
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

static int available_filter_functions(const struct meta *m)
{
	return print_functions(m, want_all, false);
}

static int enabled_functions(const struct meta *m)
{
	return print_functions(m, want_enabled, true);
}

static int print_set(const struct meta *m, bool (*want)(const struct area_function *f),
		     const char *none)
{
	int n = print_functions(m, want, false);

	if (!n)
		puts(none);
	return n;
}

#define ALL_ENABLED   "#### all functions enabled ####"
#define NONE_DISABLED "#### no functions disabled ####"

static int set_ftrace_filter(const struct meta *m)
{
	return print_set(m, want_filter, ALL_ENABLED);
}

static int set_ftrace_notrace(const struct meta *m)
{
	return print_set(m, want_notrace, NONE_DISABLED);
}

static int set_graph_function(const struct meta *m)
{
	return print_set(m, want_graph, ALL_ENABLED);
}

static int set_graph_notrace(const struct meta *m)
{
	return print_set(m, want_graph_notrace, NONE_DISABLED);
}

static int saved_tgids(const struct meta *m)
{
	if (!m->nr_buffers || !area_option_on(m->buffers[0].options, AREA_OPTION_RECORD_TGID))
		return 0;
	for (uint32_t i = 0; i < m->nr_tasks; i++)
		if (m->tasks[i].tid > 0)
			printf("%d %d\n", m->tasks[i].tid, m->tasks[i].tgid);
	return 0;
}

static int saved_cmdlines(const struct meta *m)
{
	for (uint32_t i = 0; i < m->nr_tasks; i++)
		if (m->tasks[i].tid > 0 && m->tasks[i].comm[0])
			printf("%d %s\n", m->tasks[i].tid, m->tasks[i].comm);
	return 0;
}

static int trace(struct reader *r, unsigned int cpu)
{
	bool *cpus = NULL;
	int err;

	if (cpu != UINT32_MAX) {
		cpus = calloc(r->nr_cpus, sizeof(*cpus));
		if (!cpus)
			return fail(ENOMEM, "no memory");
		cpus[cpu] = true;
	}
	err = trace_print(r, cpus, 0, UINT32_MAX);
	free(cpus);
	return err;
}

static void print_ts(const char *what, uint64_t ts, bool ns)
{
	uint64_t us = (ts + 500) / 1000;

	if (ns)
		printf("%s: %5" PRIu64 ".%06" PRIu64 "\n", what, us / 1000000, us % 1000000);
	else
		printf("%s: %" PRIu64 "\n", what, ts);
}

static int stats(struct reader *r, unsigned int cpu)
{
	const struct reader_cpu_stats *s = &r->stats[cpu];

	printf("entries: %" PRIu64 "\noverrun: %" PRIu64 "\ncommit overrun: %" PRIu64
	       "\nbytes: %" PRIu64 "\n",
	       s->entries, s->overrun, s->commit_overrun, s->bytes);
	print_ts("oldest event ts", s->oldest_ts, r->ts_is_ns);
	print_ts("now ts", s->now_ts, r->ts_is_ns);
	printf("dropped events: %" PRIu64 "\nread events: %" PRIu64 "\n", s->dropped_events,
	       s->read_events);
	return 0;
}

/* The engine's rows are those of its own table; the test compares the two. */
static const struct file files[] = {
	{.path = "README"},
	{.path = "available_filter_functions", .tables = available_filter_functions},
	{.path = "available_filter_functions_addrs", .tables = available_filter_functions_addrs},
	{.path = "available_tracers"},
	{.path = "buffer_size_kb"},
	{.path = "buffer_total_size_kb"},
	{.path = "current_tracer"},
	{.path = "dyn_ftrace_total_info"},
	{.path = "enabled_functions", .tables = enabled_functions},
	{.path = "error_log"},
	{.path = "max_graph_depth"},
	{.path = "saved_cmdlines", .tables = saved_cmdlines},
	{.path = "saved_tgids", .tables = saved_tgids},
	{.path = "set_ftrace_filter", .tables = set_ftrace_filter},
	{.path = "set_ftrace_notrace", .tables = set_ftrace_notrace},
	{.path = "set_graph_function", .tables = set_graph_function},
	{.path = "set_graph_notrace", .tables = set_graph_notrace},
	{.path = "trace", .records = trace},
	{.path = "trace_clock"},
	{.path = "trace_options"},
	{.path = "tracing_on"},
	{.path = "tracing_thresh"},
	{.path = "vestige_status"},
	{.path = "buffer_size_kb", .per_cpu = true},
	{.path = "stats", .records = stats, .per_cpu = true},
	{.path = "trace", .records = trace, .per_cpu = true},
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

int render_file(struct target *t, const char *file)
{
	unsigned int cpu;
	const struct file *f = find(file, &cpu);
	struct reader *r;
	struct meta *m;
	int err;

	if (!f || (!f->tables && !f->records))
		return -EOPNOTSUPP; /* the engine says whether there is such a file */
	if (f->tables) {
		err = load(t, &m);
		if (err)
			return err;
		err = f->tables(m);
		meta_free(m);
		return err < 0 ? err : 0;
	}
	err = reader_open_area(t->path, &r);
	if (err)
		return err;
	if (cpu != UINT32_MAX && cpu >= r->nr_cpus)
		err = fail_errno(ENOENT, "%s", file);
	else
		err = f->records(r, cpu);
	reader_close(r);
	return err;
}

int render_list(struct target *t)
{
	struct meta *m;
	int err = load(t, &m);

	if (err)
		return err;
	for (size_t i = 0; i < NR_FILES; i++) {
		const struct file *f = &files[i];

		if (!f->per_cpu && (t->alive || f->tables || f->records))
			puts(f->path);
	}
#define PUT(NAME, name, bit, first) puts("options/" name);
	if (t->alive) {
		AREA_OPTIONS_GLOBAL(PUT)
	}
#undef PUT
	for (uint32_t c = 0; c < m->head.nr_cpus && m->nr_buffers && c < m->buffers[0].nr_cpus; c++)
		for (size_t i = 0; i < NR_FILES; i++)
			if (files[i].per_cpu && (t->alive || files[i].records))
				printf(PER_CPU "%u/%s\n", c, files[i].path);
	meta_free(m);
	return 0;
}
