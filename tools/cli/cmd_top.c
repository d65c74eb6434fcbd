/* SPDX-License-Identifier: MIT */
/*
 * vestige top: the number of calls and the times of functions, live. The engine's function profiler
 * (the kernel's, with -k) counts calls and hist triggers count events; there are no records. All
 * changed settings are restored at the end, or after a kill by `vestige clean` (target/borrowed.h).
 * Tests: tests/cli/test_top.py. Costs: bench rows of `top`.
 */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/attach/attach.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/signals.h"
#include "tools/base/time_ns.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/target/suggest.h"
#include "tools/cli/top.h"
#include "tools/target/borrowed.h"
#include "tools/text/out.h"

#define MAX_WORDS 64u
/* By CPU, so the hist has few rows and is read fast. Older kernels have `cpu`. */
static const char *const triggers[] = {"hist:keys=common_cpu", "hist:keys=cpu",
				       "hist:keys=common_pid"};
#define NR_TRIGGERS (sizeof(triggers) / sizeof(*triggers))

struct top {
	/* flags */
	unsigned int nr_pids, nr_events, nr_functions;
	int pids[MAX_WORDS];
	const char *events[MAX_WORDS], *functions[MAX_WORDS];
	const char *session;
	bool kernel, json;
	unsigned long long iterations;
	double delay;
	struct top_view view;

	struct borrowed *borrowed;
	unsigned int nr_targets, nr_counted, counted_room;
	struct target *targets[MAX_WORDS + 2], *instances[MAX_WORDS + 2];
	struct counted {
		unsigned int target;
		char name[256]; /* SYSTEM:EVENT */
		struct target
			*own; /* an instance of its own, where the kernel has no hist triggers */
	} * counted;
	struct counts *counts;
	bool filtered;
	uint64_t last_ns;
	char subject[128];
};

volatile int top_stopped;

static void stop(int sig)
{
	(void)sig;
	top_stopped = 1;
}

const char *top_subject(const struct top *top)
{
	return top->subject;
}

bool top_has_filter(const struct top *top)
{
	return top->nr_functions;
}

bool top_filter_is_on(const struct top *top)
{
	return top->filtered;
}

/* Write the filter of -l, or none, to one target. */
static int write_filter(struct top *top, struct target *t, bool on)
{
	int err = borrowed_set(top->borrowed, t, "set_ftrace_filter", "");

	for (unsigned int i = 0; on && i < top->nr_functions && !err; i++) {
		const char *text = top->functions[i];

		err = control_write(t, "set_ftrace_filter", text, false);
	}
	return err;
}

int top_toggle_filter(struct top *top)
{
	int err = 0;

	for (unsigned int i = 0; i < top->nr_targets && !err; i++)
		err = write_filter(top, top->targets[i], !top->filtered);
	if (!err)
		top->filtered = !top->filtered;
	return err;
}

/* SYSTEM:NAME, SYSTEM or NAME, with * and ?; or all. */
static bool matches(const char *pattern, const char *system, const char *name)
{
	char both[256];

	snprintf(both, sizeof(both), "%s:%s", system, name);
	return !strcmp(pattern, "all") || !fnmatch(pattern, both, 0) ||
	       !fnmatch(pattern, system, 0) || !fnmatch(pattern, name, 0);
}

/*
 * For a kernel without hist triggers: switch the event on in a small instance, and count its
 * records.
 */
static int count_in_own(struct top *top, struct counted *c, const char *event)
{
	char instance[48], path[320];
	int err;

	snprintf(instance, sizeof(instance), "top-%d-%u", (int)getpid(), top->nr_counted);
	err = borrowed_mkdir(top->borrowed, top->targets[c->target], instance);
	if (err)
		return err;
	c->own = target_kernel(instance, &err);
	if (!c->own)
		return err;
	snprintf(path, sizeof(path), "events/%s/enable", event);
	*strchr(path, ':') = '/';
	err = target_set(c->own, "buffer_size_kb", "8");
	return err ? err : target_set(c->own, path, "1");
}

/* @event: SYSTEM:NAME. */
static int count_event(struct top *top, unsigned int target, const char *event)
{
	struct target *t = top->instances[target];
	char path[320];
	struct counted *c;
	int err = 0;

	for (unsigned int i = 0; i < top->nr_counted; i++)
		if (top->counted[i].target == target && !strcmp(top->counted[i].name, event))
			return 0;
	snprintf(path, sizeof(path), "events/%s/trigger", event);
	*strchr(path, ':') = '/';
	for (unsigned int i = 0; i < NR_TRIGGERS; i++) {
		err = target_set(t, path, triggers[i]);
		if (err != -EINVAL)
			break;
	}
	if (err && (err != -EINVAL || strcmp(top->targets[target]->name, "kernel") != 0))
		return err;
	if (ARRAY_ROOM(top->counted, top->nr_counted, top->counted_room, 16))
		return fail(ENOMEM, "out of memory");
	c = &top->counted[top->nr_counted];
	*c = (struct counted){.target = target};
	snprintf(c->name, sizeof(c->name), "%s", event);
	if (err)
		err = count_in_own(top, c, event);
	top->nr_counted++;
	return err;
}

