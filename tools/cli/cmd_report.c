/* SPDX-License-Identifier: MIT */
/* `vestige report`: a trace as the kernel's `trace` file would show it. Tests: tests/cli. */
#include "cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu_list.h"
#include "tools/analysis/merge.h"
#include "tools/base/fail.h"
#include "tools/reader/reader.h"
#include "tools/text/trace_text.h"

static const char usage[] =
	"usage: vestige report [-i FILE] [--cpu LIST] [FILE]\n"
	"\n"
	"Print the records of FILE (a trace.dat, a spool or an area; default: trace.dat) as the\n"
	"kernel's trace file shows them, in order of time.\n"
	"\n"
	"  -i, --input FILE  the same as FILE\n"
	"      --cpu LIST    only these CPUs: 0,2-3\n"
	"  -h, --help        print this\n";

/* All records of @r, through @o. Return: 0 or -errno with fail() set; -EPIPE without. */
static int print_all(struct reader *r, struct out *o, const bool *cpus)
{
	struct trace_text *text = trace_text_new(r, o, cpus);
	struct merge *merge = merge_new(r);
	const struct record *rec;
	unsigned int cpu;
	int ret = 1;

	if (!text || !merge)
		ret = fail(ENOMEM, "out of memory");
	for (cpu = 0; merge && cpus && cpu < r->nr_cpus; cpu++) {
		if (!cpus[cpu])
			merge_skip_cpu(merge, cpu);
	}
	if (ret > 0)
		trace_text_header(text);
	while (ret > 0 && !o->err) {
		ret = merge_next(merge, &rec);
		if (ret > 0)
			trace_text_record(text, rec);
	}
	merge_free(merge);
	trace_text_free(text);
	return ret < 0 ? ret : 0;
}

static int report(const char *path, const char *cpu_text)
{
	struct reader *r;
	struct out o;
	bool *cpus = NULL;
	int ret, err;

	ret = reader_open(path, &r);
	if (ret)
		return ret;
	if (cpu_text)
		ret = cpu_list_parse(cpu_text, r->nr_cpus, &cpus);
	if (!ret && out_init(&o, STDOUT_FILENO))
		ret = fail(ENOMEM, "out of memory");
	if (!ret) {
		ret = print_all(r, &o, cpus);
		err = out_end(&o);
		/* who closes the pipe has seen enough */
		if (!ret && err && err != -EPIPE)
			ret = fail_errno(-err, "cannot write the report");
	}
	free(cpus);
	reader_close(r);
	return ret;
}

int cmd_report(int argc, char **argv)
{
	static const struct option options[] = {
		{"input", required_argument, NULL, 'i'},
		{"cpu", required_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *path = NULL, *cpus = NULL;
	int c;

	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, ":i:h", options, NULL)) >= 0) {
		switch (c) {
		case 'i':
			path = optarg;
			break;
		case 'c':
			cpus = optarg;
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
	if (report(path ? path : "trace.dat", cpus)) {
		fprintf(stderr, "vestige: %s\n", fail_text());
		return CMD_FAILURE;
	}
	return 0;
}
