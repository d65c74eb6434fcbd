/* SPDX-License-Identifier: MIT */
/*
 * vestige blk: block I/O, as with blktrace, blkparse and btt. Each word behind `blk` is a command
 * of its own. Tests: tests/cli/test_blk.py.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/nearest.h"
#include "tools/base/note.h"
#include "tools/blk/blk_parse.h"
#include "tools/blk/blk_times.h"
#include "tools/cli/blk_program.h"
#include "tools/cli/cmd.h"
#include "tools/cli/cmd_blk.h"

struct inputs {
	const char **names;
	size_t nr, room;
};

static int add_input(struct inputs *in, const char *name)
{
	if (ARRAY_ROOM(in->names, in->nr, in->room, 8)) {
		note("out of memory");
		return CMD_FAILURE;
	}
	in->names[in->nr++] = name;
	return 0;
}

/* The words behind the flags are inputs, too. Return: -1 to go on, else the exit status. */
static int add_words(const struct command *c, struct inputs *in, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (add_input(in, argv[i]))
			return CMD_FAILURE;
	return in->nr ? -1
		      : options_wrong(c,
				      "name a recording: NAME of NAME.blktrace.0, or - for stdin");
}

/* Open the named recordings, and the output. Return: -1 to go on, else the exit status. */
static int begin(const struct command *c, struct inputs *in, int argc, char **argv,
		 const char *output, struct out *o)
{
	int status = add_words(c, in, argc, argv);

	if (status >= 0)
		return status;
	if (output && !freopen(output, "w", stdout))
		note("cannot write %s: %s", output, strerror(errno));
	else if (out_init(o, STDOUT_FILENO))
		note("out of memory");
	else
		return -1;
	return CMD_FAILURE;
}

static int finish(struct out *o, int err, const char *what)
{
	err = out_end_stdout(o, err, what);
	return cmd_end(err);
}

static bool take_seconds(const char *text, char **end, double *s)
{
	*s = strtod(text, end);
	return *end != text && isfinite(*s) && *s >= 0 && *s < 1e9;
}

struct parse_options {
	struct blk_parse parse;
	struct inputs in;
	const char *output;
	const char *lines; /* the flag that gives lines a format; NULL */
};

static int take_input(const struct parsing *p, void *to, const char *value)
{
	(void)p;
	return add_input(&((struct parse_options *)to)->in, value);
}

static int take_all_formats(const struct parsing *p, void *to, const char *value)
{
	struct parse_options *opt = to;

	opt->lines = "f";
	if (!blk_formats_all(&opt->parse.formats, value))
		return 0;
	return options_bad(p, fail_text(), value);
}

static int take_format(const struct parsing *p, void *to, const char *value)
{
	struct parse_options *opt = to;

	opt->lines = "F";
	if (!blk_formats_one(&opt->parse.formats, value))
		return 0;
	return options_bad(p, "not an action's letter, a comma and a format, as Q,%S+%n\\n", value);
}

int blk_take_mask(const struct parsing *p, const char *value, uint32_t *mask)
{
	uint32_t bits = blk_mask(value);

	*mask |= bits;
	return bits ? 0
		    : options_bad(p,
				  "not an action: read, write, flush, sync, queue, requeue, issue, "
				  "complete, fs, pc, notify, ahead, meta, discard, drv_data, fua",
				  value);
}

int blk_take_mask_bits(const struct parsing *p, const char *value, uint32_t *mask)
{
	char *end;
	unsigned long bits = strtoul(value, &end, 16);

	if (!*value || *end || !bits || bits > 0xffff)
		return options_bad(p, "not a mask in hexadecimal from 1 to ffff", value);
	*mask = (uint32_t)bits;
	return 0;
}

static int take_mask(const struct parsing *p, void *to, const char *value)
{
	return blk_take_mask(p, value, &((struct parse_options *)to)->parse.mask);
}

static int take_mask_bits(const struct parsing *p, void *to, const char *value)
{
	return blk_take_mask_bits(p, value, &((struct parse_options *)to)->parse.mask);
}

/* END, or BEGIN:END. */
static int take_stretch(const struct parsing *p, void *to, const char *value)
{
	struct parse_options *opt = to;
	double from = 0, until;
	char *end;

	if (!take_seconds(value, &end, &until))
		return options_bad(p, "not a time in seconds, as 0.5, or two, as 0.5:2", value);
	if (*end == ':') {
		from = until;
		if (!take_seconds(end + 1, &end, &until))
			return options_bad(p, "not two times in seconds, as 0.5:2", value);
	}
	if (*end || until <= from)
		return options_bad(p, "the end is not after the begin", value);
	opt->parse.from_ns = (uint64_t)(from * 1e9);
	opt->parse.to_ns = (uint64_t)(until * 1e9);
	return 0;
}

#define AT(field) offsetof(struct parse_options, field)

