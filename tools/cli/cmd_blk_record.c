/* SPDX-License-Identifier: MIT */
/* vestige blk record: see tools/blk/blk_record.h. Tests: tests/cli/test_blk_record.py. */
#include <math.h>
#include <stdlib.h>

#include "tools/blk/blk_event.h"
#include "tools/blk/blk_record.h"
#include "tools/cli/cmd.h"
#include "tools/cli/cmd_blk.h"

struct options {
	struct blk_record_flags record;
	unsigned long long kib, buffers;
};

static int take_mask(const struct parsing *p, void *to, const char *value)
{
	return blk_take_mask(p, value, &((struct options *)to)->record.mask);
}

static int take_mask_bits(const struct parsing *p, void *to, const char *value)
{
	return blk_take_mask_bits(p, value, &((struct options *)to)->record.mask);
}

static int take_number(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;
	unsigned long long n;
	int err = options_take_number(p, value, 1, p->flag->letter == 'p' ? 4194304 : 1048576,
				      "not a number in its range", &n);

	if (err)
		return err;
	if (p->flag->letter == 'p')
		opt->record.pid = (uint32_t)n;
	else if (p->flag->letter == 'b')
		opt->kib = n;
	else
		opt->buffers = n;
	return 0;
}

static int take_seconds(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;
	char *end;

	opt->record.seconds = strtod(value, &end);
	if (end == value || *end || !isfinite(opt->record.seconds) || opt->record.seconds <= 0 ||
	    opt->record.seconds > 1e9)
		return options_bad(p, "not a time in seconds, as 30", value);
	return 0;
}

static const struct flag flags[] = {
	{0, "all", NULL, "each block device of the machine", NULL,
	 offsetof(struct options, record.all)},
	{'a', "act-mask", "ACT", "only records of this kind (read, write, issue ...); more add up",
	 take_mask, 0},
	{'A', "set-mask", "HEX", "the same as bits", take_mask_bits, 0},
	{'p', "pid", "PID", "only requests that this process makes", take_number, 0},
	{'b', "buffer-size", "KIB", "size of one buffer (512)", take_number, 0},
	{'n', "num-sub-buffers", "NR", "buffers of each CPU (4)", take_number, 0},
	{'w', "stopwatch", "SECONDS", "end after this time, in place of Ctrl-C", take_seconds, 0},
	{'o', "output", "NAME", "write NAME.blktrace.CPU in place of DEV's name; -: all to stdout",
	 NULL, offsetof(struct options, record.output)},
	{'D', "output-dir", "DIR", "the folder of the files", NULL,
	 offsetof(struct options, record.folder)},
	{0, "stack", NULL, "the kernel's stack of each issue, as a message behind it", NULL,
	 offsetof(struct options, record.stack)},
	{'q', "quiet", NULL, "no sums at the end", NULL, offsetof(struct options, record.quiet)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {.kib = 512, .buffers = 4};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);
	struct blk_record_flags *f = &opt.record;

	if (status >= 0)
		return status;
	if (!argc == !f->all)
		return options_wrong(c, "name devices, or give --all");
	if (f->output && (argc > 1 || f->all) && (f->output[0] != '-' || f->output[1]))
		return options_wrong(c, "-o: of several devices each has its own files");
	f->devices = (const char *const *)argv;
	f->nr_devices = (unsigned int)argc;
	f->buffer_kib = opt.kib * opt.buffers;
	return cmd_end(blk_record(f));
}

const struct command command_blk_record = {
	.name = "blk record",
	.words = "DEV...",
	.what = "record block devices into blktrace's files",
	.help = "Record what happens to requests of block devices, until Ctrl-C, into files "
		"DEV.blktrace.CPU, which\nblkparse, btt and `vestige blk parse` read. It needs "
		"root. "
		"The kernel's blk tracer does the work: its top\nbuffer is cleared, and no "
		"other "
		"tracer may run there. All settings are restored at the end; after a\nSIGKILL by "
		"`vestige clean`.\n"
		"\n"
		"  vestige blk record -w 10 /dev/vda && vestige blk parse vda\n"
		"  vestige blk record -o - /dev/vda | vestige blk parse -\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
