/* SPDX-License-Identifier: MIT */
/* `vestige report`: a trace as the kernel's `trace` file would show it. Tests: tests/cli. */
#include "tools/cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/cpu_list.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/view_flags.h"
#include "tools/code/symbols.h"
#include "tools/reader/reader.h"
#include "tools/target/trace_print.h"
#include "tools/text/graph_text.h"

static int report(const char *path, const char *cpu_text, uint32_t set, uint32_t keep,
		  enum demangle how)
{
	struct reader *r;
	bool *cpus = NULL;
	int ret;

	ret = reader_open(path, &r);
	if (ret)
		return ret;
	symbols_demangle(r->symbols, how);
	if (cpu_text)
		ret = cpu_list_parse(cpu_text, r->nr_cpus, &cpus);
	if (!ret)
		ret = trace_print(r, cpus, set, keep);
	free(cpus);
	reader_close(r);
	return ret;
}

struct options {
	const char *path, *cpus;
	uint32_t set, keep; /* options of the text */
	enum demangle how;
};

static int take_option(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;
	char text[512] = "";
	const char *known;
	size_t n = 0;

	if (graph_option_set(&opt->set, value) && graph_option_set(&opt->keep, value))
		return 0;
	for (unsigned int i = 0; (known = graph_option_name(i)) && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", known);
	return options_wrong(p->command, "%s: there is no option %s; there are%s", p->typed, value,
			     text);
}

static int take_demangle(const struct parsing *p, void *to, const char *value)
{
	return view_take_demangle(p, &((struct options *)to)->how, value);
}

static const struct flag flags[] = {
	{'i', "input", "FILE", "the same as FILE", NULL, offsetof(struct options, path)},
	{0, "cpu", "LIST", "only these CPUs: 0,2-3", NULL, offsetof(struct options, cpus)},
	{'O', NULL, "OPTION",
	 "for function_graph: one of the kernel's options, `no` before it turns it off: "
	 "funcgraph-proc, nofuncgraph-overhead, latency-format (may be repeated)",
	 take_option, 0},
	{0, "demangle", "HOW",
	 "names of C++ and Rust as the source has them: short, without parameters, or full; "
	 "default: "
	 "none, as the object has them",
	 take_demangle, 0},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	/* a name may hold blanks: the kernel's text has none */
	struct options opt = {.keep = UINT32_MAX, .how = DEMANGLE_NONE};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (status >= 0)
		return status;
	if (argc > (opt.path ? 0 : 1))
		return options_wrong(c, "one file at a time; one more is %s",
				     argv[opt.path ? 0 : 1]);
	if (argc)
		opt.path = argv[0];
	if (!report(opt.path ? opt.path : "trace.dat", opt.cpus, opt.set, opt.keep, opt.how))
		return 0;
	note("%s", fail_text());
	return CMD_FAILURE;
}

const struct command command_report = {
	.name = "report",
	.words = "[FILE]",
	.what = "print a recording as the kernel's trace text",
	.help = "Print the records of FILE (a trace.dat, a spool or an area; default: trace.dat) "
		"as the\n"
		"kernel's trace file shows them, in order of time.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