static const struct flag parse_flags[] = {
	{'i', "input", "FILE", "a recording: the same as a word", take_input, 0},
	{'D', "input-directory", "DIR", "the folder of the recordings", NULL, AT(parse.folder)},
	{'f', "format", "FMT", "the format of all lines that -F does not name", take_all_formats,
	 0},
	{'F', "format-spec", "ACT,FMT",
	 "the format of one action's lines, by its letter: A B C D F G I M P Q R S T U W X. FMT "
	 "has %a action, %c CPU, %C command, %d kind, %D device, %e error, %g control group, %M "
	 "major, %m minor, %n sectors, %N bytes, %p PID, %P payload, %s number, %S sector, %t ns, "
	 "%T s, %u us of -t, %U number of the payload, %z time of day, with a width in between; "
	 "\\n \\t \\b \\r",
	 take_format, 0},
	{'a', "act-mask", "ACT",
	 "only records of this kind (read, write, queue, issue ...; may be repeated)", take_mask,
	 0},
	{'A', "set-mask", "HEX", "the same as bits", take_mask_bits, 0},
	{'w', "stopwatch", "SPAN", "only this time of the recording, in seconds: END or BEGIN:END",
	 take_stretch, 0},
	{'t', "track-ios", NULL, "the time since the step before, in ns, in parentheses", NULL,
	 AT(parse.times)},
	{'s', "per-program-stats", NULL, "sums of each process", NULL, AT(parse.processes)},
	{'h', "hash-by-name", NULL, "processes of one name are one", NULL, AT(parse.by_name)},
	{'q', "quiet", NULL, "no sums of CPUs and devices", NULL, AT(parse.quiet)},
	{'m', "messages", NULL,
	 "also the messages of kernels with control groups, which blkparse "
	 "1.2.0 leaves out",
	 NULL, AT(parse.messages)},
	{'d', "dump-binary", "OUT", "write all records to one file, sorted, for btt", NULL,
	 AT(parse.merged)},
	{'M', "no-msgs", NULL, "without messages in the file of -d", NULL, AT(parse.no_messages)},
	{'O', "no-text-output", NULL, "no text", NULL, AT(parse.no_text)},
	{0, "json", NULL, "the sums alone, as JSON: requests, bytes, and the waits of -s -t in ns",
	 NULL, AT(parse.json)},
	{'o', "output", "OUT", "write the text to this file", NULL, AT(output)},
	FLAGS_END};

static int run_parse(const struct command *c, int argc, char **argv)
{
	struct parse_options opt = {0};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);
	struct out o;

	if (status < 0 && opt.parse.json && (opt.parse.no_text || opt.lines))
		status = options_wrong(c, "--json prints the sums alone: leave out -%s",
				       opt.lines ? opt.lines : "O");
	if (status < 0)
		status = begin(c, &opt.in, argc, argv, opt.output, &o);
	if (status < 0) {
		opt.parse.names = opt.in.names;
		opt.parse.nr_names = (unsigned int)opt.in.nr;
		status = finish(&o, blk_parse(&opt.parse, &o), "the records");
	}
	blk_formats_free(&opt.parse.formats);
	free(opt.in.names);
	return status;
}

static const struct command command_parse = {
	.name = "blk parse",
	.words = "NAME...",
	.what = "print a recording of blktrace as lines and sums",
	.help = "Print what blkparse prints of the recordings NAME.blktrace.CPU of one or more "
		"devices, of one\nfile of records, or of - (stdin):\n"
		"\n"
		"  DEVICE CPU NUMBER SECONDS PID ACTION KIND SECTOR + SECTORS [COMMAND]\n"
		"\n"
		"ACTION is Q queued, G request made, I inserted, M F merged, D issued, C "
		"completed, "
		"R requeued,\nP plugged, U UT unplugged, X split, A remapped, B bounced, m "
		"message.\n"
		"\n"
		"  vestige blk parse sda\n"
		"  vestige blk parse -q -t -f '%T.%t %a %S %n %C\\n' sda sdb\n",
	.flags = (const struct flag *const[]){parse_flags, NULL},
	.run = run_parse,
};

struct times_options {
	struct blk_times_flags times;
	struct inputs in;
	const char *output, *trace;
};

static int take_times_input(const struct parsing *p, void *to, const char *value)
{
	(void)p;
	return add_input(&((struct times_options *)to)->in, value);
}

static int take_second(const struct parsing *p, void *to, const char *value)
{
	struct blk_times_flags *f = &((struct times_options *)to)->times;
	char *end;
	double s;

	if (!take_seconds(value, &end, &s) || *end)
		return options_bad(p, "not a time in seconds, as 0.5", value);
	*(p->flag->letter == 't'   ? &f->from_s
	  : p->flag->letter == 'T' ? &f->to_s
				   : &f->range_s) = s;
	return 0;
}

