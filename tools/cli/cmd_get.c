/* SPDX-License-Identifier: MIT */
/*
 * vestige get: read a control file of a traced process, as `cat` in its tracefs.
 * Tests: tests/cli/test_control.py.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/target/render.h"

static const char help[] =
	"usage: vestige get [-P PID] FILE\n"
	"Print control file FILE of process PID (default: the only traced one that lives).\n"
	"`vestige ls` lists the files. Those that show records and lists of functions can be read\n"
	"of a stopped and of a dead process too.\n";

int cmd_get(int argc, char **argv)
{
	struct target t;
	size_t bytes;
	char *text;
	int pid, status, err;

	status = control_simple("get", help, argc, argv, &pid);
	if (status >= 0)
		return status;
	if (argc - optind != 1)
		return control_words("get", "name one control file");
	err = target_open(&t, pid);
	if (err)
		return control_end(err);
	err = render_file(&t, argv[optind]);
	if (err == -EOPNOTSUPP) {
		err = target_read(&t, argv[optind], &text, &bytes);
		if (!err) {
			fwrite(text, 1, bytes, stdout);
			free(text);
		}
	}
	target_close(&t);
	return control_end(err);
}
