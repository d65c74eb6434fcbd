/* SPDX-License-Identifier: MIT */
/* `vestige split`: parts of a trace.dat as files of their own. Tests: tests/cli/test_split.py. */
#include "tools/cli/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "tools/report/split.h"

/* The row's name of a limit gives its unit. */
static int take_limit(const struct parsing *p, void *to, const char *value)
{
	struct split_options *o = to;
	unsigned long long n;
	int status = options_take_number(p, value, 1, UINT64_C(1) << 32, "not a number", &n);

	if (status)
		return status;
	if (o->limit != SPLIT_NONE)
		return options_bad(p, "one of -s, -m, -u, -e and -p at a time", value);
	switch (p->flag->letter) {
	case 's':
		o->most = n * 1000000000;
		break;
	case 'm':
		o->most = n * 1000000;
		break;
	case 'u':
		o->most = n * 1000;
		break;
	default:
		o->most = n;
	}
	o->limit = p->flag->letter == 'e'   ? SPLIT_EVENTS
		   : p->flag->letter == 'p' ? SPLIT_PAGES
					    : SPLIT_NS;
	return 0;
}

static int take_cpu(const struct parsing *p, void *to, const char *value)
{
	return options_take_cpu(p, value, &((struct split_options *)to)->cpu);
}

static int take_buffer(const struct parsing *p, void *to, const char *value)
{
	struct split_options *o = to;

	if (o->nr_buffers == SPLIT_MAX_BUFFERS)
		return options_bad(p, "too many buffers, the last is", value);
	o->buffers[o->nr_buffers++] = value;
	return 0;
}

static int take_promoted(const struct parsing *p, void *to, const char *value)
{
	struct split_options *o = to;

	(void)value;
	if (!o->nr_buffers)
		return options_wrong(p->command, "-t must come after its -B");
	if (o->promoted)
		return options_wrong(p->command, "-t: one buffer alone can be the top buffer");
	o->promoted = o->buffers[o->nr_buffers - 1];
	return 0;
}

static int take_name(const struct parsing *p, void *to, const char *value)
{
	struct split_options *o = to;

	if (!o->top)
		return options_bad(p, "it comes behind --top", value);
	o->top_name = value;
	return 0;
}

static const struct flag flags[] = {
	{'i', NULL, "FILE", "the input (default: trace.dat)", NULL,
	 offsetof(struct split_options, input)},
	{'o', NULL, "FILE", "the first part of the outputs' names (default: the input's)", NULL,
	 offsetof(struct split_options, output)},
	{'s', NULL, "N", "a file has N seconds", take_limit, 0},
	{'m', NULL, "N", "N milliseconds", take_limit, 0},
	{'u', NULL, "N", "N microseconds", take_limit, 0},
	{'e', NULL, "N", "N events", take_limit, 0},
	{'p', NULL, "N", "N sub-buffers of each CPU", take_limit, 0},
	{'r', NULL, NULL, "go on with FILE.0002 and so on until the end", NULL,
	 offsetof(struct split_options, repeat)},
	{'c', NULL, NULL, "N events of each CPU", NULL, offsetof(struct split_options, per_cpu)},
	{'C', NULL, "CPU", "only CPU's", take_cpu, 0},
	{'B', NULL, "BUFFER",
	 "only buffer BUFFER, an instance of the input (may be repeated; default: all)",
	 take_buffer, 0},
	{0, "top", NULL, "with -B: the top buffer, too; alone: only that one", NULL,
	 offsetof(struct split_options, top)},
	{'t', NULL, NULL, "the -B in front becomes the top buffer", take_promoted, 0},
	{'b', NULL, "NAME", "behind --top: the top buffer becomes the instance NAME", take_name, 0},
	FLAGS_END};

/* Seconds as report prints them, to the nanosecond. */
static bool take_time(const char *text, uint64_t *ns)
{
	char *end;
	uint64_t unit = 100000000;

	if (*text < '0' || *text > '9')
		return false;
	*ns = strtoull(text, &end, 10) * 1000000000;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
			*ns += (uint64_t)(*end - '0') * unit;
	return !*end;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct split_options o = {.cpu = -1};
	unsigned int nr;
	int status = options_parse(c, (void *[]){&o}, &argc, &argv);

	if (status >= 0)
		return status;
	if (argc > 2)
		return options_wrong(c, "a begin and an end are enough: %s", argv[2]);
	o.has_begin = argc > 0;
	o.has_end = argc > 1;
	if ((argc > 0 && !take_time(argv[0], &o.begin_ns)) ||
	    (argc > 1 && !take_time(argv[1], &o.end_ns)))
		return options_wrong(c, "not a time in seconds: %s",
				     argc > 1 && take_time(argv[0], &o.begin_ns) ? argv[1]
										 : argv[0]);
	if (o.repeat && o.limit == SPLIT_NONE)
		return options_wrong(c, "-r repeats a limit: name one with -s, -m, -u, -e or -p");
	o.input = o.input ? o.input : "trace.dat";
	o.output = o.output ? o.output : o.input;
	return cmd_end(split(&o, &nr));
}

const struct command command_split = {
	.name = "split",
	.words = "[BEGIN [END]]",
	.what = "write parts of a trace.dat into files of their own",
	.help = "Write the records of a trace.dat from BEGIN to END, in seconds as report prints "
		"them, "
		"into\nFILE.1, or with -r into FILE.0001, FILE.0002 and so on.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
