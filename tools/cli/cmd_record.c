/* SPDX-License-Identifier: MIT */
/* vestige record: its flags (record.c does it). Tests: tests/cli/test_record.py. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/note.h"
#include "tools/base/time_ns.h"
#include "tools/cli/cmd.h"
#include "tools/base/fail.h"
#include "tools/cli/control.h"
#include "tools/record/flight.h"
#include "tools/record/record.h"
#include "tools/target/event_names.h"
#include "tools/text/duration.h"

#define MAX_KB	   (UINT64_C(1) << 40)
#define CENTURY_NS (100 * INT64_C(31557600000000000))

static int take_tracer(const struct parsing *p, void *to, const char *value)
{
	struct record_options *opt = to;

	if (!*value || strpbrk(value, " \t\n\"="))
		return options_bad(p, "not a tracer", value);
	opt->tracer = value;
	return 0;
}

static int take_pattern(const struct parsing *p, void *to, const char *value)
{
	struct record_options *opt = to;

	if (!*value || strpbrk(value, "\"\n"))
		return options_bad(p, "not a pattern", value);
	if (opt->nr_patterns == RECORD_MAX_PATTERNS)
		return options_bad(p, "too many patterns, the last is", value);
	opt->patterns[opt->nr_patterns].negated = opt->negate && p->flag->letter == 'e';
	opt->patterns[opt->nr_patterns].kind = p->flag->letter ? p->flag->letter : 'G';
	opt->patterns[opt->nr_patterns++].text = value;
	return 0;
}

/* -f and -R, of the last -e. Filters of one -e are joined, as trace-cmd does it. */
static int take_rule(const struct parsing *p, void *to, const char *value)
{
	struct record_options *opt = to;
	struct event_rule *r, *filter = NULL;
	unsigned int i = opt->nr_patterns;
	char *both;

	while (i && opt->patterns[i - 1].kind != 'e')
		i--;
	if (!i)
		return options_bad(p, "it must come after its -e", value);
	if (!*value || strchr(value, '\n'))
		return options_bad(p, "not a line of text", value);
	if (p->flag->letter == 'f' && opt->patterns[i - 1].negated)
		return options_bad(p, "the -e in front is behind -v, its events are not recorded",
				   value);
	for (unsigned int k = 0; p->flag->letter == 'f' && k < opt->nr_rules; k++)
		if (!opt->rules[k].trigger && opt->rules[k].events == opt->patterns[i - 1].text)
			filter = &opt->rules[k];
	if (filter) {
		/* not freed: used until this process ends */
		both = event_filter_join(filter->text, value);
		if (!both)
			return options_bad(p, "there is no memory for it", value);
		filter->text = both;
		return 0;
	}
	if (opt->nr_rules == RECORD_MAX_RULES)
		return options_bad(p, "too many of -f and -R, the last is", value);
	r = &opt->rules[opt->nr_rules++];
	*r = (struct event_rule){.events = opt->patterns[i - 1].text,
				 .text = value,
				 .trigger = p->flag->letter == 'R',
				 .alone = opt->patterns[i - 1].negated};
	opt->patterns[i - 1].has_trigger |= r->trigger;
	return 0;
}

/* Units of the stamps, with a sign or without. */
static int take_ts_offset(const struct parsing *p, void *to, const char *value)
{
	return options_take_offset(p, value, &((struct record_options *)to)->ts_offset_ns);
}

/* Do the stamps of now, and of a century from now, fit in a file? */
static bool stamps_fit(const struct record_options *opt)
{
	int64_t now = (int64_t)time_ns(opt->date ? CLOCK_REALTIME : CLOCK_MONOTONIC), moved;

	return !__builtin_add_overflow(now, opt->ts_offset_ns, &moved) && moved >= 0 &&
	       moved < INT64_MAX - CENTURY_NS;
}

static int take_depth(const struct parsing *p, void *to, const char *value)
{
	struct record_options *opt = to;
	unsigned long long n;
	int status = options_take_number(p, value, 1, UINT32_MAX, "not a number of levels", &n);

	if (!status)
		opt->graph_depth = n;
	return status;
}

static int take_thresh(const struct parsing *p, void *to, const char *value)
{
	struct record_options *opt = to;
	uint64_t ns;

	if (!duration_parse(value, 1000, &ns, NULL) || ns < 1000)
		return options_bad(p, "not a time of 1us or more, as in 20us, 5ms", value);
	opt->thresh_us = ns / 1000;
	return 0;
}