static int no_event(struct target *t, const char *pattern)
{
	char near[128], words[128];

	if (suggest(t, "available_events", pattern, near, sizeof(near)))
		return fail(ENOENT, "there is no event %s in %s, did you mean %s?", pattern,
			    t->name, near);
	return fail(ENOENT, "there is no event %s in %s (see `%s`)", pattern, t->name,
		    control_words(t, "available_events", words, sizeof(words)));
}

/* @names: lines SYSTEM:NAME, which are cut. */
static int count_matching(struct top *top, unsigned int target, char *names, const char *pattern)
{
	bool found = false;
	char *line;
	int err = 0;

	while (!err && (line = strsep(&names, "\n"))) {
		char system[128];
		size_t n = strcspn(line, ":");

		if (!line[n] || n >= sizeof(system) || strlen(line) >= 256)
			continue;
		snprintf(system, sizeof(system), "%.*s", (int)n, line);
		/* the formats of the tracers' own records */
		if (!matches(pattern, system, line + n + 1) || !strcmp(system, "ftrace"))
			continue;
		found = true;
		err = count_event(top, target, line);
		/* skip an event that cannot be counted, but count the others of the system */
		if (err == -EINVAL || err == -ENOENT)
			err = 0;
	}
	return err || found ? err : no_event(top->targets[target], pattern);
}

static int count_events(struct top *top, unsigned int i)
{
	struct target *t = top->targets[i];
	char instance[32];
	int err;

	snprintf(instance, sizeof(instance), "top-%d", (int)getpid());
	err = borrowed_mkdir(top->borrowed, t, instance);
	if (err)
		return err;
	top->instances[i] = top->kernel && !strcmp(t->name, "kernel")
				    ? target_kernel(instance, &err)
				    : target_get(t->name, instance, &err);
	for (unsigned int e = 0; e < top->nr_events && !err; e++) {
		struct target_text names;

		err = target_read(t, "available_events", &names);
		if (err)
			break;
		err = count_matching(top, i, names.at, top->events[e]);
		free(names.at);
	}
	return err;
}

static int add_target(struct top *top, struct target *t, int err)
{
	unsigned int i = top->nr_targets;
	size_t n = strlen(top->subject);
	bool functions;

	if (!t)
		return err;
	top->targets[top->nr_targets++] = t;
	snprintf(top->subject + n, sizeof(top->subject) - n, "%s%s", n ? ", " : "", t->name);
	functions = top->nr_functions || !top->nr_events;
	err = functions && top->nr_functions ? write_filter(top, t, true) : 0;
	top->filtered = top->nr_functions;
	if (!err && functions)
		err = borrowed_set(top->borrowed, t, "function_profile_enabled", "1");
	if (err == -ENOENT && functions && !strcmp(t->name, "kernel"))
		err = fail(ENOENT,
			   "this kernel has no function profiler (CONFIG_FUNCTION_PROFILER): name "
			   "events with -e");
	if (!err && top->nr_events)
		err = count_events(top, i);
	return err;
}

static int add_pid(struct top *top, int pid)
{
	struct attach_result r;
	struct target *t;
	char name[16];
	int err = 0;

	snprintf(name, sizeof(name), "%d", pid);
	t = target_get(name, NULL, &err);
	if (!t && err == -ESRCH && !attach_process(pid, ATTACH_WAIT_S, &r)) {
		if (!r.was_there)
			note("the engine was loaded into process %d", pid);
		t = target_get(name, NULL, &err);
	}
	return add_target(top, t, err);
}

static int open_all(struct top *top)
{
	struct target *t;
	int err = borrowed_new("top", &top->borrowed), got = 0;

	for (unsigned int i = 0; i < top->nr_pids && !err; i++)
		err = add_pid(top, top->pids[i]);
	if (!err && top->session) {
		t = target_get(top->session, NULL, &got);
		err = add_target(top, t, got);
	}
	if (!err && top->kernel) {
		t = target_kernel(NULL, &got);
		err = add_target(top, t, got);
	}
	if (!err && !top->nr_targets) {
		t = target_get(NULL, NULL, &got);
		err = add_target(top, t, got);
	}
	if (err)
		return err;
	top->counts = counts_new();
	return top->counts ? 0 : -ENOMEM;
}

