/* SPDX-License-Identifier: MIT */
/*
 * function_graph's text, tools/text/graph_text.c: what a Linux 6.12 printed (tests/data/graph) is
 * read back into events, and these must print as it did.
 */
#include "cm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scratch.h"
#include "synth.h"
#include "tools/code/symbols.h"
#include "tools/reader/tasks.h"
#include "tools/text/graph_text.h"

#define MAX_DEPTH 64
#define NR_CPUS	  2

struct reading {
	struct reader *r;
	struct out o;
	struct graph_text *text;
	uint32_t options;
	uint64_t next_ip;
	int32_t pid[NR_CPUS];
	uint64_t open[NR_CPUS][MAX_DEPTH];
};

/* An address of this name; the same name gets another one each time. */
static uint64_t address(struct reading *g, const char *name, size_t bytes)
{
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)bytes, name);
	g->next_ip += 64;
	assert_int_equal(symbols_add(g->r->symbols, g->next_ip, 'T', text, NULL), 0);
	return g->next_ip;
}

/* `comm-pid` from @p up to the next blank. */
static int32_t task(struct reading *g, const char *p)
{
	char comm[16];
	const char *end = p + strcspn(p, " \n"), *dash = end;
	int32_t pid;

	while (*--dash != '-')
		assert_true(dash > p);
	pid = atoi(dash + 1);
	snprintf(comm, sizeof(comm), "%.*s", (int)(dash - p), p);
	if (pid)
		assert_int_equal(tasks_set(g->r->tasks, pid, pid, comm), 0);
	return pid;
}

/* ` 1)    <idle>-0    =>   rcu_pre-16  `: both names. */
static bool task_change(const char *line, const char **from, const char **to)
{
	const char *arrow = strstr(line, " => ");

	if (!arrow || strstr(line, "/*") || strncmp(line, " ", 1))
		return false;
	*from = strchr(line, ')') + 1;
	*from += strspn(*from, " ");
	*to = arrow + 4 + strspn(arrow + 4, " ");
	return true;
}

static const char *latency_flags(const char *p, struct record *rec)
{
	rec->flags |= *p == 'd' ? 0x01 : 0;
	rec->flags |= p[1] == 'n' ? 0x04 : 0;
	rec->flags |= p[2] == 'h' ? 0x08 : p[2] == 's' ? 0x10 : 0;
	rec->preempt_count = p[3] == '.' ? 0 : (uint8_t)(p[3] - '0');
	return p + 5;
}

/* What follows the depth's blanks: a function's opening, a leaf, a closing, or a comment. */
static void function(struct reading *g, const char *p, struct graph_event *ev, struct record *rec)
{
	const char *paren = strstr(p, "()"), *equal = strstr(p, "= ");
	size_t n = strcspn(p, "\n");

	if (equal && (g->options & GRAPH_PRINT_RETVAL)) {
		ev->flags = GRAPH_RETVAL;
		ev->retval = strtoull(equal + 2, NULL, 0);
	}
	if (strncmp(p, "/* ", 3) == 0) {
		ev->type = GRAPH_OTHER;
		rec->kind = RECORD_PRINT;
		rec->data = p + 3;
		rec->data_bytes = (uint32_t)(n - 6);
	} else if (*p == '}') {
		ev->type = GRAPH_EXIT;
		ev->ip = g->open[rec->cpu][ev->depth];
		if (strncmp(p, "} /* ", 5) == 0 && !ev->ip)
			ev->ip = address(g, p + 5, strcspn(p + 5, " \n"));
		g->open[rec->cpu][ev->depth] = 0;
	} else {
		assert_non_null(paren);
		ev->ip = address(g, p, (size_t)(paren - p));
		ev->type = paren[2] == ';' ? GRAPH_LEAF : GRAPH_ENTRY;
		if (ev->type == GRAPH_ENTRY)
			g->open[rec->cpu][ev->depth] = ev->ip;
	}
}