static const struct flag times_flags[] = {
	{'i', "input", "FILE", "a recording: the same as a word", take_times_input, 0},
	{0, "input-directory", "DIR", "the folder of the recordings", NULL,
	 offsetof(struct times_options, times.folder)},
	{'A', "all-data", NULL, "tables of each process and each device, and a histogram", NULL,
	 offsetof(struct times_options, times.all)},
	{'a', "seek-absolute", NULL, "seeks from the end of a request to the next one", NULL,
	 offsetof(struct times_options, times.absolute)},
	{'d', "range-delta", "SECONDS", "a pause that ends an active stretch (0.1)", take_second,
	 0},
	{'D', "devices", "LIST", "only these devices: MAJ,MIN;MAJ,MIN", NULL,
	 offsetof(struct times_options, times.devices)},
	{'e', "exes", "LIST", "only these processes: NAME,NAME", NULL,
	 offsetof(struct times_options, times.programs)},
	{'t', "time-start", "SECONDS", "only records from then on", take_second, 0},
	{'T', "time-end", "SECONDS", "only records until then", take_second, 0},
	{0, "trace", "FILE",
	 "also the requests by file, system call and function of a program: FILE is its recording "
	 "of the same time",
	 NULL, offsetof(struct times_options, trace)},
	{0, "json", NULL,
	 "all tables as JSON, in seconds and sectors: of all, of each device and each process",
	 NULL, offsetof(struct times_options, times.json)},
	{'o', "output", "OUT", "write the tables to this file", NULL,
	 offsetof(struct times_options, output)},
	FLAGS_END};

static int print_times(struct times_options *opt, struct out *o)
{
	struct blk_program program = {.find = blk_finder_find};
	struct blk_finder *finder = NULL;
	int err = opt->trace ? blk_finder_open(opt->trace, &finder) : 0;

	program.arg = finder;
	opt->times.program = finder ? &program : NULL;
	if (!err)
		err = blk_times(&opt->times, o);
	blk_finder_close(finder);
	return err;
}

static int run_times(const struct command *c, int argc, char **argv)
{
	struct times_options opt = {.times = {.range_s = 0.1}};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);
	struct out o;

	if (status < 0)
		status = begin(c, &opt.in, argc, argv, opt.output, &o);
	if (status < 0) {
		opt.times.names = opt.in.names;
		opt.times.nr_names = (unsigned int)opt.in.nr;
		status = finish(&o, print_times(&opt, &o), "the tables");
	}
	free(opt.in.names);
	return status;
}

static const struct command command_times = {
	.name = "blk times",
	.words = "NAME...",
	.what = "tables of how long block requests take, step by step",
	.help = "Print what btt prints of the recordings NAME.blktrace.CPU or of the file of "
		"`blk parse -d`:\nfrom queue to queue (Q2Q), to the request (Q2G), to the "
		"scheduler "
		"(G2I) or to a merge (Q2M), to\nthe driver (I2D, M2D), to the completion (D2C), "
		"all "
		"of it (Q2C); merges, seeks, plugs, queue depth\nand active periods.\n"
		"\n"
		"  vestige blk times sda\n"
		"  vestige blk times -A -e dd sda sdb\n"
		"  vestige blk times --trace trace.dat sda\n",
	.flags = (const struct flag *const[]){times_flags, NULL},
	.run = run_times,
};

static const struct command *const subs[] = {&command_blk_record, &command_parse, &command_times,
					     NULL};

static const char *sub_name(const void *arg, size_t i)
{
	(void)arg;
	return subs[i] ? subs[i]->name + sizeof("blk") : NULL;
}

static const struct flag no_flags[] = {FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	const char *nearest;
	int none;

	for (size_t i = 0; argc > 1 && subs[i]; i++)
		if (!strcmp(sub_name(NULL, i), argv[1]))
			return subs[i]->run(subs[i], argc - 1, argv + 1);
	if (argc < 2)
		return options_wrong(c, "name a subcommand: record, parse or times");
	if (argv[1][0] == '-') {
		int status = options_parse(c, (void *[]){&none}, &argc, &argv);

		return status >= 0 ? status
				   : options_wrong(c, "name a subcommand: record, parse or times");
	}
	nearest = nearest_name(argv[1], sub_name, NULL);
	return nearest ? options_wrong(c, "there is no %s: did you mean %s?", argv[1], nearest)
		       : options_wrong(
				 c, "no subcommand is named %s: there are record, parse and times",
				 argv[1]);
}

const struct command command_blk = {
	.name = "blk",
	.words = "record|parse|times ...",
	.what = "record, print and sum up block I/O as blktrace does",
	.help = "Block I/O, as blktrace has it:\n"
		"\n"
		"  record  block devices into blktrace's files\n"
		"  parse   lines and sums, as blkparse\n"
		"  times   tables of times from step to step, as btt\n"
		"\n"
		"`vestige blk parse --help` prints the flags of one.\n",
	.flags = (const struct flag *const[]){no_flags, NULL},
	.subs = subs,
	.run = run,
};
