/* SPDX-License-Identifier: MIT */
/*
 * vestige extract: a trace.dat of what is in a process's ring, while it runs on.
 * Tests: tests/cli/test_control.py.
 */
#include <stdio.h>

#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/export/dat_write.h"

static const char help[] =
	"usage: vestige extract [-P PID] [-B NAME] [-o FILE]\n"
	"Write what process PID (default: the only traced one that lives) has recorded into a\n"
	"trace.dat. The process is not stopped, its buffer not emptied; a dead one left its area.\n"
	"\n"
	"  -B NAME  what its instance NAME has recorded\n"
	"  -o FILE  output (default: trace.dat)\n";

static int extract(const struct control_which *which, const char *output)
{
	const struct dat_options how = {.version = 7, .zstd_level = 1};
	struct target t;
	struct reader *r;
	int err = control_open(&t, which, false);

	if (err)
		return err;
	err = reader_open_area(t.path, &r);
	if (!err) {
		err = dat_write(output, r, &how);
		reader_close(r);
	}
	target_close(&t);
	return err;
}

int cmd_extract(int argc, char **argv)
{
	const char *output = "trace.dat";
	const struct control_flag flags[] = {{'o', NULL, NULL, &output}, {0}};
	struct control_which which;
	int status;

	status = control_flags("extract", help, flags, argc, argv, &which);
	if (status >= 0)
		return status;
	if (argc != optind)
		return control_words("extract", "it takes no words");
	return control_end(extract(&which, output));
}
