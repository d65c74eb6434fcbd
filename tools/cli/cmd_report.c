/* SPDX-License-Identifier: MIT */
/* `vestige report`: a trace as the kernel's `trace` file would show it. Tests: tests/cli. */
#include "cmd.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_list.h"
#include "tools/target/trace_print.h"
#include "tools/base/fail.h"
#include "tools/reader/reader.h"
#include "tools/reader/symbols.h"
#include "tools/text/graph_text.h"

static const char usage[] =
	"usage: vestige report [-i FILE] [--cpu LIST] [-O OPTION]... [--demangle=HOW] [FILE]\n"
	"\n"
	"Print the records of FILE (a trace.dat, a spool or an area; default: trace.dat) as the\n"
	"kernel's trace file shows them, in order of time.\n"
	"\n"
	"  -i, --input FILE  the same as FILE\n"
	"      --cpu LIST    only these CPUs: 0,2-3\n"
	"  -O OPTION         of a trace of calls: one of the kernel's options, `no` before it\n"
	"                    turns it off: funcgraph-proc, nofuncgraph-overhead, latency-format\n"
	"      --demangle=short|full|none\n"
	"                    names of C++ and Rust as the source has them, without or with\n"
	"                    parameters; default: as the object has them\n"
	"  -h, --help        print this\n";

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

static int bad_option(const char *name)
{
	const char *known;

	fprintf(stderr, "vestige: report: -O: there is no option '%s'; there are", name);
	for (unsigned int i = 0; (known = graph_option_name(i)) != NULL; i++)
		fprintf(stderr, " %s", known);
	fputc('\n', stderr);
	return CMD_USAGE;
}

int cmd_report(int argc, char **argv)
{
	static const struct option options[] = {
		{"input", required_argument, NULL, 'i'},
		{"cpu", required_argument, NULL, 'c'},
		{"demangle", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *path = NULL, *cpus = NULL;
	uint32_t set = 0, keep = UINT32_MAX;
	enum demangle how = DEMANGLE_NONE; /* a name may hold blanks: the kernel's text has none */
	int c;

	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, ":i:O:h", options, NULL)) >= 0) {
		switch (c) {
		case 'i':
			path = optarg;
			break;
		case 'c':
			cpus = optarg;
			break;
		case 'd':
			if (!demangle_parse(optarg, &how)) {
				fprintf(stderr,
					"vestige: report: --demangle is full, short or none, not "
					"'%s'; see `vestige report --help`\n",
					optarg);
				return CMD_USAGE;
			}
			break;
		case 'O':
			if (!graph_option_set(&set, optarg) || !graph_option_set(&keep, optarg))
				return bad_option(optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case ':':
			fprintf(stderr,
				"vestige: report: %s needs a value; see `vestige report --help`\n",
				argv[optind - 1]);
			return CMD_USAGE;
		default:
			fprintf(stderr,
				"vestige: report: unknown option %s; see `vestige report --help`\n",
				argv[optind - 1]);
			return CMD_USAGE;
		}
	}
	if (argc - optind > (path ? 0 : 1)) {
		fprintf(stderr,
			"vestige: report: one file at a time, '%s' is one more; see "
			"`vestige report --help`\n",
			argv[path ? optind : optind + 1]);
		return CMD_USAGE;
	}
	if (optind < argc)
		path = argv[optind];
	if (report(path ? path : "trace.dat", cpus, set, keep, how)) {
		fprintf(stderr, "vestige: %s\n", fail_text());
		return CMD_FAILURE;
	}
	return 0;
}