/* `5` or `5%`. */
static int take_budget(const struct parsing *p, void *to, const char *value)
{
	struct record_options *opt = to;
	size_t n = strspn(value, "0123456789");
	unsigned long percent = n && n < 4 ? strtoul(value, NULL, 10) : 0;

	if (percent < 1 || percent > 100 || (value[n] && strcmp(value + n, "%") != 0))
		return options_bad(p, "not a share from 1% to 100%", value);
	opt->budget = percent;
	return 0;
}

/* @value: `PID`, or several with commas. */
static int take_pids(const struct parsing *p, void *to, const char *value)
{
	struct record_options *opt = to;
	char one[16];

	for (const char *at = value;; at++) {
		size_t n = strcspn(at, ",");
		int pid = 0, status;

		snprintf(one, sizeof(one), "%.*s", n < sizeof(one) ? (int)n : 0, at);
		status = control_take_pid(p, &pid, one);
		if (status)
			return status;
		if (pid < 1)
			return options_bad(p, "not a process id", value);
		for (unsigned int i = 0; i < opt->nr_pids && pid; i++)
			if (opt->pids[i] == pid)
				pid = 0;
		if (opt->nr_pids == RECORD_MAX_PIDS)
			return options_bad(p, "too many processes, the last is", value);
		if (pid)
			opt->pids[opt->nr_pids++] = pid;
		at += n;
		if (!*at)
			return 0;
	}
}

static int add_option(const struct parsing *p, struct record_options *opt, const char *option)
{
	if (opt->nr_options == RECORD_MAX_OPTIONS)
		return options_bad(p, "too many options, the last is", option);
	opt->options[opt->nr_options++] = option;
	return 0;
}

static int take_option(const struct parsing *p, void *to, const char *value)
{
	if (!*value || strpbrk(value, "\"\n ,="))
		return options_bad(p, "not an option", value);
	return add_option(p, to, value);
}

/* A switch that is an option of that name. */
static int take_as_option(const struct parsing *p, void *to, const char *value)
{
	(void)value;
	return add_option(p, to, p->flag->name);
}

/* @to: the number of KB. */
static int take_kb(const struct parsing *p, void *to, const char *value)
{
	unsigned long long n;
	int status = options_take_number(p, value, 1, MAX_KB, "not a number of KB", &n);

	if (!status)
		*(uint64_t *)((char *)to + p->flag->offset) = n;
	return status;
}

static const char *const versions[] = {"7", "6", NULL};

static int take_version(const struct parsing *p, void *to, const char *value)
{
	struct record_options *opt = to;

	if (strcmp(value, versions[0]) && strcmp(value, versions[1]))
		return options_bad(p, "not 6 or 7", value);
	opt->file_version = value[0] - '0';
	return 0;
}

static int take_nothing(const struct parsing *p, void *to, const char *value)
{
	(void)p;
	(void)to;
	(void)value;
	return 0;
}

