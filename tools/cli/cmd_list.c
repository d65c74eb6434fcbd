/* SPDX-License-Identifier: MIT */
/*
 * vestige list: the functions that can be traced, in the form of available_filter_functions. For a
 * program or an area they come from the engine's scan; a trace.dat has only the names.
 * Tests: tests/cli/test_doctor.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/area/area.h"
#include "tools/area/pages.h"
#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/cli/list_target.h"
#include "tools/cli/pager.h"
#include "tools/code/demangle.h"
#include "tools/reader/reader.h"
#include "tools/record/inspect.h"
#include "tools/target/names.h"
#include "tools/target/image.h"
#include "tools/text/json.h"

/* The rows of a list: lines, or an array. */
struct list {
	struct out o;
	bool json, any;
};

/* A mangled name of C++ or Rust is followed by the source's name. */
static void print_name(struct list *l, const char *name, const char *module)
{
	char *source = demangle(name, DEMANGLE_FULL);

	if (l->json) {
		out_text(&l->o, l->any ? ",\n{\"name\": " : "[{\"name\": ");
		json_put(&l->o, name);
		out_text(&l->o, ", \"module\": ");
		json_put(&l->o, module);
		out_text(&l->o, ", \"source\": ");
		json_put(&l->o, source);
		out_text(&l->o, "}");
		l->any = true;
		free(source);
		return;
	}
	out_text(&l->o, name);
	if (module)
		out_printf(&l->o, " [%s]", module);
	if (source)
		out_printf(&l->o, "\t%s", source);
	out_text(&l->o, "\n");
	free(source);
}

struct row {
	uint32_t object, offset;
};

static int by_place(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int list_meta(struct list *l, const struct meta *m)
{
	struct names *names = names_new(m);
	struct row *rows = calloc((size_t)m->nr_functions + 1, sizeof(*rows));

	if (!names || !rows) {
		names_free(names);
		free(rows);
		return names ? fail(ENOMEM, "out of memory") : -ENOMEM;
	}
	for (uint32_t i = 0; i < m->nr_functions; i++)
		rows[i] = (struct row){m->functions[i].object, m->functions[i].offset};
	qsort(rows, m->nr_functions, sizeof(*rows), by_place);
	for (uint32_t i = 0; i < m->nr_functions; i++) {
		const struct symbol *s = names_find(names, rows[i].object, rows[i].offset);

		if (s)
			print_name(l, s->name, s->module);
	}
	free(rows);
	names_free(names);
	return 0;
}

static int load_area(const char *path, struct meta **out)
{
	uint64_t bytes;
	int fd, err;

	fd = area_open(AT_FDCWD, path, O_RDONLY, &bytes);
	if (fd < 0)
		return fd;
	err = meta_load(fd, 0, bytes, path, out);
	close(fd);
	return err;
}

/*
 * Ask the process of the area, if `-P PID` finds it, to look for its functions, which it may not
 * have done yet.
 */
static bool ask_process(const struct meta *m)
{
	struct image t;
	bool did;

	if (!meta_waits(m) || image_open(&t, m->head.pid))
		return false;
	did = t.start == m->head.start_time && image_functions(&t, m);
	image_close(&t);
	return did;
}

static int list_area(struct list *l, const char *path)
{
	struct meta *m;
	int err = load_area(path, &m);

	if (!err && ask_process(m)) {
		meta_free(m);
		err = load_area(path, &m);
	}
	if (err)
		return err;
	err = list_meta(l, m);
	meta_free(m);
	return err;
}

/*
 * Functions that are never traced: the engine's, the vdso's, PLT stubs, and names of ours.
 */
static bool is_never_traced(const struct symbol *s)
{
	size_t n = strlen(s->name);

	if (s->module && (!strcmp(s->module, "libvestige.so") || !strcmp(s->module, "[vdso]")))
		return true;
	return s->addr == SYMBOLS_MARK_ADDR || s->name[0] == '.' || strchr(s->name, ':') ||
	       (n > 4 && !strcmp(s->name + n - 4, "@plt"));
}

/* All names of code: first the program's (or the kernel's), then its objects' names. */
static int list_symbols(struct list *l, const char *path)
{
	struct reader *r;
	int err = reader_open(path, &r);

	if (err)
		return err;
	for (int in_objects = 0; in_objects < 2; in_objects++)
		for (size_t i = 0; i < symbols_count(r->symbols); i++) {
			const struct symbol *s = symbols_at(r->symbols, i);

			if ((s->module != NULL) == in_objects && !is_never_traced(s))
				print_name(l, s->name, s->module);
		}
	reader_close(r);
	return 0;
}

enum file_kind { NO_FILE, PROGRAM, AREA, RECORDING };

static enum file_kind kind_of(const char *path)
{
	const struct reader_format *format;
	unsigned char head[16] = {0};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return NO_FILE;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || pread(fd, head, sizeof(head), 0) < 4) {
		close(fd);
		return NO_FILE;
	}
	close(fd);
	format = reader_format_of(head);
	if (!format)
		return PROGRAM;
	return format == &reader_format_area ? AREA : RECORDING;
}

