/* SPDX-License-Identifier: MIT */
/* `vestige sql`: queries to a recording. Tests: tests/cli/test_sql.py. */
#include "tools/cli/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/view_flags.h"
#include "tools/record/progress.h"
#include "tools/text/json.h"
#include "tools/view/sql.h"

#define WIDTH_ROWS 200u /* the width of columns is found from these first rows */
#define MAX_WIDTH  60u

struct options {
	bool json, csv, tables;
	unsigned long long rows, seconds;
};

static int take_rows(const struct parsing *p, void *to, const char *value)
{
	return options_take_number(p, value, 1, UINT64_MAX, "not a number of rows",
				   &((struct options *)to)->rows);
}

static int take_seconds(const struct parsing *p, void *to, const char *value)
{
	return options_take_number(p, value, 1, UINT32_MAX, "not a number of seconds",
				   &((struct options *)to)->seconds);
}

static const struct flag flags[] = {
	{0, "csv", NULL, "print rows as CSV", NULL, offsetof(struct options, csv)},
	{0, "json", NULL, "print an array of objects", NULL, offsetof(struct options, json)},
	{0, "max-rows", "ROWS", "end after this number of rows", take_rows, 0},
	{0, "max-time", "SECONDS", "end a query that takes longer", take_seconds, 0},
	{0, "tables", NULL, "print the tables and their columns, and end", NULL,
	 offsetof(struct options, tables)},
	FLAGS_END};

/* A result that is being printed. */
struct answer {
	const struct options *opt;
	struct out o;
	char **names; /* of its columns; NULL before the head */
	unsigned int nr;
	unsigned int *widths;
	char **cells; /* of the first rows of a table, until the widths are known; `nr` a row */
	bool *numbers;
	size_t nr_cells, room_cells, room_numbers;
	uint64_t rows;
};

static void put_padded(struct out *o, const char *text, unsigned int width, bool right, bool last)
{
	unsigned int n = (unsigned int)strlen(text), pad = n < width ? width - n : 0;

	if (right)
		out_printf(o, "%*s", (int)pad, "");
	out_safe(o, text, n);
	if (!right && !last)
		out_printf(o, "%*s", (int)pad, "");
	out_text(o, last ? "\n" : "  ");
}