static const struct flag flags[] = {
	{'p', NULL, "TRACER",
	 "function (default), function_graph (entries and exits), or another of vestige-tracers(7)",
	 take_tracer, 0},
	{'e', NULL, "EVENT", "record EVENT: SYSTEM:NAME, SYSTEM or NAME (may be repeated)",
	 take_pattern, 0},
	{'f', NULL, "FILTER",
	 "for the -e before it: only records that match FILTER: -e sched_switch -f 'prev_prio < "
	 "121'",
	 take_rule, 0},
	{'R', NULL, "TRIGGER",
	 "for the -e before it: add a trigger to its events: -R stacktrace. After -v: only the "
	 "trigger",
	 take_rule, 0},
	{'v', NULL, NULL,
	 "the events of each -e behind it are not recorded: -e sched -v -e '*stat*'", NULL,
	 offsetof(struct record_options, negate)},
	{'i', NULL, NULL, "an event of -e that is not there is no error", NULL,
	 offsetof(struct record_options, ignore_missing)},
	{'k', NULL, NULL,
	 "the kernel's events, too, into a buffer of their own: -e names them, and -e prog:EVENT "
	 "the "
	 "program's",
	 NULL, offsetof(struct record_options, kernel)},
	{0, "kernel-tracer", "TRACER",
	 "with -k: the kernel's tracer, too, in its buffer: function, function_graph ...", NULL,
	 offsetof(struct record_options, kernel_tracer)},
	{'F', NULL, NULL,
	 "with -k: only the kernel's events of the program's threads and its children (with -P "
	 "always)",
	 NULL, offsetof(struct record_options, kernel_limited)},
	{'P', NULL, "PID",
	 "record process PID, which runs already, until Ctrl-C or its end; it gets the engine if "
	 "it has none (may be repeated)",
	 take_pids, 0},
	{0, "session", "NAME",
	 "record each process of session NAME (`vestige run`) that runs now, and its children",
	 NULL, offsetof(struct record_options, session)},
	{'l', NULL, "FUNC",
	 "trace only functions that match FUNC (may be repeated): a name of the object or of the "
	 "C++ or "
	 "Rust source, with *, ?, []",
	 take_pattern, 0},
	{'n', NULL, "FUNC", "do not trace functions that match FUNC (may be repeated)",
	 take_pattern, 0},
	{'g', NULL, "FUNC", "function_graph: only FUNC and what it calls (may be repeated)",
	 take_pattern, 0},
	{0, "graph-notrace", "FUNC",
	 "function_graph: leave out FUNC and what it calls (may be repeated)", take_pattern, 0},
	{0, "max-graph-depth", "N", "function_graph: only N levels of calls", take_depth, 0},
	{0, "tracing-thresh", "TIME", "function_graph: only calls of TIME or longer: 20us, 1.5ms",
	 take_thresh, 0},
	{0, "budget", "PERCENT",
	 "switch off the hottest functions if tracing takes more of a thread's CPU time",
	 take_budget, 0},
	{0, "func-args", NULL, "function: the arguments of each call, too", take_as_option, 0},
	{0, "funcgraph-args", NULL, "function_graph: the same", take_as_option, 0},
	{'O', NULL, "OPTION",
	 "set an option of trace_options, noOPTION clears it (may be repeated): funcgraph-retval "
	 "records "
	 "what functions return",
	 take_option, 0},
	{'b', NULL, "KB", "size of the ring buffer, for each CPU (default: 64 MB in all)", take_kb,
	 offsetof(struct record_options, buffer_kb)},
	{'m', NULL, "KB", "keep at most the newest KB of each CPU on disk", take_kb,
	 offsetof(struct record_options, max_kb)},
	{'o', NULL, "FILE", "output (default: trace.dat)", NULL,
	 offsetof(struct record_options, output)},
	{'N', NULL, "HOST:PORT",
	 "send the recording to `vestige listen` or `trace-cmd listen` there; FILE of -o is "
	 "removed here when it has arrived",
	 NULL, offsetof(struct record_options, net)},
	{'t', NULL, NULL, "for -N: does nothing, the records always go by TCP", take_nothing, 0},
	{0, "unmodified", NULL,
	 "also functions that were built without a flag: of the program and the programs that it "
	 "executes, of objects outside the system's folders, and of objects that FUNC:mod:OBJECT "
	 "names (default for a program without other functions, but not for the programs that it "
	 "executes)",
	 NULL, offsetof(struct record_options, unmodified)},
	{0, "built-only", NULL, "only functions that were built with a flag for it", NULL,
	 offsetof(struct record_options, built_only)},
	{0, "libcall", NULL,
	 "calls of the program into its libraries (events of the system libcall), with arguments "
	 "of "
	 "libc's functions: a string's first 64 bytes are read",
	 NULL, offsetof(struct record_options, libcall)},
	{0, "file-version", "N", "version of the trace.dat: 7 (default, compressed) or 6",
	 take_version, 0, versions},
	{0, "date", NULL, "stamps in the trace.dat are the time of day", NULL,
	 offsetof(struct record_options, date)},
	{0, "ts-offset", "NS", "stamps in the trace.dat are NS nanoseconds later", take_ts_offset,
	 0},
	{0, "no-native", NULL, "leave out what makes `vestige` read the file faster", NULL,
	 offsetof(struct record_options, no_native)},
	{0, "native", NULL,
	 "write the native form: it is complete at once, but only `vestige` reads it; `vestige "
	 "convert` makes a trace.dat of it",
	 NULL, offsetof(struct record_options, native)},
	{0, "stat", NULL, "print each CPU's statistics at the end, even if no events were lost",
	 NULL, offsetof(struct record_options, statistics)},
	{'q', "quiet", NULL, "print no summary at the end, and no line while the file is written",
	 NULL, offsetof(struct record_options, quiet)},
	FLAGS_END};

static const char prefix[] = "prog:";