static int list_program(struct list *list, char **argv, bool unmodified)
{
	struct launch l = {0};
	struct meta *m;
	int err = inspect_recorded(&l, argv, unmodified, &m);

	if (err)
		return err;
	if (!m->nr_functions)
		err = fail(ENODATA,
			   "%s has no function that can be traced: build it with "
			   "-fpatchable-function-entry=6",
			   l.image);
	else
		err = list_meta(list, m);
	meta_free(m);
	return err;
}

struct options {
	struct list_target of;
	bool unmodified, json;
};

static int take_pid(const struct parsing *p, void *to, const char *value)
{
	return control_take_pid(p, &((struct control_which *)to)->pid, value);
}

static const struct flag which_flags[] = {
	{'P', NULL, "PID", "of this process; default: the only traced one that lives", take_pid, 0},
	{'k', NULL, NULL, "of the kernel of this machine", NULL,
	 offsetof(struct control_which, kernel)},
	{0, "instance", "NAME", "of its instance NAME", NULL,
	 offsetof(struct control_which, instance)},
	FLAGS_END};

static const struct flag flags[] = {
	{'f', NULL, NULL,
	 "functions of a program or a file; with -P or -k available_filter_functions, those that "
	 "match a regular "
	 "expression behind it",
	 NULL, offsetof(struct options, of.functions)},
	{'t', NULL, NULL, "tracers, and why others are absent", NULL,
	 offsetof(struct options, of.tracers)},
	{'p', NULL, NULL, "the same", NULL, offsetof(struct options, of.tracers)},
	{'e', NULL, NULL,
	 "events; behind it may be a regular expression for SYSTEM:NAME, SYSTEM or NAME", NULL,
	 offsetof(struct options, of.events)},
	{'F', NULL, NULL, "with -e: their fields", NULL, offsetof(struct options, of.fields)},
	{0, "full", NULL, "with -F: the print fmt, too", NULL, offsetof(struct options, of.full)},
	{'l', NULL, NULL, "with -e: their filters", NULL, offsetof(struct options, of.filters)},
	{'R', NULL, NULL, "with -e: their triggers", NULL, offsetof(struct options, of.triggers)},
	{'s', NULL, NULL, "systems of events", NULL, offsetof(struct options, of.systems)},
	{'o', NULL, NULL, "options of trace_options", NULL, offsetof(struct options, of.options)},
	{'C', NULL, NULL, "clocks; the one in brackets is used", NULL,
	 offsetof(struct options, of.clocks)},
	{'B', NULL, NULL, "instances", NULL, offsetof(struct options, of.instances)},
	{'O', NULL, NULL, "what report -O takes", NULL,
	 offsetof(struct options, of.plugin_options)},
	{0, "plugins", NULL, "the plug-ins of libtraceevent that report loads", NULL,
	 offsetof(struct options, of.plugins)},
	{'c', NULL, NULL, "how a trace.dat may be compressed", NULL,
	 offsetof(struct options, of.compression)},
	{0, "unmodified", NULL, "-f PROG: functions that were built without any flag, too", NULL,
	 offsetof(struct options, unmodified)},
	{0, "json", NULL, "as JSON", NULL, offsetof(struct options, json)},
	FLAGS_END};