static void print_line(struct reading *g, const char *p)
{
	struct record rec = {.ts = 1};
	struct graph_event ev = {.rec = &rec};
	double us;

	if (g->options & GRAPH_PRINT_ABSTIME) {
		rec.ts = strtoull(p, (char **)&p, 10) * 1000000000;
		rec.ts += strtoull(p + 1, (char **)&p, 10) * 1000;
		p = strstr(p, "|  ") + 3;
	}
	if (g->options & GRAPH_PRINT_CPU) {
		rec.cpu = (uint16_t)strtoul(p, (char **)&p, 10);
		p = p + 2;
	}
	if (g->options & GRAPH_PRINT_PROC) {
		g->pid[rec.cpu] = task(g, p + strspn(p, " "));
		p = strstr(p, " | ") + 3;
	}
	rec.pid = g->pid[rec.cpu];
	if (g->options & GRAPH_LATENCY_FORMAT)
		p = latency_flags(p + 1, &rec) + 3;
	if (g->options & GRAPH_PRINT_DURATION) {
		/* rounding: the digits that are cut off are not known */
		if (sscanf(p + 2, "%lf us", &us) == 1)
			ev.end = (uint64_t)(us * 1000 + 0.5);
		p = strstr(p, "|  ") + 3;
	}
	ev.depth = (uint32_t)strspn(p, " ") / 2;
	function(g, p + strspn(p, " "), &ev, &rec);
	if (ev.type == GRAPH_OTHER)
		assert_int_equal(ev.depth, 0);
	graph_text_event(g->text, &ev);
}

static void print_lines(struct reading *g, const char *text)
{
	const char *from, *to, *at;
	char line[512];

	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++)
		g->pid[cpu] = -1;
	for (int pass = 0; pass < 2; pass++) {
		for (at = text; *at; at = strchr(at, '\n') + 1) {
			snprintf(line, sizeof(line), "%.*s", (int)(strchr(at, '\n') + 1 - at), at);
			if (task_change(line, &from, &to)) {
				int32_t *pid = &g->pid[atoi(line)];

				/* the first task of a CPU is shown at its first change */
				if (pass || *pid < 0)
					*pid = task(g, pass ? to : from);
			} else if (pass && *line != '#' && strncmp(line, " --", 3) != 0 &&
				   *line != '\n' && strncmp(line, " (Over", 6) != 0) {
				print_line(g, line);
			}
		}
	}
}

