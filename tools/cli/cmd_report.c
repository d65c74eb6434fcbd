/* SPDX-License-Identifier: MIT */
/*
 * `vestige report`: recordings as `trace-cmd report` prints them, or as the kernel's `trace` file.
 * Tests: tests/cli/test_report.py.
 */
#include "tools/cli/cmd.h"
#include "tools/cli/pager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/cpu_list.h"
#include "tools/base/fail.h"
#include "tools/base/nearest.h"
#include "tools/base/note.h"
#include "tools/cli/view_flags.h"
#include "tools/code/symbols.h"
#include "tools/reader/reader.h"
#include "tools/report/report.h"
#include "tools/target/trace_print.h"
#include "tools/text/graph_text.h"

/* Words that may be repeated; NULL behind the last one. */
struct words {
	const char **at;
	size_t nr;
};

struct options {
	struct report_options report;
	size_t inputs_room, filters_room;
	struct report_filter *filters;
	struct words raw_events, plain_events, plugin_options;
	uint64_t hz; /* --ts2secs before any -i */
	bool out;    /* a -v was given: for the filters behind it */
	const char *lists;
	const char *format;
	bool kernel_options; /* one of -O is the kernel's */
	uint32_t set, keep;  /* options of the kernel's text */
	bool quiet, debug, global, profile;
};

static int no_memory(void)
{
	note("out of memory");
	return CMD_FAILURE;
}

static int words_add(struct words *w, const char *word)
{
	const char **more = reallocarray(w->at, w->nr + 2, sizeof(*more));

	if (!more)
		return no_memory();
	w->at = more;
	w->at[w->nr++] = word;
	w->at[w->nr] = NULL;
	return 0;
}

static int add_input(struct options *opt, const char *path)
{
	struct report_options *r = &opt->report;

	if (ARRAY_ROOM(r->inputs, r->nr_inputs, opt->inputs_room, 4))
		return no_memory();
	r->inputs[r->nr_inputs++] = (struct report_input){.path = path, .hz = opt->hz};
	return 0;
}

static int take_input(const struct parsing *p, void *to, const char *value)
{
	(void)p;
	return add_input(to, value);
}

static int take_offset(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;
	int64_t offset;
	int status = options_take_offset(p, value, &offset);

	if (status)
		return status;
	if (!opt->report.nr_inputs)
		return options_wrong(
			p->command, "%s is for the -i FILE before it, and there is none", p->typed);
	opt->report.inputs[opt->report.nr_inputs - 1].ts_offset = offset;
	return 0;
}

static int take_hz(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;
	unsigned long long hz;
	int status = options_take_number(p, value, 1, 1000000000000, "not a frequency in Hz", &hz);

	if (status)
		return status;
	if (opt->report.nr_inputs)
		opt->report.inputs[opt->report.nr_inputs - 1].hz = hz;
	else
		opt->hz = hz;
	return 0;
}

static int take_filter(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;

	(void)p;
	if (ARRAY_ROOM(opt->filters, opt->report.nr_filters, opt->filters_room, 4))
		return no_memory();
	opt->filters[opt->report.nr_filters++] =
		(struct report_filter){.text = value, .out = opt->out};
	return 0;
}

static int take_raw_event(const struct parsing *p, void *to, const char *value)
{
	(void)p;
	return words_add(&((struct options *)to)->raw_events, value);
}

static int take_plain_event(const struct parsing *p, void *to, const char *value)
{
	(void)p;
	return words_add(&((struct options *)to)->plain_events, value);
}

/* NAME or NAME=VALUE */
static bool is_option(const char *text, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(text, name, n) && (!text[n] || text[n] == '=');
}

