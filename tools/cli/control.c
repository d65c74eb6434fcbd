/* SPDX-License-Identifier: MIT */
/* See control.h. Tests: tests/cli/test_control.py. */
#include "tools/cli/control.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/area.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"

int control_parse_pid(const char *command, const char *text)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (!errno && *text >= '0' && *text <= '9' && !*end && n > 0 && n <= INT_MAX)
		return (int)n;
	note("%s: -P: not a process id: %s (vestige %s --help tells the flags)", command, text,
	     command);
	return -1;
}

int control_usage(const char *command, int c, char **argv)
{
	note("%s: %s: %s (vestige %s --help tells the flags)", command,
	     c == ':' ? "it wants a value" : "no such flag", argv[optind - 1], command);
	return CMD_USAGE;
}

int control_words(const char *command, const char *what)
{
	note("%s: %s (vestige %s --help tells more)", command, what, command);
	return CMD_USAGE;
}

int control_end(int err)
{
	if (!err)
		return 0;
	note("%s", fail_text());
	return CMD_FAILURE;
}

int control_print(struct target *t, int (*print)(struct target *t, const char *file, struct out *o),
		  const char *file)
{
	struct out o;
	int err, end;

	fflush(stdout);
	if (out_init(&o, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	err = print(t, file, &o);
	end = out_end(&o);
	if (!err && end && end != -EPIPE)
		err = fail_errno(-end, "cannot write to stdout");
	return err;
}

static int open_instance(struct target *t, const char *name, bool make)
{
	struct target top = *t;
	int err = target_open_instance(&top, name, t);

	if (err == -ENOENT && make) {
		err = target_mkdir(&top, name);
		if (!err)
			err = target_open_instance(&top, name, t);
	}
	target_close(&top);
	return err;
}

int control_open(struct target *t, const struct control_which *w, bool make)
{
	int err = target_open(t, w->pid);

	return err || !w->instance ? err : open_instance(t, w->instance, make);
}

int control_open_file(struct target *t, const struct control_which *w, const char **file)
{
	static const char prefix[] = "instances/";
	char name[AREA_INSTANCE_BYTES];
	const char *end;
	int err;

	if (w->instance || strncmp(*file, prefix, sizeof(prefix) - 1))
		return control_open(t, w, false);
	end = strchr(*file + sizeof(prefix) - 1, '/');
	if (!end || end - (*file + sizeof(prefix) - 1) >= (ptrdiff_t)sizeof(name))
		return fail_errno(ENOENT, "%s", *file);
	snprintf(name, sizeof(name), "%.*s", (int)(end - (*file + sizeof(prefix) - 1)),
		 *file + sizeof(prefix) - 1);
	err = control_open(t, w, false);
	if (!err)
		err = open_instance(t, name, false);
	*file = end + 1;
	return err;
}

/* What getopt_long() wants to know. */
struct parsing {
	struct option longs[CONTROL_MAX_FLAGS + 2];
	char letters[8 + 2 * CONTROL_MAX_FLAGS];
};

static struct parsing parsing_of(const struct control_flag *flags)
{
	struct parsing p = {.longs = {{"help", no_argument, NULL, 'h'}}, .letters = "+:P:B:h"};
	size_t n = strlen(p.letters);
	int nr = 1;

	for (; flags && flags->letter; flags++) {
		p.letters[n++] = flags->letter;
		if (flags->value)
			p.letters[n++] = ':';
		if (flags->name)
			p.longs[nr++] = (struct option){
				flags->name, flags->value ? required_argument : no_argument, NULL,
				flags->letter};
	}
	return p;
}

static bool take_flag(const struct control_flag *flags, int c)
{
	for (; flags && flags->letter; flags++) {
		if (flags->letter != c)
			continue;
		if (flags->value)
			*flags->value = optarg;
		else
			*flags->on = true;
		return true;
	}
	return false;
}

int control_flags(const char *command, const char *help, const struct control_flag *flags, int argc,
		  char **argv, struct control_which *w)
{
	const struct parsing p = parsing_of(flags);
	int c;

	*w = (struct control_which){0};
	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, p.letters, p.longs, NULL)) != -1) {
		switch (c) {
		case 'P':
			w->pid = control_parse_pid(command, optarg);
			if (w->pid < 0)
				return CMD_USAGE;
			break;
		case 'B':
			w->instance = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			if (!take_flag(flags, c))
				return control_usage(command, c, argv);
		}
	}
	return -1;
}
