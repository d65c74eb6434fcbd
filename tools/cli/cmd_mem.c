/* SPDX-License-Identifier: MIT */
/* `vestige mem`. Tests: tests/cli/test_mem.py. */
#include "tools/cli/cmd.h"
#include "tools/cli/pager.h"

#include "tools/report/mem.h"

struct options {
	const char *path;
	bool json;
};

static const struct flag flags[] = {
	{'i', NULL, "FILE", "the same as FILE", NULL, offsetof(struct options, path)},
	{0, "json", NULL, "the table as JSON", NULL, offsetof(struct options, json)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {0};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (status < 0)
		status = cmd_take_file(c, argc, argv, &opt.path);
	if (status >= 0)
		return status;
	return cmd_end(mem_print(opt.path, opt.json));
}

const struct command command_mem = {
	.name = "mem",
	.words = "[FILE]",
	.what = "print how much memory each function has asked for and got",
	.help = "Print how much memory each function has asked for and got, by the events "
		"kmem:kmalloc "
		"and\nkmem:kfree of FILE (default: trace.dat), of a program or of the kernel. The "
		"function\nthat wastes most is first.\n",
	.flags = (const struct flag *const[]){flags, pager_flags, NULL},
	.run = run,
};
