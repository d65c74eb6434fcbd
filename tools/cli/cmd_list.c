/* SPDX-License-Identifier: MIT */
/*
 * vestige list: the functions that can be traced, in the form of available_filter_functions.
 * Of a program and of an area they are the engine's own finding; a trace.dat holds names only.
 * Tests: tests/cli/test_doctor.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/inspect.h"
#include "tools/target/names.h"
#include "tools/reader/area.h"
#include "tools/reader/pages.h"
#include "tools/reader/reader.h"
#include "tools/reader/spool_format.h"

static const char help[] =
	"usage: vestige list -f [PROG [ARGS] | FILE]\n"
	"List the functions that can be traced, as `name` or `name [object]`.\n"
	"\n"
	"PROG is started with the engine and ended before its main(). FILE is an area, or a\n"
	"trace.dat (default: trace.dat), which holds all names of code and not what can be "
	"traced.\n";

static void print_name(const char *name, const char *module)
{
	if (module)
		printf("%s [%s]\n", name, module);
	else
		puts(name);
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

static int list_area(const char *path)
{
	struct meta *m;
	uint64_t bytes;
	int fd, err;

	fd = area_open(AT_FDCWD, path, O_RDONLY, &bytes);
	if (fd < 0)
		return fd;
	err = meta_load(fd, 0, bytes, path, &m);
	close(fd);
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
	unsigned char head[16] = {0};
	struct stat st;
	uint64_t magic;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return NO_FILE;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || pread(fd, head, sizeof(head), 0) < 4) {
		close(fd);
		return NO_FILE;
	}
	close(fd);
	memcpy(&magic, head, sizeof(magic));
	if (magic == AREA_MAGIC)
		return AREA;
	if (magic == SPOOL_MAGIC || !memcmp(head, "\x17\x08\x44tracing", 10))
		return RECORDING;
	return PROGRAM;
}

static int list_program(char **argv)
{
	struct launch l = {0};
	struct meta *m;
	int err = inspect_program(&l, argv, &m);

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

int cmd_list(int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	char file[] = "trace.dat", *none[] = {file, NULL}, **rest;
	bool functions = false;
	int c, err;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+fh", longs, NULL)) != -1) {
		switch (c) {
		case 'f':
			functions = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			note("list: no such flag: %s (vestige list --help tells the flags)",
			     argv[optind - 1]);
			return CMD_USAGE;
		}
	}
	if (!functions) {
		note("list: say what to list: -f functions (vestige list --help)");
		return CMD_USAGE;
	}
	rest = optind < argc ? argv + optind : none;
	switch (kind_of(rest[0])) {
	case AREA:
		err = list_area(rest[0]);
		break;
	case RECORDING:
		err = list_symbols(rest[0]);
		break;
	case NO_FILE:
		if (rest == none) {
			err = fail(ENOENT, "no trace.dat is here: name a program or a file");
			break;
		}
		/* fall through */
	default:
		err = list_program(rest);
		break;
	}
	if (!err)
		return 0;
	note("%s", fail_text());
	return CMD_FAILURE;
}
