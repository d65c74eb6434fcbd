/* SPDX-License-Identifier: MIT */
/* Shared by all commands: see cmd.h. Tests: tests/cli/test_main.py. */
#include "tools/cli/cmd.h"

#include "tools/base/fail.h"
#include "tools/base/note.h"

int cmd_end(int err)
{
	if (!err)
		return 0;
	note("%s", fail_text());
	return CMD_FAILURE;
}

int cmd_take_file(const struct command *c, int argc, char **argv, const char **path)
{
	int most = *path ? 0 : 1;

	if (argc > most)
		return options_wrong(c, "one file at a time; one more is %s", argv[most]);
	if (argc)
		*path = argv[0];
	else if (!*path)
		*path = "trace.dat";
	return -1;
}
