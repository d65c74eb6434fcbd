/* SPDX-License-Identifier: MIT */
/* vestige show: the trace of a process from its area. Tests: tests/cli/test_control.py. */
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/target/render.h"

static const char help[] =
	"usage: vestige show [-P PID] [-B NAME]\n"
	"Print what process PID (default: the only traced one that lives) has recorded, as the\n"
	"kernel's trace file; -B NAME: what its instance NAME has. Nothing is consumed or stopped. "
	"A dead process shows what it left.\n";

static int print(struct target *t, const char *file, struct out *o)
{
	(void)file;
	return render_file(t, "trace", o);
}

int cmd_show(int argc, char **argv)
{
	struct target t;
	struct control_which which;
	int status, err;

	status = control_flags("show", help, NULL, argc, argv, &which);
	if (status >= 0)
		return status;
	if (argc != optind)
		return control_words("show", "it takes no words");
	err = control_open(&t, &which, false);
	if (err)
		return control_end(err);
	err = control_print(&t, print, NULL);
	target_close(&t);
	return control_end(err);
}
