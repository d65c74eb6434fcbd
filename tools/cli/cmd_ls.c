/* SPDX-License-Identifier: MIT */
/* vestige ls: the control files of a traced process. Tests: tests/cli/test_control.py. */
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/target/render.h"

static const char help[] =
	"usage: vestige ls [-P PID]\n"
	"List the control files of process PID (default: the only traced one that lives).\n"
	"`vestige get` and `vestige set` take their "
	"names.\n";

static int print(struct target *t, const char *file, struct out *o)
{
	(void)file;
	return render_list(t, o);
}

int cmd_ls(int argc, char **argv)
{
	struct target t;
	int pid, status, err;

	status = control_simple("ls", help, argc, argv, &pid);
	if (status >= 0)
		return status;
	if (argc != optind)
		return control_words("ls", "it takes no words");
	err = target_open(&t, pid);
	if (err)
		return control_end(err);
	err = control_print(&t, print, NULL);
	target_close(&t);
	return control_end(err);
}
