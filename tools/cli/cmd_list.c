/* SPDX-License-Identifier: MIT */
/*
 * vestige list: the functions that can be traced, in the form of available_filter_functions.
 * Of a program and of an area they are the engine's own finding; a trace.dat holds names only.
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
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/code/demangle.h"
#include "tools/reader/reader.h"
#include "tools/record/inspect.h"
#include "tools/record/program_objects.h"
#include "tools/target/names.h"
#include "tools/target/image.h"

/* A mangled name of C++ or Rust is followed by the source's name. */
static void print_name(const char *name, const char *module)
{
	char *source = demangle(name, DEMANGLE_FULL);

	fputs(name, stdout);
	if (module)
		printf(" [%s]", module);
	if (source)
		printf("\t%s", source);
	putchar('\n');
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

static int list_meta(const struct meta *m)
{
	struct names *names = names_new(m);
	struct row *rows = calloc((size_t)m->nr_functions + 1, sizeof(*rows));

	if (!names || !rows) {
		names_free(names);
		free(rows);
		return names ? fail(ENOMEM, "no memory") : -ENOMEM;
	}
	for (uint32_t i = 0; i < m->nr_functions; i++)
		rows[i] = (struct row){m->functions[i].object, m->functions[i].offset};
	qsort(rows, m->nr_functions, sizeof(*rows), by_place);
	for (uint32_t i = 0; i < m->nr_functions; i++) {
		const struct symbol *s = names_find(names, rows[i].object, rows[i].offset);

		if (s)
			print_name(s->name, s->module);
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
 * The process that has the area, if it is where `-P PID` would find it: it may have to look them up
 * first.
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

static int list_area(const char *path)
{
	struct meta *m;
	int err = load_area(path, &m);

	if (!err && ask_process(m)) {
		meta_free(m);
		err = load_area(path, &m);
	}
	if (err)
		return err;
	err = list_meta(m);
	meta_free(m);
	return err;
}

/* All names of code, without those that we made up and the stubs of the PLT. */
static int list_symbols(const char *path)
{
	struct reader *r;
	int err = reader_open(path, &r);

	if (err)
		return err;
	for (size_t i = 0; i < symbols_count(r->symbols); i++) {
		const struct symbol *s = symbols_at(r->symbols, i);
		size_t n = strlen(s->name);

		if (s->addr == SYMBOLS_MARK_ADDR || s->name[0] == '.' || strchr(s->name, ':') ||
		    (n > 4 && !strcmp(s->name + n - 4, "@plt")))
			continue;
		print_name(s->name, s->module);
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

/* As `record` has it: a program without sites is traced as it is. */
static bool is_as_it_is(const char *prog)
{
	struct launch l = {0};

	return !launch_find(&l, prog) && !l.script && !program_has_sites(&l);
}

static int list_program(char **argv, bool unmodified)
{
	struct launch l = {0};
	struct meta *m;
	int err;

	if (unmodified || is_as_it_is(argv[0]))
		l.unmodified = "1";
	err = inspect_program(&l, argv, &m);
	if (err)
		return err;
	if (!m->nr_functions)
		err = fail(ENODATA,
			   "%s has no function that can be traced: build it with "
			   "-fpatchable-function-entry=6",
			   l.image);
	else
		err = list_meta(m);
	meta_free(m);
	return err;
}

/* vestige_absent, or of a dead process vestige_status, whose lines `no tracer NAME: REASON` are wanted. */
struct status {
	char *text;
	size_t bytes;
};

static int keep(void *arg, const char *text, size_t bytes)
{
	struct status *s = arg;
	char *more = realloc(s->text, s->bytes + bytes + 1);

	if (!more)
		return -ENOMEM;
	memcpy(more + s->bytes, text, bytes);
	s->text = more;
	s->bytes += bytes;
	more[s->bytes] = '\0';
	return 0;
}

static void print_absent(char *status, struct out *o)
{
	static const char prefix[] = "no tracer ";
	char *next, *colon;

	for (char *line = strtok_r(status, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		if (strncmp(line, prefix, sizeof(prefix) - 1) != 0)
			continue;
		line += sizeof(prefix) - 1;
		colon = strchr(line, ':');
		if (colon)
			out_printf(o, "%.*s is absent%s\n", (int)(colon - line), line, colon);
	}
}

static int print_tracers(struct target *t, const char *file, struct out *o)
{
	struct status status = {0};
	struct out kept;
	int err = t->ops->print(t, file, o), end;

	if (err)
		return err;
	if (out_init_sink(&kept, keep, &status))
		return fail(ENOMEM, "no memory for vestige_status");
	err = t->ops->print(t, "vestige_absent", &kept);
	if (err)
		err = t->ops->print(t, "vestige_status", &kept);
	end = out_end(&kept);
	if (!err && end)
		err = fail(-end, "cannot read why tracers are absent");
	if (!err && status.text)
		print_absent(status.text, o);
	free(status.text);
	return err;
}

static int print_file(struct target *t, const char *file, struct out *o)
{
	return t->ops->print(t, file, o);
}

static int list_tracers(const struct control_which *which)
{
	struct target *t;
	int err = control_open(&t, which, false);

	if (err)
		return err;
	err = control_print(t, which->kernel ? print_file : print_tracers, "available_tracers");
	target_put(t);
	return err;
}

struct options {
	bool functions, tracers, unmodified;
};

static const struct flag flags[] = {
	{'f', NULL, NULL, "functions of a program or a file", NULL,
	 offsetof(struct options, functions)},
	{'t', NULL, NULL, "tracers of a process (-P, -B), and why others are absent", NULL,
	 offsetof(struct options, tracers)},
	{0, "unmodified", NULL, "functions that were built without any flag, too", NULL,
	 offsetof(struct options, unmodified)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	char file[] = "trace.dat", *none[] = {file, NULL};
	struct options opt = {0};
	struct control_which which = {0};
	int status = options_parse(c, (void *[]){&opt, &which}, &argc, &argv), err;

	if (status >= 0)
		return status;
	if (opt.functions == opt.tracers)
		return options_wrong(c, "say what to list: -f functions, or -t tracers");
	if (opt.tracers)
		return argc ? options_wrong(c, "-t is about a process: -P PID")
			    : control_end(list_tracers(&which));
	if (which.pid || which.instance || which.kernel)
		return options_wrong(c, "-P, -B and -k go with -t");
	if (!argc)
		argv = none;
	switch (kind_of(argv[0])) {
	case AREA:
		err = list_area(argv[0]);
		break;
	case RECORDING:
		err = list_symbols(argv[0]);
		break;
	case NO_FILE:
		if (!argc) {
			err = fail(ENOENT, "no trace.dat is here: name a program or a file");
			break;
		}
		/* fall through */
	default:
		err = list_program(argv, opt.unmodified);
		break;
	}
	if (!err)
		return 0;
	note("%s", fail_text());
	return CMD_FAILURE;
}

const struct command command_list = {
	.name = "list",
	.words = "[PROG [ARGS] | FILE]",
	.what = "list the functions that can be traced, or the tracers",
	.help = "With -f: list the functions that can be traced, as `name` or `name [object]`. A "
		"mangled "
		"name of\nC++ or Rust is followed by a tab and the name in the source.\n",
	.more = "PROG is started with the engine and ended before its main(). FILE is an area, or "
		"a\ntrace.dat (default: trace.dat). A trace.dat does not know which functions can "
		"be\ntraced: all are listed.\n",
	.flags = (const struct flag *const[]){flags, control_flags, NULL},
	.runs_program = true,
	.run = run,
};
