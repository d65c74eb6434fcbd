/* SPDX-License-Identifier: MIT */
/*
 * vestige recover: the spool of a recorder that was killed becomes a trace.dat. The spool stays:
 * whoever wants it gone has seen first what came of it. Tests: tests/cli/test_control.py.
 */
#include <getopt.h>
#include <stdio.h>

#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/export/dat_write.h"

static const char help[] =
	"usage: vestige recover [-o FILE] SPOOL\n"
	"Write a trace.dat of all that SPOOL, left by a `vestige record` that was killed, holds.\n"
	"SPOOL stays.\n"
	"\n"
	"  -o FILE  output (default: trace.dat)\n";

static int recover(const char *spool, const char *output)
{
	const struct dat_options how = {.version = 7, .zstd_level = 1, .native = true};
	struct reader *r;
	int err = reader_open_spool(spool, &r);

	if (err)
		return err;
	err = dat_write(output, r, &how);
	reader_close(r);
	return err;
}

int cmd_recover(int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	const char *output = "trace.dat";
	int c;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":o:h", longs, NULL)) != -1) {
		switch (c) {
		case 'o':
			output = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return control_usage("recover", c, argv);
		}
	}
	if (argc - optind != 1)
		return control_words("recover", "name one spool");
	return control_end(recover(argv[optind], output));
}