/* An option of the kernel's text, of trace-cmd's own or of a plug-in. */
static int take_option(const struct parsing *p, void *to, const char *value)
{
	const char *own = strchr(value, ':') ? strchr(value, ':') + 1 : value;
	struct options *opt = to;

	(void)p;
	if (graph_option_set(&opt->set, value) && graph_option_set(&opt->keep, value)) {
		opt->kernel_options = true;
		return 0;
	}
	if (own == value || !strncmp(value, "fgraph:", 7) || !strncmp(value, "ftrace:", 7)) {
		bool *set = is_option(own, "tailprint") ? &opt->report.line.tail
			    : is_option(own, "depth")	? &opt->report.line.depth
							: NULL;

		if (set) {
			*set = !strchr(own, '=') || own[strlen(own) - 1] != '0';
			return 0;
		}
	}
	return words_add(&opt->plugin_options, value);
}

static int take_cpus(const struct parsing *p, void *to, const char *value)
{
	return view_take_cpus(p, &((struct options *)to)->report.cpus, value);
}

static int take_demangle(const struct parsing *p, void *to, const char *value)
{
	return view_take_demangle(p, &((struct options *)to)->report.how, value);
}

static int take_event(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;

	(void)p;
	opt->report.what = REPORT_FORMATS;
	opt->report.event = value;
	return 0;
}

static int take_format(const struct parsing *p, void *to, const char *value)
{
	if (strcmp(value, "trace") != 0 && strcmp(value, "trace-cmd") != 0)
		return options_bad(p, "there are `trace-cmd` and `trace`", value);
	((struct options *)to)->format = value;
	return 0;
}

static int take_out(const struct parsing *p, void *to, const char *value)
{
	(void)p;
	(void)value;
	((struct options *)to)->out = true;
	return 0;
}

/* -e, -f, ...: print other data in place of records. */
static int take_what(const struct parsing *p, void *to, const char *value)
{
	static const struct {
		char letter;
		const char *name;
		enum report_what what;
	} all[] = {
		{'e', "", REPORT_ENDIAN},	   {'f', "", REPORT_FUNCTIONS},
		{'P', "", REPORT_PRINTKS},	   {'E', "", REPORT_NAMES},
		{'T', "", REPORT_FILTER_TEST},	   {0, "events", REPORT_FORMATS},
		{0, "check-events", REPORT_CHECK}, {0, "cpus", REPORT_CPUS},
		{0, "first-event", REPORT_CPUS},   {0, "last-event", REPORT_CPUS},
		{0, "stat", REPORT_STAT},	   {0, "uname", REPORT_UNAME},
		{0, "version", REPORT_VERSION},
	};
	struct options *opt = to;

	(void)value;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (p->flag->letter ? all[i].letter == p->flag->letter
				    : !strcmp(all[i].name, p->flag->name))
			opt->report.what = all[i].what;
	if (p->flag->name && !strcmp(p->flag->name, "first-event"))
		opt->report.first_event = true;
	if (p->flag->name && !strcmp(p->flag->name, "last-event"))
		opt->report.last_event = true;
	return 0;
}

#define AT(field)     NULL, offsetof(struct options, field)
#define REPORT(field) NULL, offsetof(struct options, report.field)
#define LINE(field)   NULL, offsetof(struct options, report.line.field)