static void check_file(const char *name)
{
	char *path = data_path(name), *want = scratch_read(path, NULL), *got, *word, *lines, *save;
	char *to = scratch_path("graph");
	struct reading g = {.options = GRAPH_OPTIONS_DEFAULT, .next_ip = 0x1000};
	int fd = open(to, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_non_null(want);
	lines = strchr(want, '\n');
	*lines++ = '\0';
	strtok_r(want, " ", &save);
	while ((word = strtok_r(NULL, " ", &save)) != NULL)
		assert_true(graph_option_set(&g.options, word));
	g.r = synth_new(NR_CPUS, 0, NULL);
	g.r->stats[0].entries = 904;
	strcpy(g.r->uname, "Linux oracle 6.12.117-oracle x86_64");
	assert_int_equal(out_init(&g.o, fd), 0);
	g.text = graph_text_new(g.r, &g.o, NULL, g.options);
	if (*lines == '#')
		graph_text_header(g.text);
	print_lines(&g, lines);
	graph_text_free(g.text);
	assert_int_equal(out_end(&g.o), 0);
	close(fd);
	got = scratch_read(to, NULL);
	/* a capture may end before a line about overruns, or behind another task's name */
	if (strlen(got) > strlen(lines)) {
		got[strlen(lines)] = '\0';
	} else if (strlen(got) < strlen(lines)) {
		assert_memory_equal(lines + strlen(got), " ---", 4);
		lines[strlen(got)] = '\0';
	}
	assert_string_equal(got, lines);
	reader_close(g.r);
	unlink(to);
	free(got);
	free(to);
	free(want);
	free(path);
}

static void test_captures(void **state)
{
	static const char *const names[] = {
		"abstime",	  "cpu",	   "duration",	     "events-markers",
		"graph",	  "irqs",	   "latency-format", "max-depth",
		"overhead-marks", "overhead",	   "overrun",	     "pipe",
		"proc",		  "retval-hex",	   "retval",	     "tail",
		"thresh",	  "verbose-noabs",
	};
	char name[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		print_message("%s\n", names[i]);
		snprintf(name, sizeof(name), "graph/%s.txt", names[i]);
		check_file(name);
	}
}

/* What @nr events print, the header left out. */
static char *text_of(struct reader *r, const struct graph_event *ev, unsigned int nr,
		     uint32_t options)
{
	char *path = scratch_path("text"), *text;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct graph_text *t;
	struct out o;

	assert_int_equal(out_init(&o, fd), 0);
	t = graph_text_new(r, &o, NULL, options);
	while (nr--)
		graph_text_event(t, ev++);
	graph_text_free(t);
	assert_int_equal(out_end(&o), 0);
	close(fd);
	text = scratch_read(path, NULL);
	unlink(path);
	free(path);
	return text;
}

/* What no capture has. */
static void test_others(void **state)
{
	struct reader *r = synth_new(12, 0, NULL);
	struct record rec = {.cpu = 7, .pid = SYNTH_PID, .ts = 1500}, note = {.cpu = 7,
									      .pid = SYNTH_PID,
									      .kind = RECORD_PRINT,
									      .data = "hi",
									      .data_bytes = 2};
	struct graph_event ev[] = {
		{.type = GRAPH_ENTRY, .rec = &rec, .ip = synth_addr(1), .depth = 1, .lost = 3},
		{.type = GRAPH_OTHER, .rec = &note},
		{.type = GRAPH_LEAF, .rec = &rec, .ip = 5, .depth = 2, .end = 10001},
		{.type = GRAPH_EXIT,
		 .rec = &rec,
		 .ip = synth_addr(1),
		 .depth = 1,
		 .end = 123456789},
		{.type = GRAPH_EXIT, .rec = &rec, .ip = synth_addr(2), .flags = GRAPH_NO_START},
		{.type = GRAPH_LEAF, .rec = &rec, .ip = synth_addr(2), .depth = 50000},
		{.type = GRAPH_LEAF,
		 .rec = &rec,
		 .ip = synth_addr(2),
		 .flags = GRAPH_RETVAL,
		 .retval = 0xffffffea},
		{.type = GRAPH_LEAF,
		 .rec = &rec,
		 .ip = synth_addr(2),
		 .flags = GRAPH_RETVAL,
		 .retval = (uint64_t)-4096},
	};
	uint32_t options = GRAPH_OPTIONS_DEFAULT;
	char *text;

	text = text_of(r, ev, 5, options);
	assert_string_equal(text, "CPU:7 [LOST 3 EVENTS]\n"
				  "  7)               |    foo_1 [libfoo.so]() {\n"
				  "  7)               |      /* hi */\n"
				  "  7) + 10.001 us   |      0x5();\n"
				  "  7) @ 123456.7 us |    }\n"
				  "  7)               |  } /* work_2 */\n");
	free(text);
	text = text_of(r, ev + 5, 1, options);
	assert_int_equal(strlen(text), strlen("  7)   0.000 us    |  work_2();\n") + 2000);
	free(text);
	assert_true(graph_option_set(&options, "funcgraph-retval"));
	text = text_of(r, ev + 6, 2, options);
	assert_string_equal(text, "  7)   0.000 us    |  work_2(); /* = -22 */\n"
				  "  7)   0.000 us    |  work_2(); /* = 0xfffffffffffff000 */\n");
	free(text);
	assert_false(graph_option_set(&options, "funcgraph-nothing"));
	assert_false(graph_option_set(&options, "no"));
	assert_true(graph_option_set(&options, "nofuncgraph-duration"));
	assert_false(options & GRAPH_PRINT_DURATION);
	reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captures),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