/* Move the kernel's rules behind the program's. */
static void part_rules(struct record_options *opt)
{
	struct event_rule kernel[RECORD_MAX_RULES];
	unsigned int nr = 0, kept = 0;

	for (unsigned int i = 0; i < opt->nr_rules; i++) {
		struct event_rule r = opt->rules[i];

		if (strncmp(r.events, prefix, sizeof(prefix) - 1) != 0) {
			kernel[nr++] = r;
			continue;
		}
		r.events += sizeof(prefix) - 1;
		opt->rules[kept++] = r;
	}
	memcpy(&opt->rules[kept], kernel, nr * sizeof(*kernel));
	opt->nr_rules = kept;
	opt->nr_kernel_rules = nr;
}

/* -v -e EVENT -R TRIGGER: the event is neither switched on nor off. */
static void drop_triggered(struct record_options *opt)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < opt->nr_patterns; i++)
		if (!opt->patterns[i].negated || !opt->patterns[i].has_trigger)
			opt->patterns[kept++] = opt->patterns[i];
	opt->nr_patterns = kept;
}

/* With -k, `-e EVENT` is the kernel's and `-e prog:EVENT` the program's. */
static void part_events(struct record_options *opt)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < opt->nr_patterns; i++) {
		const char *text = opt->patterns[i].text;
		bool event = opt->patterns[i].kind == 'e';

		if (event && strncmp(text, prefix, sizeof(prefix) - 1) != 0) {
			opt->kernel_events[opt->nr_kernel_events++] =
				(struct kernel_event_wish){text, opt->patterns[i].negated};
			continue;
		}
		opt->patterns[kept] = opt->patterns[i];
		if (event)
			opt->patterns[kept].text += sizeof(prefix) - 1;
		kept++;
	}
	opt->nr_patterns = kept;
}

/* Does any flag name events of the kernel to record? */
static bool records_kernel(const struct record_options *opt)
{
	for (unsigned int i = 0; i < opt->nr_kernel_events; i++)
		if (!opt->kernel_events[i].negated)
			return true;
	return opt->kernel_tracer;
}

/* Does the word of -v -e leave out the event, or all events, that the word @event names? */
static bool leaves_out(const char *word, const char *event)
{
	const char *colon = strchr(event, ':');
	char system[128];

	if (!strcmp(word, "all") || !strcmp(word, "*") || !strcmp(word, event))
		return true;
	/* lists are not compared further */
	if (strchr(word, ',') || strchr(event, ','))
		return false;
	if (!fnmatch(word, event, 0))
		return true;
	if (!colon || strchr(word, ':'))
		return false;
	snprintf(system, sizeof(system), "%.*s", (int)(colon - event), event);
	return !fnmatch(word, system, 0) || !fnmatch(word, colon + 1, 0);
}

/*
 * Without -k: if later -v -e remove all events of -e, one of these events; NULL: some event may be
 * left, or none was requested.
 */
static const char *all_left_out(const struct record_options *opt)
{
	const char *last = NULL;

	for (unsigned int i = 0; i < opt->nr_patterns; i++) {
		bool out = false;

		if (opt->patterns[i].kind != 'e' || opt->patterns[i].negated)
			continue;
		for (unsigned int k = i + 1; k < opt->nr_patterns && !out; k++)
			out = opt->patterns[k].kind == 'e' && opt->patterns[k].negated &&
			      leaves_out(opt->patterns[k].text, opt->patterns[i].text);
		if (!out)
			return NULL;
		last = opt->patterns[i].text;
	}
	return last;
}

/* Put `!` in front of the program's events that are not recorded; in a list, of each word. */
static int negate(struct record_options *opt)
{
	for (unsigned int i = 0; i < opt->nr_patterns; i++) {
		const char *text = opt->patterns[i].text;
		char *out, *to;

		if (!opt->patterns[i].negated)
			continue;
		text = event_names_word(text);
		/* not freed: used until this process ends */
		to = out = malloc(2 * strlen(text) + 2);
		if (!out)
			return fail(ENOMEM, "out of memory");
		*to++ = '!';
		while (*text) {
			*to++ = *text;
			if (*text++ == ',')
				*to++ = '!';
		}
		*to = '\0';
		opt->patterns[i].text = out;
	}
	return 0;
}