static const struct flag flags[] = {
	{'i', "input", "FILE", "the same as FILE; several are merged by time (may be repeated)",
	 take_input, 0},
	{0, "format", "TEXT",
	 "trace-cmd, as `trace-cmd report` prints it (default), or trace, as the kernel's trace "
	 "file "
	 "has it",
	 take_format, 0},
	{0, "cpu", "LIST", "only these CPUs: 0,2-3", take_cpus, 0},
	{'F', NULL, "FILTER",
	 "only events that match: EVENTS:EXPRESSION, as libtraceevent has them: "
	 "'sched:prev_pid==0' "
	 "(may be repeated)",
	 take_filter, 0},
	{'v', NULL, NULL, "the filters of -F behind it leave out what matches", take_out, 0},
	{'T', NULL, NULL, "print what the filters of -F are for each event", take_what, 0},
	{'I', NULL, NULL, "no events of hard interrupts", REPORT(no_irqs)},
	{'S', NULL, NULL, "no events of soft interrupts", REPORT(no_softirqs)},
	{'t', NULL, NULL, "times in nanoseconds", LINE(nanoseconds)},
	{'l', NULL, NULL, "flags of interrupts, rescheduling and preemption, too", LINE(latency)},
	{'R', NULL, NULL, "events as their fields", LINE(raw)},
	{'r', NULL, "EVENTS",
	 "these events as their fields: a regular expression (may be repeated)", take_raw_event, 0},
	{'n', NULL, "EVENTS", "these events without plug-ins (may be repeated)", take_plain_event,
	 0},
	{'N', NULL, NULL, "no plug-ins of libtraceevent", LINE(no_plugins)},
	{'L', NULL, NULL, "only the plug-ins of your own folder", LINE(local_plugins)},
	{'O', NULL, "OPTION",
	 "tailprint, an option of libtraceevent's plug-ins (parent, PLUGIN:OPTION=VALUE), or one "
	 "of "
	 "the kernel's for function_graph, `no` before it turns it off: funcgraph-proc, "
	 "nofuncgraph-overhead, latency-format, with which --format is trace (may be repeated)",
	 take_option, 0},
	{'w', NULL, NULL, "latencies from sched_wakeup to sched_switch", REPORT(wakeup)},
	{'q', NULL, NULL, "no warnings", AT(quiet)},
	{0, "ts-offset", "N", "add N to the times of the -i FILE in front of it, in their units",
	 take_offset, 0},
	{0, "ts2secs", "HZ",
	 "the clock of the -i FILE in front of it, or of all behind it, has HZ ticks a second",
	 take_hz, 0},
	{0, "ts-diff", NULL, "the time since the line before, too", REPORT(ts_diff)},
	{0, "ts-check", NULL, "say where a time is before the one of the line before",
	 REPORT(ts_check)},
	{0, "nodate", NULL, "times without the date of record --date", REPORT(nodate)},
	{0, "raw-ts", NULL, "times as they were recorded", REPORT(raw_ts)},
	{0, "align-ts", NULL, "times from the first event on", REPORT(align_ts)},
	{0, "demangle", "HOW",
	 "names of C++ and Rust as the source has them: short, without parameters, or full; "
	 "default: "
	 "none, as the object has them",
	 take_demangle, 0, demangle_words},
	{'e', NULL, NULL, "print the byte order", take_what, 0},
	{'f', NULL, NULL, "print the functions", take_what, 0},
	{'P', NULL, NULL, "print the texts of trace_printk()", take_what, 0},
	{'E', NULL, NULL, "print the names of the events", take_what, 0},
	{0, "events", NULL, "print the events' formats", take_what, 0},
	{0, "event", "[SYSTEM:]EVENT", "print the formats of these: regular expressions",
	 take_event, 0},
	{0, "check-events", NULL, "say which formats libtraceevent cannot parse", take_what, 0},
	{0, "cpus", NULL, "print the CPUs that have records", take_what, 0},
	{0, "first-event", NULL, "print the time of each CPU's first record", take_what, 0},
	{0, "last-event", NULL, "print the time of each CPU's last record", take_what, 0},
	{0, "stat", NULL, "print the statistics of the buffers", take_what, 0},
	{0, "uname", NULL, "print the machine and the recorder's version", take_what, 0},
	{0, "version", NULL, "print the recorder's version", take_what, 0},
	FLAGS_END};

/* The kernel's text of one file. */
static int as_trace(const struct options *opt)
{
	const struct report_options *o = &opt->report;
	struct reader *r;
	bool *cpus = NULL;
	int ret;

	ret = reader_open(o->inputs[0].path, &r);
	if (ret)
		return ret;
	symbols_demangle(r->symbols, o->how);
	if (o->cpus)
		ret = cpu_list_parse(o->cpus, r->nr_cpus, &cpus);
	if (!ret)
		ret = trace_print(r, cpus, opt->set, opt->keep);
	free(cpus);
	reader_close(r);
	return ret;
}