static void put_csv_cell(struct out *o, const char *text, bool last)
{
	if (strpbrk(text, ",\"\r\n")) {
		out_text(o, "\"");
		for (; *text; text++)
			out_write(o, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
		out_text(o, "\"");
	} else {
		out_text(o, text);
	}
	out_text(o, last ? "\n" : ",");
}

/* The rows that were kept, now that the widths are known. */
static void put_kept(struct answer *a)
{
	for (unsigned int i = 0; a->rows && i < a->nr; i++)
		put_padded(&a->o, a->names[i], a->widths[i], a->numbers[i], i + 1 == a->nr);
	for (size_t i = 0; i < a->nr_cells; i++) {
		unsigned int column = (unsigned int)(i % a->nr);

		put_padded(&a->o, a->cells[i], a->widths[column], a->numbers[i],
			   column + 1 == a->nr);
		free(a->cells[i]);
	}
	a->nr_cells = 0;
}

static int head(void *arg, const char *const *names, unsigned int nr)
{
	struct answer *a = arg;

	a->nr = nr;
	a->names = calloc(nr, sizeof(*a->names));
	a->widths = calloc(nr, sizeof(*a->widths));
	if (!a->names || !a->widths)
		return fail(ENOMEM, "out of memory");
	for (unsigned int i = 0; i < nr; i++) {
		a->names[i] = strdup(names[i]);
		if (!a->names[i])
			return fail(ENOMEM, "out of memory");
		a->widths[i] = (unsigned int)strlen(names[i]);
	}
	return 0;
}

/* With the first row, or at the end: an error before that leaves the output empty. */
static void put_begin(struct answer *a)
{
	for (unsigned int i = 0; a->opt->csv && i < a->nr; i++)
		put_csv_cell(&a->o, a->names[i], i + 1 == a->nr);
	if (a->opt->json)
		out_text(&a->o, "[");
}

static void put_json_row(struct answer *a, const struct sql_cell *cells)
{
	out_text(&a->o, a->rows ? ",\n{" : "\n{");
	for (unsigned int i = 0; i < a->nr; i++) {
		out_text(&a->o, i ? "," : "");
		json_put(&a->o, a->names[i]);
		out_text(&a->o, ":");
		if (cells[i].type == SQL_NUMBER && strpbrk(cells[i].text, "0123456789"))
			out_text(&a->o, cells[i].text);
		else
			json_put(&a->o, cells[i].type == SQL_TEXT ? cells[i].text : NULL);
	}
	out_text(&a->o, "}");
}

static int keep_row(struct answer *a, const struct sql_cell *cells)
{
	for (unsigned int i = 0; i < a->nr; i++) {
		unsigned int width = (unsigned int)strlen(cells[i].text);

		if (ARRAY_ROOM(a->cells, a->nr_cells, a->room_cells, 256) ||
		    ARRAY_ROOM(a->numbers, a->nr_cells, a->room_numbers, 256))
			return fail(ENOMEM, "out of memory");
		a->cells[a->nr_cells] = strdup(cells[i].text);
		if (!a->cells[a->nr_cells])
			return fail(ENOMEM, "out of memory");
		a->numbers[a->nr_cells++] = cells[i].type == SQL_NUMBER;
		width = width < MAX_WIDTH ? width : MAX_WIDTH;
		a->widths[i] = width > a->widths[i] ? width : a->widths[i];
	}
	return 0;
}

static int row(void *arg, const struct sql_cell *cells, unsigned int nr)
{
	struct answer *a = arg;
	int ret = 0;

	if (!a->rows)
		put_begin(a);
	if (a->opt->json) {
		put_json_row(a, cells);
	} else if (a->opt->csv) {
		for (unsigned int i = 0; i < nr; i++)
			put_csv_cell(&a->o, cells[i].text, i + 1 == nr);
	} else if (a->rows < WIDTH_ROWS) {
		ret = keep_row(a, cells);
	} else {
		if (a->rows == WIDTH_ROWS)
			put_kept(a);
		for (unsigned int i = 0; i < nr; i++)
			put_padded(&a->o, cells[i].text, a->widths[i], cells[i].type == SQL_NUMBER,
				   i + 1 == nr);
	}
	a->rows++;
	return ret ? ret : a->o.err;
}

static void free_answer(struct answer *a)
{
	for (unsigned int i = 0; a->names && i < a->nr; i++)
		free(a->names[i]);
	for (size_t i = 0; i < a->nr_cells; i++)
		free(a->cells[i]);
	free(a->names);
	free(a->widths);
	free(a->cells);
	free(a->numbers);
}

static int ask(const struct columns *c, const char *query, const struct options *opt,
	       const atomic_bool *stop)
{
	const struct sql_limits limits = {
		.rows = opt->rows, .seconds = (unsigned int)opt->seconds, .stop = stop};
	struct answer a = {.opt = opt};
	struct sql *s = NULL;
	bool cut = false;
	int ret = out_init(&a.o, STDOUT_FILENO) ? fail(ENOMEM, "out of memory") : sql_open(c, &s);

	if (!ret)
		ret = sql_select(s, query, &limits, head, row, &a, &cut);
	if (!ret && !a.rows)
		put_begin(&a);
	if (!ret && opt->json)
		out_text(&a.o, a.rows ? "\n]\n" : "]\n");
	else if (!opt->json && !opt->csv && a.rows <= WIDTH_ROWS && a.o.buf)
		put_kept(&a);
	if (a.o.buf)
		ret = out_end_stdout(&a.o, ret, "the rows");
	if (!ret && cut)
		note("there are more than %llu rows (--max-rows)", opt->rows);
	sql_close(s);
	free_answer(&a);
	return ret;
}

static int print_tables(void)
{
	for (unsigned int i = 0; sql_table_name(i); i++)
		printf("%s(%s)\n", sql_table_name(i), sql_table_text(i));
	puts("percentile(X, P) of P from 0 to 100; median(X). Times are ns of the trace's clock.");
	return fflush(stdout) ? CMD_FAILURE : 0;
}

/* A word that can be no query: an existing file, or a path. */
static bool is_file(const char *word)
{
	return !access(word, F_OK) || (strchr(word, '/') && !strpbrk(word, " \t\n()"));
}

/* The only word is a file: report why it is no recording, or that there is no query. */
static int no_query(const struct command *c, const char *file)
{
	struct reader *r;
	int err = reader_open(file, &r);

	if (err)
		return cmd_end(err);
	reader_close(r);
	return options_wrong(c, "there is no query: vestige sql %s 'SELECT ...'", file);
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {0};
	struct columns *columns = NULL;
	struct progress p;
	struct view v;
	int status, ret;

	view_init(&v);
	status = options_parse(c, (void *[]){&v, &opt}, &argc, &argv);
	if (status >= 0)
		return status;
	if (opt.tables)
		return print_tables();
	if (argc && !v.path && argc > 1) {
		v.path = argv[0];
		argv++;
		argc--;
	}
	if (opt.json && opt.csv)
		return options_wrong(c, "--json and --csv cannot be used together");
	if (argc == 1 && !v.path && is_file(argv[0]))
		return no_query(c, argv[0]);
	if (argc != 1)
		return options_wrong(c, argc ? "one query at a time: put it in quotes"
					     : "there is no query");
	ret = view_open(&v);
	if (!ret) {
		progress_begin(&p, v.path, "Ctrl-C ends this", false);
		progress_view(&p, &v);
		ret = columns_read(&v, NULL, &columns);
		if (!ret)
			ret = ask(columns, argv[0], &opt, &p.stop);
		progress_end(&p);
	}
	ret = cmd_end(ret);
	columns_free(columns);
	view_close(&v);
	return ret;
}

const struct command command_sql = {
	.name = "sql",
	.words = "[FILE] 'SELECT ...'",
	.what = "ask a recording by SQL",
	.help = "Print the result of a SELECT of SQLite about FILE (default: trace.dat). --tables "
		"lists "
		"the "
		"tables:\ncalls, events, states of threads, what CPUs ran, tracks and functions.\n",
	.flags = (const struct flag *const[]){view_flags, flags, NULL},
	.run = run,
};
