/* SPDX-License-Identifier: MIT */
/*
 * vestige ls: the control files of a traced process. Tests: tests/cli/test_control.py,
 * test_json.py.
 */
#include <errno.h>

#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/text/json.h"

struct ls {
	bool json;
};

static int print(struct target *t, const char *file, struct out *o)
{
	(void)file;
	return t->ops->names(t, o);
}

static int list(struct target *t)
{
	return control_print(t, print, NULL);
}

/* A line of the list at a time, in pieces as they come. */
struct lines {
	struct json j;
	char line[4096];
	size_t used;
};

static int put_lines(void *arg, const char *text, size_t bytes)
{
	struct lines *l = arg;

	for (size_t i = 0; i < bytes; i++) {
		if (text[i] != '\n') {
			if (l->used < sizeof(l->line) - 1)
				l->line[l->used++] = text[i];
			continue;
		}
		l->line[l->used] = '\0';
		json_text(&l->j, NULL, l->line);
		l->used = 0;
	}
	return 0;
}

static int print_json(struct target *t, const char *file, struct out *o)
{
	static struct lines l;
	struct out lines;
	int err;

	(void)file;
	l = (struct lines){.j = {.o = o}};
	if (out_init_sink(&lines, put_lines, &l))
		return fail(ENOMEM, "out of memory");
	json_open(&l.j, NULL, '[');
	err = t->ops->names(t, &lines);
	out_end(&lines);
	json_close(&l.j, ']');
	out_text(o, "\n");
	return err;
}

static int list_json(struct target *t)
{
	return control_print(t, print_json, NULL);
}

static const struct flag flags[] = {{0, "json", NULL, "as JSON", NULL, offsetof(struct ls, json)},
				    FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct control_which which = {0};
	struct ls ls = {0};
	struct target *t;
	int err, status = options_parse(c, (void *[]){&which, &ls}, &argc, &argv);

	if (status >= 0)
		return status;
	err = control_open(&t, &which, false);
	if (err)
		return cmd_end(err);
	err = ls.json ? list_json(t) : list(t);
	target_put(t);
	return cmd_end(err);
}

const struct command command_ls = {
	.name = "ls",
	.words = "",
	.what = "list the control files of a process",
	.help = "List the control files of a process, and its instances. `vestige get` and "
		"`vestige set`\n"
		"take their names.\n",
	.flags = (const struct flag *const[]){control_flags, flags, NULL},
	.run = run,
};