/* Return: the first given flag that is not possible with the kernel's text; NULL: there is none. */
static const char *not_of_trace(const struct options *opt)
{
	const struct report_options *o = &opt->report;
	const struct {
		bool given;
		const char *flag;
	} all[] = {
		{o->nr_filters, "-F"},	      {o->no_irqs, "-I"},
		{o->no_softirqs, "-S"},	      {o->line.nanoseconds, "-t"},
		{o->line.latency, "-l"},      {o->line.raw, "-R"},
		{o->line.no_plugins, "-N"},   {opt->raw_events.nr, "-r"},
		{opt->plain_events.nr, "-n"}, {o->line.tail, "-O tailprint"},
		{o->line.depth, "-O depth"},  {o->wakeup, "-w"},
		{o->ts_diff, "--ts-diff"},    {o->ts_check, "--ts-check"},
		{o->nodate, "--nodate"},      {o->raw_ts, "--raw-ts"},
		{o->align_ts, "--align-ts"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].given)
			return all[i].flag;
	return NULL;
}

static const char *option_at(const void *arg, size_t i)
{
	(void)arg;
	return graph_option_name((unsigned int)i);
}

/* Report a wrong option of the kernel's text. */
static int no_option(const struct command *c, const char *value)
{
	char text[512] = "";
	const char *known, *nearest;
	size_t n = 0;

	nearest = nearest_name(value, option_at, NULL);
	if (nearest)
		return options_wrong(c, "-O: the kernel's text has no option %s, did you mean %s?",
				     value, nearest);
	for (unsigned int i = 0; (known = graph_option_name(i)) && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", known);
	return options_wrong(c, "-O: the kernel's text has no option %s; there are%s", value, text);
}

static int print(const struct command *c, struct options *opt)
{
	struct report_options *o = &opt->report;
	bool as_kernel = opt->format ? !strcmp(opt->format, "trace") : opt->kernel_options;

	o->filters = opt->filters;
	o->line.raw_events = opt->raw_events.at;
	o->line.plain_events = opt->plain_events.at;
	o->plugin_options = opt->plugin_options.at;
	o->line.plugin_options = opt->plugin_options.nr != 0;
	if (o->what == REPORT_FILTER_TEST && !o->nr_filters)
		o->what = REPORT_RECORDS;
	if (as_kernel && o->what == REPORT_RECORDS) {
		if (o->nr_inputs > 1)
			return options_wrong(
				c, "--format=trace prints one file at a time; one more is %s",
				o->inputs[1].path);
		if (opt->plugin_options.nr)
			return no_option(c, opt->plugin_options.at[0]);
		if (not_of_trace(opt))
			return options_wrong(c, "%s has no meaning in the kernel's text%s",
					     not_of_trace(opt),
					     opt->format ? "" : ", which an option of -O asks for");
		if (!as_trace(opt))
			return 0;
	} else {
		if (opt->kernel_options)
			return options_wrong(c, "the kernel's options of -O need --format=trace");
		if (!report_print(o))
			return 0;
	}
	note("%s", fail_text());
	return CMD_FAILURE;
}

static int run(const struct command *c, int argc, char **argv)
{
	/* a name may contain blanks, as the text has no quotes */
	struct options opt = {.keep = UINT32_MAX, .report.how = DEMANGLE_NONE};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	for (int i = 0; status < 0 && i < argc; i++)
		if (add_input(&opt, argv[i]))
			status = CMD_FAILURE;
	if (status < 0 && !opt.report.nr_inputs && add_input(&opt, "trace.dat"))
		status = CMD_FAILURE;
	if (status < 0)
		status = print(c, &opt);
	free(opt.report.inputs);
	free(opt.filters);
	free(opt.raw_events.at);
	free(opt.plain_events.at);
	free(opt.plugin_options.at);
	return status;
}

const struct command command_report = {
	.name = "report",
	.words = "[FILE...]",
	.what = "print recordings as trace-cmd does, or as the kernel's trace text",
	.help = "Print the records of FILE (a trace.dat, a spool or an area; default: trace.dat) "
		"in order "
		"of\n"
		"time, as `trace-cmd report` prints them: all its buffers, several files merged.\n",
	.flags = (const struct flag *const[]){flags, pager_flags, NULL},
	.run = run,
};