static void close_all(struct top *top)
{
	for (unsigned int i = 0; i < top->nr_targets; i++)
		target_put(top->instances[i]);
	for (unsigned int i = 0; i < top->nr_counted; i++)
		target_put(top->counted[i].own);
	borrowed_end(top->borrowed);
	for (unsigned int i = 0; i < top->nr_targets; i++)
		target_put(top->targets[i]);
	counts_free(top->counts);
	free(top->counted);
}

/* The hits in a hist file, with the dropped ones. */
static uint64_t hits_of(const char *text)
{
	static const char *const titles[] = {"Hits: ", "Dropped: "};
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 2; i++) {
		const char *at = strstr(text, titles[i]);

		if (at)
			sum += strtoull(at + strlen(titles[i]), NULL, 10);
	}
	return sum;
}

/* The records so far, by per_cpu/cpuN/stats of all CPUs. */
static int records_of(struct target *t, uint64_t *sum)
{
	static const char *const titles[] = {"entries: ", "\noverrun: ", "read events: "};
	struct target_text text;
	struct target_file file;
	char path[64];
	int err = 0;

	for (unsigned int cpu = 0; !err; cpu++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", cpu);
		if (t->ops->find(t, path, &file))
			break;
		err = target_read(t, path, &text);
		for (unsigned int i = 0; !err && i < 3; i++) {
			const char *at = strstr(text.at, titles[i]);

			if (at)
				*sum += strtoull(at + strlen(titles[i]), NULL, 10);
		}
		if (!err)
			free(text.at);
	}
	return err;
}

static int add_event(struct top *top, const struct counted *c)
{
	struct target_text text;
	uint64_t hits = 0;
	struct count *row;
	char path[320];
	int err;

	if (c->own) {
		err = records_of(c->own, &hits);
		row = err ? NULL : counts_row(top->counts, c->name, "", true);
		if (row)
			row->now.hits += hits;
		return err ? err : row ? 0 : -ENOMEM;
	}
	snprintf(path, sizeof(path), "events/%s/hist", c->name);
	*strchr(path, ':') = '/';
	err = target_read(top->instances[c->target], path, &text);
	if (err)
		return top->targets[c->target]->ops->lives(top->targets[c->target]) ? err : 0;
	row = counts_row(top->counts, c->name, "", true);
	if (row)
		row->now.hits += hits_of(text.at);
	free(text.at);
	return row ? 0 : -ENOMEM;
}

int top_turn(struct top *top, struct top_table *t)
{
	uint64_t now = time_ns(CLOCK_MONOTONIC);
	bool lives = false;
	int err = 0;

	counts_turn(top->counts);
	for (unsigned int i = 0; i < top->nr_targets && !err; i++) {
		lives |= top->targets[i]->ops->lives(top->targets[i]);
		if (top->targets[i]->ops->counts)
			err = top->targets[i]->ops->counts(top->targets[i], top->counts);
	}
	for (unsigned int i = 0; i < top->nr_counted && !err; i++)
		err = add_event(top, &top->counted[i]);
	if (!err && t)
		err = top_table_make(t, top->counts, &top->view,
				     (double)(now - top->last_ns) / 1e9);
	top->last_ns = now;
	return err ? err : lives ? 0 : -ESRCH;
}