static int take_window(const struct parsing *p, void *to, const char *value)
{
	uint64_t ns;

	if (!duration_parse(value, UINT64_C(1000000000), &ns, NULL) || ns < 1000000 ||
	    ns > UINT64_C(86400000000000))
		return options_bad(p, "not a time from 1ms to 24h, as in 500ms, 30s, 5m, 1h",
				   value);
	*(uint64_t *)((char *)to + p->flag->offset) = ns;
	return 0;
}

/* without --after and --keep */
#define AFTER_NS UINT64_C(1000000000)
#define KEEP	 10

static int take_trigger(const struct parsing *p, void *to, const char *value)
{
	struct flight_options *f = to;

	if (flight_check_trigger(value))
		return options_bad(p,
				   "no trigger, use call(FUNC)>TIME, event:SYSTEM:NAME or "
				   "signal:SIGUSR1",
				   value);
	if (f->nr_triggers == FLIGHT_MAX_TRIGGERS)
		return options_bad(p, "too many of them, the last is", value);
	f->triggers[f->nr_triggers++] = value;
	return 0;
}

static int take_keep(const struct parsing *p, void *to, const char *value)
{
	return options_take_number(p, value, 1, 1000000, "not a number of files",
				   &((struct flight_options *)to)->keep);
}

static const struct flag flight_flags[] = {
	{0, "flight", "TIME",
	 "keep recording, and write a file only at a trigger: the TIME before it (30s), as far as "
	 "the buffer reaches back",
	 take_window, offsetof(struct flight_options, before_ns)},
	{0, "on", "TRIGGER",
	 "of --flight: call(FUNC)>50ms, event:SYSTEM:NAME, or signal:SIGUSR1 to vestige (may be "
	 "repeated)",
	 take_trigger, 0},
	{0, "after", "TIME", "of --flight: and so long after the trigger (default: 1s)",
	 take_window, offsetof(struct flight_options, after_ns)},
	{0, "keep", "N", "of --flight: at most N files, the oldest goes (default: 10)", take_keep,
	 0},
	FLAGS_END};

/* Load the engine into processes that run without it. Return: 0, or an exit status. */
static int attach_all(const struct record_options *opt)
{
	for (unsigned int i = 0; i < opt->nr_pids; i++) {
		struct target *t;

		if (control_open_attached(&t, &(struct control_which){.pid = opt->pids[i]})) {
			note("%s", fail_text());
			return CMD_OURS;
		}
		target_put(t);
	}
	return 0;
}

/*
 * Check the flags of --flight, and set those that are not given. Return: -1: they are right; else
 * the exit status.
 */
static int check_flight(const struct command *c, const struct record_options *opt,
			struct flight_options *f)
{
	if (!f->before_ns && (f->nr_triggers || f->after_ns || f->keep))
		return options_wrong(c, "%s goes with --flight",
				     f->nr_triggers ? "--on"
				     : f->after_ns  ? "--after"
						    : "--keep");
	if (!f->before_ns)
		return -1;
	f->after_ns = f->after_ns ? f->after_ns : AFTER_NS;
	f->keep = f->keep ? f->keep : KEEP;
	if (!f->nr_triggers)
		return options_wrong(c, "--flight: name what it waits for with --on");
	if (opt->net)
		return options_wrong(c, "--flight writes its files here, -N sends one: leave out "
					"-N");
	if (opt->libcall)
		return options_wrong(c, "--flight does not trace calls into other objects: leave "
					"out --libcall");
	if (opt->native || opt->file_version == 6 || opt->max_kb)
		return options_wrong(c, "--flight writes trace.dat files of version 7: leave out "
					"--native, --file-version and -m");
	return -1;
}

/*
 * Choose the output file. A recording that is sent has a temporary name until it has arrived.
 * Return: -1 to go on; else the exit status.
 */
static int choose_output(const struct command *c, struct record_options *opt)
{
	static char sent[48];

	if (!opt->net) {
		opt->output = opt->output ? opt->output : "trace.dat";
		return -1;
	}
	if (opt->kernel || opt->native || opt->file_version == 7)
		return options_wrong(c, "-N sends a trace.dat of version 6: leave out %s",
				     opt->kernel   ? "-k"
				     : opt->native ? "--native"
						   : "--file-version 7");
	opt->file_version = 6;
	snprintf(sent, sizeof(sent), "trace.sent.%d.dat", getpid());
	opt->output = opt->output ? opt->output : sent;
	return -1;
}

