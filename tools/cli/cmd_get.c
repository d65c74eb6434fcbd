/* SPDX-License-Identifier: MIT */
/*
 * vestige get: read a control file of a traced process, as `cat` in its tracefs.
 * Tests: tests/cli/test_control.py.
 */
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/target/render.h"

static const char help[] =
	"usage: vestige get [-P PID] [-B NAME] FILE\n"
	"Print control file FILE of process PID (default: the only traced one that lives).\n"
	"-B NAME: that of its instance NAME, as instances/NAME/FILE.\n"
	"`vestige ls` lists the files. Of a stopped and of a dead process they read as it left "
	"them.\n";

static int print(struct target *t, const char *file, struct out *o)
{
	return render_any(t, file, o);
}

int cmd_get(int argc, char **argv)
{
	struct target t;
	struct control_which which;
	const char *file;
	int status, err;

	status = control_flags("get", help, NULL, argc, argv, &which);
	if (status >= 0)
		return status;
	if (argc - optind != 1)
		return control_words("get", "name one control file");
	file = argv[optind];
	err = control_open_file(&t, &which, &file);
	if (err)
		return control_end(err);
	err = control_print(&t, print, file);
	target_close(&t);
	return control_end(err);
}
