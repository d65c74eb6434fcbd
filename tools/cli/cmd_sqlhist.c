/* SPDX-License-Identifier: MIT */
/* vestige sqlhist: trace-cmd's (target/sqlhist.c does it). Tests: tests/cli/test_sqlhist.py. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/target/sqlhist.h"

#define MAX_SQL 65536

struct options {
	struct sqlhist how;
	const char *dir, *file;
	bool execute, both;
	/* while it prints: */
	struct target *t;
	const struct control_which *which;
	unsigned int nr; /* writes so far */
};

static const struct flag flags[] = {
	{'n', NULL, "NAME", "name of the synthetic event (default: Anonymous)", NULL,
	 offsetof(struct options, how.name)},
	{'e', NULL, NULL, "do what is printed, too", NULL, offsetof(struct options, execute)},
	{'m', NULL, "VAR", "act when VAR has a new maximum", NULL,
	 offsetof(struct options, how.max)},
	{'c', NULL, "VAR", "act when VAR changes", NULL, offsetof(struct options, how.change)},
	{'s', NULL, NULL, "with -m or -c: a snapshot in place of the event", NULL,
	 offsetof(struct options, how.snapshot)},
	{'T', NULL, NULL, "with -m or -c: a snapshot and the event", NULL,
	 offsetof(struct options, both)},
	{'S', NULL, "FIELDS", "with -m or -c: save these fields of the end event", NULL,
	 offsetof(struct options, how.save)},
	{'f', NULL, "FILE", "read the statement from FILE, - is stdin", NULL,
	 offsetof(struct options, file)},
	{'t', NULL, "DIR", "use the events of DIR, a copy of a tracefs", NULL,
	 offsetof(struct options, dir)},
	FLAGS_END};

/* Synthetic events are of the target as a whole, and so are the histograms that make them. */
static int put(void *arg, const char *path, const char *text)
{
	struct options *o = arg;
	struct target *t = o->t;
	const char *in = o->which->instance;
	bool of_all = o->nr++ || strncmp(path, "events/", 7) != 0;
	const char *dir = o->dir || o->which->kernel ? tracefs_tracing_dir() : NULL;
	int err;

	if (of_all)
		in = NULL;
	printf("echo '%s' >%s %s%s%s%s%s%s\n", text, of_all ? ">" : "", dir ? dir : "",
	       dir ? "/" : "", in ? "instances/" : "", in ? in : "", in ? "/" : "", path);
	if (!o->execute)
		return 0;
	if (in || !o->which->instance)
		return target_write(t, path, text, strlen(text), false);
	err = control_open(
		&t, &(struct control_which){.pid = o->which->pid, .kernel = o->which->kernel},
		false);
	if (err)
		return err;
	err = target_write(t, path, text, strlen(text), false);
	target_put(t);
	return err;
}

/* @sql: room for MAX_SQL. */
static int read_sql(const struct command *c, const struct options *o, int argc, char **argv,
		    char *sql)
{
	size_t n = 0;
	FILE *f;

	if (o->file && argc)
		return options_wrong(c, "-f names the statement: leave out %s", argv[0]);
	for (int i = 0; i < argc && n < MAX_SQL; i++)
		n += (size_t)snprintf(sql + n, MAX_SQL - n, "%s%s", i ? " " : "", argv[i]);
	if (o->file) {
		f = strcmp(o->file, "-") != 0 ? fopen(o->file, "re") : stdin;
		if (!f)
			return cmd_end(fail_errno(errno, "cannot open '%s'", o->file));
		n = fread(sql, 1, MAX_SQL - 1, f);
		sql[n] = '\0';
		if (f != stdin)
			fclose(f);
		if (memchr(sql, '\0', n))
			return options_wrong(c, "%s is no text", o->file);
	}
	if (n >= MAX_SQL - 1)
		return options_wrong(c, "the statement is too long");
	if (!sql[strspn(sql, " \t\n")])
		return options_wrong(c, "say what is wanted: SELECT FIELDS FROM EVENT");
	return -1;
}

static int check(const struct command *c, const struct options *o)
{
	if (o->how.max && o->how.change)
		return options_wrong(c, "-m and -c are one or the other");
	if ((o->how.snapshot || o->both || o->how.save) && !o->how.max && !o->how.change)
		return options_wrong(c, "%s needs -m or -c",
				     o->both	   ? "-T"
				     : o->how.save ? "-S"
						   : "-s");
	if (o->dir && (o->execute || o->which->pid || o->which->kernel))
		return options_wrong(c, "-t is a copy: leave out %s",
				     o->execute		? "-e"
				     : o->which->kernel ? "-k"
							: "-P");
	return -1;
}

static int run(const struct command *c, int argc, char **argv)
{
	static char sql[MAX_SQL];
	struct control_which which = {0};
	struct options o = {.how = {.name = "Anonymous", .sql = sql}, .which = &which};
	int status = options_parse(c, (void *[]){&which, &o}, &argc, &argv), err;

	if (status < 0)
		status = check(c, &o);
	if (status < 0)
		status = read_sql(c, &o, argc, argv, sql);
	if (status >= 0)
		return status;
	if (o.both)
		o.how.snapshot = o.how.trace = true;
	err = o.dir ? 0 : control_open(&o.t, &which, false);
	if (!err)
		err = sqlhist_make(o.t, o.dir, &o.how, put, &o);
	target_put(o.t);
	return cmd_end(err);
}

const struct command command_sqlhist = {
	.name = "sqlhist",
	.words = "[SQL]",
	.what = "make a histogram or a synthetic event from an SQL statement",
	.help = "Print the writes to control files that do what SQL says: `SELECT FIELDS FROM "
		"EVENT`\nmakes a histogram, a JOIN of two events makes a synthetic event. With -e "
		"they are\nalso done. The files of a process are in its folder of `vestige "
		"mount`.\n",
	.flags = (const struct flag *const[]){control_flags, flags, NULL},
	.run = run,
};