static int run(const struct command *c, int argc, char **argv)
{
	static struct record_options opt;
	struct flight_options flight = {0};
	int status;

	opt = (struct record_options){0};
	status = options_parse(c, (void *[]){&opt, &flight}, &argc, &argv);
	if (status >= 0)
		return status;
	status = check_flight(c, &opt, &flight);
	if (status >= 0)
		return status;
	if (opt.session && (opt.nr_pids || argc))
		return options_wrong(c, "--session names the processes: leave out %s",
				     argc ? argv[0] : "-P");
	if (opt.session) {
		if (record_take_session(&opt)) {
			note("%s", fail_text());
			return CMD_OURS;
		}
	}
	if (opt.nr_pids && (argc || opt.unmodified))
		return options_wrong(c, "-P names processes that run: leave out %s",
				     argc ? argv[0] : "--unmodified, which is for their start");
	if (opt.unmodified && opt.built_only)
		return options_wrong(c, "--unmodified and --built-only exclude each other");
	if (!argc && !opt.nr_pids)
		return options_wrong(c, "no program is named: vestige record [FLAGS] -- PROG ARGS");
	opt.argv = argv;
	if (opt.native && (opt.date || opt.ts_offset_ns))
		return options_wrong(c, "--native has the clock's own stamps: leave out %s",
				     opt.date ? "--date" : "--ts-offset");
	if (!stamps_fit(&opt))
		return options_wrong(c, "--ts-offset %" PRId64 ": it would move the stamps %s",
				     opt.ts_offset_ns,
				     opt.ts_offset_ns < 0 ? "below 0" : "beyond 63 bits");
	/* the native form has the clock's own stamps, which these flags change */
	opt.no_native |= opt.date || opt.ts_offset_ns;
	if (opt.native && (opt.file_version || opt.no_native))
		return options_wrong(c, "--native writes no trace.dat: leave out %s",
				     opt.no_native ? "--no-native" : "--file-version");
	if (opt.kernel && (opt.native || opt.file_version == 6))
		return options_wrong(c, "-k writes a trace.dat of version 7: leave out %s",
				     opt.native ? "--native" : "--file-version");
	status = choose_output(c, &opt);
	if (status >= 0)
		return status;
	drop_triggered(&opt);
	if (opt.kernel) {
		part_rules(&opt);
		part_events(&opt);
	}
	if (!opt.kernel && (opt.kernel_tracer || opt.kernel_limited))
		return options_wrong(c,
				     "%s goes with -k: it is for the kernel's events, and without "
				     "-k the events of -e are the program's",
				     opt.kernel_tracer ? "--kernel-tracer" : "-F");
	if (!opt.kernel && !opt.tracer && all_left_out(&opt))
		return options_wrong(c,
				     "-e %s: a later -v -e takes it away, and no event is left to "
				     "be recorded",
				     all_left_out(&opt));
	if (opt.kernel && !records_kernel(&opt))
		return options_wrong(c, "-k: name the kernel's events with -e, in front of -v, or "
					"its tracer with --kernel-tracer");
	opt.kernel_limited |= opt.nr_pids > 0;
	if (negate(&opt)) {
		note("%s", fail_text());
		return CMD_OURS;
	}
	opt.file_version = opt.file_version ? opt.file_version : 7;
	/* if the user names events, calls are recorded only with -p */
	for (unsigned int i = 0; i < opt.nr_patterns && !opt.tracer; i++)
		if (opt.patterns[i].kind == 'e' && *opt.patterns[i].text != '!')
			opt.tracer = "nop";
	if (!opt.tracer)
		opt.tracer = "function";
	status = attach_all(&opt);
	if (status)
		return status;
	return flight.before_ns ? flight_record(&opt, &flight) : record(&opt);
}

const struct command command_record = {
	.name = "record",
	.words = "-P PID | --session NAME | [--] PROG [ARGS]",
	.what = "run a program and record its functions into a trace.dat",
	.help = "Run PROG, trace its functions or events, write a trace.dat.\n",
	.more = "PROG is any program of glibc; one that was built with "
		"-fpatchable-function-entry=6 costs less. `vestige\ndoctor PROG` shows what can be "
		"traced. Read the recording "
		"with `vestige report`, `vestige profile` or "
		"trace-cmd\nreport.\nThe exit status is PROG's; 125 vestige failed, 126 PROG "
		"cannot be executed, 127 no\nPROG.\n",
	.flags = (const struct flag *const[]){flags, flight_flags, NULL},
	.runs_program = true,
	.usage_status = CMD_OURS,
	.run = run,
};
