/* SPDX-License-Identifier: MIT */
/* vestige ls: the control files of a traced process. Tests: tests/cli/test_control.py. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "abi/area.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/target/render.h"

static const char help[] =
	"usage: vestige ls [-P PID] [-B NAME]\n"
	"List the control files of process PID (default: the only traced one that lives) and its\n"
	"instances; -B NAME: the files of its instance NAME.\n"
	"`vestige get` and `vestige set` take their "
	"names.\n";

/* Those that have an area: of a dead process too. */
static void list_instances(const struct target *t, struct out *o)
{
	int fd = openat(t->dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = strlen(t->process);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, t->process, n) && e->d_name[n] == AREA_INSTANCE_MARK)
			out_printf(o, "instances/%s\n", e->d_name + n + 1);
	if (d)
		closedir(d);
}

static int print(struct target *t, const char *file, struct out *o)
{
	int err = render_list(t, o);

	(void)file;
	if (!err && !t->instance[0])
		list_instances(t, o);
	return err;
}

int cmd_ls(int argc, char **argv)
{
	struct target t;
	struct control_which which;
	int status, err;

	status = control_flags("ls", help, NULL, argc, argv, &which);
	if (status >= 0)
		return status;
	if (argc != optind)
		return control_words("ls", "it takes no words");
	err = control_open(&t, &which, false);
	if (err)
		return control_end(err);
	err = control_print(&t, print, NULL);
	target_close(&t);
	return control_end(err);
}
