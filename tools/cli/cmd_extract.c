/* SPDX-License-Identifier: MIT */
/*
 * vestige extract: writes a trace.dat of the records in a process's ring, while the process
 * continues, or in the kernel's buffers. Tests: tests/cli/test_extract.py,
 * tests/cli/test_control.py.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/export/dat_write.h"
#include "tools/record/kernel_extract.h"
#include "tools/record/progress.h"

struct extract {
	struct control_buffers buffers;
	const char *output;
	bool native, snapshot, date;
	/* what is extracted, in the file's order */
	unsigned int nr;
	char *names[CONTROL_MAX_BUFFERS + 1]; /* "": the target itself */
	struct reader *readers[CONTROL_MAX_BUFFERS + 1];
};

/* For control_buffers_run(). */
static int take_buffer(struct target *t, const char *name, void *arg)
{
	struct extract *x = arg;
	int err = 0;

	if (x->nr == CONTROL_MAX_BUFFERS + 1)
		return fail(E2BIG, "more than %u buffers: name them with -B", CONTROL_MAX_BUFFERS);
	x->names[x->nr] = strdup(name ? name : "");
	if (!x->names[x->nr])
		return fail(ENOMEM, "out of memory");
	if (!x->buffers.which.kernel)
		err = x->snapshot ? t->ops->snapshot(t, &x->readers[x->nr])
				  : t->ops->records(t, &x->readers[x->nr]);
	x->nr++;
	return err;
}

/* Convert stamps to the time of day (--date). */
static int set_date(const struct extract *x)
{
	struct reader *r = x->readers[0];

	if (!reader_has_date(r))
		return fail(
			EINVAL,
			"--date: the clock %s has no time of day: `vestige set trace_clock mono`, "
			"and record again",
			r->clock);
	reader_move_stamps(r, true, 0);
	return 0;
}

static int extract(const struct extract *x)
{
	const struct exporter *to = x->native ? exporter_find("native") : exporters;
	struct dat_more more[CONTROL_MAX_BUFFERS];
	struct progress p;
	int err = x->date ? set_date(x) : 0;

	if (err)
		return err;
	progress_begin(&p, x->output, "Ctrl-C ends this; the process keeps what it has recorded",
		       false);
	for (unsigned int i = 1; i < x->nr; i++)
		more[i - 1] = (struct dat_more){x->names[i], x->readers[i]};
	p.more = more;
	p.nr_more = x->nr - 1;
	p.name = x->nr > 1 ? x->names[0] : NULL;
	err = progress_write(&p, to, true, x->readers[0]);
	if (progress_end(&p) && err)
		err = fail(EINTR, "interrupted: %s is not written", x->output);
	return err;
}

static int extract_kernel(const struct extract *x)
{
	struct kernel_extract k = {.names = (const char *const *)x->names,
				   .nr = x->nr,
				   .snapshot = x->snapshot,
				   .date = x->date};

	if (!*k.names[0]) {
		k.top = true;
		k.names++;
		k.nr--;
	}
	return kernel_extract(&k, x->output);
}

static int check(const struct command *c, const struct extract *x)
{
	if (x->native && x->buffers.which.kernel)
		return options_wrong(
			c, "--native is of a process, -k writes a trace.dat: leave one of "
			   "them out");
	if (x->native && (x->buffers.all || x->buffers.nr + x->buffers.top > 1))
		return options_wrong(c, "--native holds one buffer: name one with -B");
	if (x->native && x->date)
		return options_wrong(c, "--native has the clock's own stamps: leave out --date");
	return -1;
}

static const struct flag flags[] = {
	{'a', NULL, NULL, "all its instances, not the process itself", NULL,
	 offsetof(struct extract, buffers) + offsetof(struct control_buffers, all)},
	{'t', NULL, NULL, "with -B or -a: the process itself, too", NULL,
	 offsetof(struct extract, buffers) + offsetof(struct control_buffers, top)},
	{'s', NULL, NULL, "the records of the snapshot in place of the buffer's", NULL,
	 offsetof(struct extract, snapshot)},
	{0, "date", NULL, "stamps in the trace.dat are the time of day", NULL,
	 offsetof(struct extract, date)},
	{'o', NULL, "FILE", "output (default: trace.dat)", NULL, offsetof(struct extract, output)},
	{0, "native", NULL,
	 "the output is the native form, which `vestige` alone reads: `vestige convert` makes a "
	 "trace.dat of it",
	 NULL, offsetof(struct extract, native)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	static struct extract x;
	int status;

	x = (struct extract){.output = "trace.dat"};
	status = options_parse(c, (void *[]){&x.buffers, &x}, &argc, &argv);
	if (status < 0)
		status = check(c, &x);
	if (status >= 0)
		return status;
	status = control_buffers_run(&x.buffers, take_buffer, &x);
	if (!status && !x.nr)
		status = cmd_end(fail(ENOENT, "-a: there is no instance"));
	if (!status)
		status = cmd_end(x.buffers.which.kernel ? extract_kernel(&x) : extract(&x));
	for (unsigned int i = 0; i < x.nr; i++) {
		reader_close(x.readers[i]);
		free(x.names[i]);
	}
	return status;
}

const struct command command_extract = {
	.name = "extract",
	.words = "",
	.what = "write what a process has recorded into a trace.dat",
	.help = "Write what a process has recorded into a trace.dat. The process is not stopped "
		"and\nits buffer is not emptied; it may be dead. With -k what the kernel has "
		"recorded, "
		"which is taken\nout of its buffer.\n",
	.flags = (const struct flag *const[]){control_buffers_flags, flags, NULL},
	.run = run,
};