static int print(struct top *top, const struct top_table *t, bool first)
{
	struct out o;
	int err;

	fflush(stdout);
	if (out_init(&o, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	if (top->json) {
		top_print_json(t, &o);
	} else {
		if (!first)
			out_text(&o, "\n");
		top_print(t, &o);
	}
	err = out_end(&o);
	if (err != -EPIPE)
		return err ? fail_errno(-err, "cannot write to stdout") : 0;
	top_stopped = 1; /* the reader has closed the pipe */
	return 0;
}

static int plain(struct top *top)
{
	struct top_table t = {0};
	int err = 0;

	for (unsigned long long i = 0;
	     !err && !top_stopped && (!top->iterations || i < top->iterations); i++) {
		poll(NULL, 0, (int)(top->delay * 1000));
		if (top_stopped && !i)
			break;
		err = top_turn(top, &t);
		if (!err || err == -ESRCH) {
			int end = print(top, &t, !i);

			err = end ? end : err;
		}
	}
	free(t.rows);
	return err;
}

static int run_top(struct top *top)
{
	bool begun;
	int err;

	signals_on_ending(stop);
	signal(SIGPIPE, SIG_IGN); /* so that settings are restored */
	err = open_all(top);
	if (!err)
		err = top_turn(top, NULL);
	if (!err)
		err = !top->json && !top->iterations && isatty(STDOUT_FILENO) &&
				      isatty(STDIN_FILENO)
			      ? top_screen(top, &top->view, top->delay)
			      : plain(top);
	begun = top->counts;
	close_all(top);
	if (err == -ESRCH && begun) {
		note("%s has ended", top->subject);
		return 0;
	}
	return err;
}

static int take_pid(const struct parsing *p, void *to, const char *value)
{
	struct top *top = to;

	if (top->nr_pids == MAX_WORDS)
		return options_bad(p, "too many of them, the last is", value);
	return control_take_pid(p, &top->pids[top->nr_pids++], value);
}

static int take_event(const struct parsing *p, void *to, const char *value)
{
	struct top *top = to;

	if (top->nr_events == MAX_WORDS)
		return options_bad(p, "too many of them, the last is", value);
	top->events[top->nr_events++] = value;
	return 0;
}

static int take_function(const struct parsing *p, void *to, const char *value)
{
	struct top *top = to;

	if (top->nr_functions == MAX_WORDS)
		return options_bad(p, "too many of them, the last is", value);
	top->functions[top->nr_functions++] = value;
	return 0;
}

static int take_key(const struct parsing *p, void *to, const char *value)
{
	for (int k = 0; k < TOP_NR_KEYS; k++)
		if (!strcmp(value, top_key_names[k])) {
			((struct top *)to)->view.key = (enum top_key)k;
			return 0;
		}
	return options_bad(p, "no column, use rate, total, self, p50, p99, max or name", value);
}

static int take_delay(const struct parsing *p, void *to, const char *value)
{
	char *end;
	double d = strtod(value, &end);

	if (*end || end == value || !isfinite(d) || d < 0.05 || d > 3600)
		return options_bad(p, "not seconds from 0.05 to 3600", value);
	((struct top *)to)->delay = d;
	return 0;
}

static int take_iterations(const struct parsing *p, void *to, const char *value)
{
	return options_take_number(p, value, 1, 1000000000, "not a number of tables",
				   &((struct top *)to)->iterations);
}

static int take_lines(const struct parsing *p, void *to, const char *value)
{
	unsigned long long n;
	int status = options_take_number(p, value, 1, 1000000, "not a number of lines", &n);

	if (!status)
		((struct top *)to)->view.lines = (unsigned int)n;
	return status;
}

static const struct flag flags[] = {
	{'P', NULL, "PID",
	 "this process (may be repeated); default: the only traced one that lives. One without the "
	 "engine gets it",
	 take_pid, 0},
	{0, "session", "NAME", "the processes of this session", NULL,
	 offsetof(struct top, session)},
	{'k', NULL, NULL, "the kernel of this machine", NULL, offsetof(struct top, kernel)},
	{'l', NULL, "FUNC", "count only functions that match FUNC (may be repeated)", take_function,
	 0},
	{'e', NULL, "EVENT",
	 "count EVENT: SYSTEM:NAME, SYSTEM or NAME, with * and ?, or all (may be repeated). "
	 "Functions are counted, too, only with -l",
	 take_event, 0},
	{'s', "sort", "COLUMN", "by rate, total (default), self, p50, p99, max or name", take_key,
	 0, top_key_names},
	{'d', "delay", "SECONDS", "between two tables, or two screens (default: 1)", take_delay, 0},
	{'n', "iterations", "N", "print N tables and end; without a screen", take_iterations, 0},
	{'L', "lines", "N", "at most N lines a table (default: all)", take_lines, 0},
	{0, "json", NULL, "print each table as a line of JSON", NULL, offsetof(struct top, json)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	static struct top top;
	int status;

	top = (struct top){.delay = 1, .view = {.key = TOP_TOTAL}};
	status = options_parse(c, (void *[]){&top}, &argc, &argv);
	if (status >= 0)
		return status;
	return cmd_end(run_top(&top));
}

const struct command command_top = {
	.name = "top",
	.words = "",
	.no_words = "it takes no arguments, -P names a process",
	.what = "show live how often functions and events come, and their times",
	.help = "Show the functions of a process, or events, live: calls a second, time in them "
		"since\nthe table before, without what they called (self), the time of one call "
		"(p50, p99), and the longest\nso far. Nothing is recorded.\n",
	.more = "Keys: q quit; r t s 5 9 m n sort by a column; / find names; f filter of -l off "
		"and "
		"on; space hold; + - delay; arrows scroll.\nWithout a terminal on stdin and stdout "
		"it "
		"prints tables. What it switches on is switched off at its end.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