static int put_functions(struct list *l, const struct options *opt, char **argv)
{
	char file[] = "trace.dat", *none[] = {file, NULL};
	bool named = argv[0];

	if (!named)
		argv = none;
	switch (kind_of(argv[0])) {
	case AREA:
		return list_area(l, argv[0]);
	case RECORDING:
		return list_symbols(l, argv[0]);
	case NO_FILE:
		if (!named)
			return fail(ENOENT, "no trace.dat is here: name a program or a file");
		/* fall through */
	default:
		return list_program(l, argv, opt->unmodified);
	}
}

static int list_functions(const struct options *opt, char **argv)
{
	struct list l = {.json = opt->json};
	int err = out_init(&l.o, STDOUT_FILENO);

	if (err)
		return fail(-err, "out of memory for the output");
	err = put_functions(&l, opt, argv);
	if (!err && l.json)
		out_text(&l.o, l.any ? "]\n" : "[]\n");
	return out_end_stdout(&l.o, err, "the functions");
}

/* These flags list events, with -e and without it. */
static bool is_about_events(const struct list_target *l)
{
	return l->fields || l->full || l->filters || l->triggers;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {0};
	struct control_which which = {0};
	void *to[] = {&opt, &which};
	int status = options_parse(c, to, &argc, &argv);
	bool of_target = which.pid || which.kernel || which.instance, of_events;

	/* the word behind -e is its regular expression; flags may follow it */
	while (status < 0 && argc && !opt.of.regex &&
	       (opt.of.events || is_about_events(&opt.of) || (opt.of.functions && of_target))) {
		opt.of.regex = argv[0];
		status = options_parse(c, to, &argc, &argv);
		of_target = which.pid || which.kernel || which.instance;
	}
	if (status >= 0)
		return status;
	of_events = is_about_events(&opt.of);
	if (of_events && opt.of.functions)
		return options_wrong(c, "-F, --full, -l and -R are about events: leave out -f");
	opt.of.events |= of_events;
	if (opt.json &&
	    (of_events || opt.of.plugins || opt.of.plugin_options || opt.of.compression))
		return options_wrong(c, "--json is for lists of names: leave out -F, -l, -R, -O, "
					"--plugins and -c");
	pager_begin();
	if (!list_target_any(&opt.of) && !of_target)
		return options_wrong(c,
				     "say what to list: -f functions, -t tracers, -e events ...");
	if (!list_target_any(&opt.of))
		opt.of = (struct list_target){
			.systems = true, .events = true, .tracers = true, .options = true};
	opt.of.json = opt.json;
	if (opt.of.functions && !of_target)
		return cmd_end(list_functions(&opt, argv));
	if (argc)
		return options_wrong(c, "this is about a process (-P PID) or the kernel (-k): %s",
				     argv[0]);
	return cmd_end(list_target(&which, &opt.of));
}

const struct command command_list = {
	.name = "list",
	.words = "[REGEX | PROG [ARGS] | FILE]",
	.what = "list functions, events, tracers and options that there are",
	.help = "List what a process has, or with -k the kernel. Without -P and -k, -f lists the "
		"functions of\nPROG or FILE that can be traced, as `name` or `name [object]`. A "
		"mangled name of "
		"C++ or\nRust is followed by a tab and the name in the source.\n",
	.more = "PROG is started with the engine and ended before its main(). FILE is an area, or "
		"a\ntrace.dat (default: trace.dat). A trace.dat does not know which functions can "
		"be\ntraced: all are listed, the program's first.\n",
	.flags = (const struct flag *const[]){flags, which_flags, pager_flags, NULL},
	.runs_program = true,
	.run = run,
};
