/* SPDX-License-Identifier: MIT */
/* See file_text.h. Tests: tests/engine/tracers/initcall, tests/engine/tracers/sysprof. */
#include "tools/cli/file_text.h"

#include <errno.h>
#include <unistd.h>

#include "tools/base/fail.h"

int file_text_print(const char *path, int (*print)(struct reader *r, struct out *o),
		    const char *what)
{
	struct reader *r;
	struct out o;
	int ret = reader_open(path, &r);

	if (ret)
		return ret;
	if (out_init(&o, STDOUT_FILENO))
		ret = fail(ENOMEM, "out of memory");
	else
		ret = out_end_stdout(&o, print(r, &o), what);
	reader_close(r);
	return ret;
}

int file_text_run(const struct command *c, int argc, char **argv,
		  int (*print)(struct reader *r, struct out *o), const char *what)
{
	int none, status = options_parse(c, (void *[]){&none}, &argc, &argv);
	const char *path = NULL;

	if (status < 0)
		status = cmd_take_file(c, argc, argv, &path);
	return status >= 0 ? status : cmd_end(file_text_print(path, print, what));
}
