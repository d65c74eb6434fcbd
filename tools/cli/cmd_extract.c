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
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	const char *output = "trace.dat";
	struct control_which which = {0};
	int c;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:P:B:o:h", longs, NULL)) != -1) {
		switch (c) {
		case 'P':
			which.pid = control_parse_pid("extract", optarg);
			if (which.pid < 0)
				return CMD_USAGE;
			break;
		case 'B':
			which.instance = optarg;
			break;
		case 'o':
			output = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return control_usage("extract", c, argv);
		}
	}
	if (argc != optind)
		return control_words("extract", "it takes no words");
	return control_end(extract(&which, output));
}
