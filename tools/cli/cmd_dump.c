/* SPDX-License-Identifier: MIT */
/* `vestige dump`: the contents of a trace.dat other than records. Tests: tests/cli/test_dump.py. */
#include "tools/cli/cmd.h"
#include "tools/cli/pager.h"

#include "tools/report/dump.h"

struct options {
	const char *path;
	struct dump_options dump;
};

#define SWITCH(field) NULL, offsetof(struct options, dump.field)

static const struct flag flags[] = {
	{'i', "input", "FILE", "the same as FILE", NULL, offsetof(struct options, path)},
	{'v', "validate", NULL, "only say whether it is a trace.dat", SWITCH(validate)},
	{0, "all", NULL, "all of the below, and how the sections lie", SWITCH(all)},
	{0, "summary", NULL, "how much there is of each (default)", SWITCH(summary)},
	{0, "head-page", NULL, "the format of a sub-buffer's head", SWITCH(head_page)},
	{0, "head-event", NULL, "the format of a record's head", SWITCH(head_event)},
	{0, "ftrace-events", NULL, "the formats of the system ftrace", SWITCH(ftrace_events)},
	{0, "systems", NULL, "the systems of the other events", SWITCH(systems)},
	{0, "events", NULL, "their formats", SWITCH(events)},
	{0, "kallsyms", NULL, "the functions' addresses", SWITCH(kallsyms)},
	{0, "printk", NULL, "the texts of trace_printk()", SWITCH(printk)},
	{0, "cmd-lines", NULL, "the threads' names", SWITCH(cmd_lines)},
	{0, "options", NULL, "the options", SWITCH(options)},
	{0, "flyrecord", NULL, "where the records are", SWITCH(flyrecord)},
	{0, "clock", NULL, "the clock", SWITCH(clock)},
	{0, "json", NULL, "the summary as JSON", SWITCH(json)},
	FLAGS_END};

static bool any(const struct dump_options *o)
{
	return o->validate || o->all || o->summary || o->head_page || o->head_event ||
	       o->ftrace_events || o->systems || o->events || o->kallsyms || o->printk ||
	       o->cmd_lines || o->options || o->flyrecord || o->clock;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {0};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (status < 0)
		status = cmd_take_file(c, argc, argv, &opt.path);
	if (status >= 0)
		return status;
	if (opt.dump.json) {
		struct dump_options rest = opt.dump;

		rest.summary = false;
		if (any(&rest))
			return options_wrong(c, "--json prints the summary alone");
	}
	if (!any(&opt.dump))
		opt.dump.summary = true;
	return cmd_end(dump_print(opt.path, &opt.dump));
}

const struct command command_dump = {
	.name = "dump",
	.words = "[FILE]",
	.what = "print what a trace.dat holds besides records",
	.help = "Print what FILE (a trace.dat of any writer; default: trace.dat) holds besides "
		"records, as\n"
		"`trace-cmd dump` does.\n",
	.flags = (const struct flag *const[]){flags, pager_flags, NULL},
	.run = run,
};
