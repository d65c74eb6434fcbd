/* SPDX-License-Identifier: MIT */
/*
 * See sql.h. sql_tables.c has the tables. This file opens SQLite with them, limits what a query may
 * do, and gives its rows. Tests: tests/cli/test_sql.py, against sqlite3 with the rows of `vestige
 * convert --to csv`.
 */
#include "tools/view/sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/base/fail.h"
#include "tools/base/time_ns.h"
#include "tools/view/sql_tables.h"

/*
 * SQLite cannot be stopped within one step of its virtual machine. instr(), replace() and LIKE take
 * time by the product of two texts' lengths: with these limits a step takes at most a second. So
 * the clock is read every few steps; it is the coarse one, which is cheap.
 */
#define STEPS_A_LOOK 40
#define LIMITS_CLOCK CLOCK_MONOTONIC_COARSE
#define MAX_TEXT     (256 << 10)
#define MAX_PATTERN  256

struct sql {
	sqlite3 *db;
	struct sql_data data;
	const struct sql_limits *limits; /* of the query that runs */
	uint64_t ends_ns;
	bool late, denied;
};

/* percentile(X, P), as SQLite's extension has it: P of 0 to 100, linear between two values. */
struct values {
	double *at, p;
	size_t nr, room;
};

static void percentile_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct values *v = sqlite3_aggregate_context(ctx, sizeof(*v));
	bool bad = argc > 1 && sqlite3_value_numeric_type(argv[1]) > SQLITE_FLOAT;
	double p = argc > 1 ? sqlite3_value_double(argv[1]) : 50;

	if (!v || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (bad || !(p >= 0 && p <= 100)) {
		sqlite3_result_error(ctx, "percentile(): not from 0 to 100", -1);
		return;
	}
	if (sqlite3_value_numeric_type(argv[0]) > SQLITE_FLOAT) {
		sqlite3_result_error(ctx, "percentile(), median(): the values are not numbers", -1);
		return;
	}
	v->p = p;
	if (v->nr == v->room) {
		size_t room = v->room ? 2 * v->room : 256;
		double *more = sqlite3_realloc64(v->at, room * sizeof(*more));

		if (!more) {
			sqlite3_result_error_nomem(ctx);
			return;
		}
		v->at = more;
		v->room = room;
	}
	v->at[v->nr++] = sqlite3_value_double(argv[0]);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void percentile_final(sqlite3_context *ctx)
{
	struct values *v = sqlite3_aggregate_context(ctx, 0);
	double at;
	size_t i;

	if (!v || !v->nr)
		return;
	qsort(v->at, v->nr, sizeof(*v->at), by_value);
	at = v->p / 100 * (double)(v->nr - 1);
	i = (size_t)at;
	sqlite3_result_double(ctx, i + 1 < v->nr
					   ? v->at[i] + (at - (double)i) * (v->at[i + 1] - v->at[i])
					   : v->at[i]);
	sqlite3_free(v->at);
}

/* A query may read our tables and call functions that reach nothing outside. */
static int authorize(void *arg, int what, const char *a, const char *b, const char *c,
		     const char *d)
{
	struct sql *s = arg;

	(void)c;
	(void)d;
	if (what == SQLITE_SELECT || what == SQLITE_RECURSIVE)
		return SQLITE_OK;
	if (what == SQLITE_FUNCTION && strcasecmp(b, "load_extension") &&
	    strcasecmp(b, "fts3_tokenizer"))
		return SQLITE_OK;
	if (what == SQLITE_READ) {
		/* "": a subquery */
		if (!*a)
			return SQLITE_OK;
		for (unsigned int i = 0; sql_table_name(i); i++)
			if (!strcasecmp(a, sql_table_name(i)))
				return SQLITE_OK;
		/* names that the query defines itself, by WITH and FROM (SELECT ...) */
		if (strncasecmp(a, "sqlite_", 7) && strncasecmp(a, "pragma_", 7))
			return SQLITE_OK;
	}
	s->denied = true;
	return SQLITE_DENY;
}

static int look_at_limits(void *arg)
{
	struct sql *s = arg;
	const struct sql_limits *l = s->limits;

	if (l->stop && atomic_load_explicit(l->stop, memory_order_relaxed))
		return 1;
	s->late = s->ends_ns && time_ns(LIMITS_CLOCK) >= s->ends_ns;
	return s->late;
}

int sql_open(const struct columns *c, struct sql **out)
{
	struct sql *s;
	int err = sqlite_load();

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	err = SQLITE_NOMEM;
	if (s)
		s->data.c = c;
	if (s)
		err = sqlite3_open_v2(":memory:", &s->db,
				      SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, NULL);
	if (!err)
		err = sqlite3_exec(s->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	if (!err)
		err = sql_tables_add(s->db, &s->data);
	for (int nr = 1; !err && nr <= 2; nr++)
		err = sqlite3_create_function(s->db, nr == 1 ? "median" : "percentile", nr,
					      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
					      NULL, NULL, percentile_step, percentile_final);
	if (err) {
		sql_close(s);
		return fail(ENOMEM, "out of memory");
	}
	sqlite3_hard_heap_limit64(SQL_MAX_HEAP);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, MAX_TEXT);
	sqlite3_limit(s->db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_PATTERN);
	sqlite3_limit(s->db, SQLITE_LIMIT_SQL_LENGTH, MAX_TEXT);
	sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_set_authorizer(s->db, authorize, s);
	sqlite3_progress_handler(s->db, STEPS_A_LOOK, look_at_limits, s);
	*out = s;
	return 0;
}

void sql_close(struct sql *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	sql_tables_free(&s->data);
	free(s);
}

static int failed(struct sql *s, int err)
{
	if (err == SQLITE_TOOBIG)
		return fail(E2BIG, "sql: a text or a blob has more than %d bytes", MAX_TEXT);
	if (err == SQLITE_NOMEM)
		return fail(ENOMEM, "sql: there is not enough memory for this query");
	if (s->late)
		return fail(ETIME, "sql: it took over %u s", s->limits->seconds);
	if (err == SQLITE_INTERRUPT)
		return fail(EINTR, "interrupted");
	if (s->denied)
		return fail(EPERM, "sql: only SELECT of the tables slices, events, states, cpus, "
				   "tracks and functions is allowed");
	return fail(EINVAL, "sql: %s", sqlite3_errmsg(s->db));
}

static int give_head(sqlite3_stmt *st, unsigned int nr,
		     int (*head)(void *arg, const char *const *names, unsigned int nr), void *arg)
{
	const char **names = calloc(nr + 1u, sizeof(*names));
	int ret;

	if (!names)
		return fail(ENOMEM, "out of memory");
	for (unsigned int i = 0; i < nr; i++)
		names[i] = sqlite3_column_name(st, (int)i);
	ret = head(arg, names, nr);
	free(names);
	return ret;
}

static int give_rows(struct sql *s, sqlite3_stmt *st, unsigned int nr,
		     int (*row)(void *arg, const struct sql_cell *cells, unsigned int nr),
		     void *arg, bool *cut)
{
	struct sql_cell *cells = calloc(nr + 1u, sizeof(*cells));
	uint64_t rows = 0;
	int err = cells ? sqlite3_step(st) : SQLITE_NOMEM, ret = 0;

	for (; err == SQLITE_ROW && !ret; err = sqlite3_step(st)) {
		if (s->limits->rows && rows++ == s->limits->rows) {
			*cut = true;
			err = SQLITE_DONE;
			break;
		}
		for (unsigned int i = 0; i < nr; i++) {
			int type = sqlite3_column_type(st, (int)i);
			const char *text = (const char *)sqlite3_column_text(st, (int)i);

			if (type == SQLITE_BLOB)
				ret = fail(EINVAL, "sql: %s is a blob: hex() prints it",
					   sqlite3_column_name(st, (int)i));
			cells[i].text = text ? text : "";
			cells[i].type = type == SQLITE_NULL ? SQL_NULL
					: type == SQLITE_INTEGER || type == SQLITE_FLOAT
						? SQL_NUMBER
						: SQL_TEXT;
		}
		if (!ret)
			ret = row(arg, cells, nr);
	}
	free(cells);
	if (ret)
		return ret;
	return err == SQLITE_DONE ? 0 : failed(s, err);
}

int sql_select(struct sql *s, const char *query, const struct sql_limits *limits,
	       int (*head)(void *arg, const char *const *names, unsigned int nr),
	       int (*row)(void *arg, const struct sql_cell *cells, unsigned int nr), void *arg,
	       bool *cut)
{
	sqlite3_stmt *st = NULL;
	const char *rest;
	unsigned int nr;
	int err, ret;

	*cut = false;
	s->limits = limits;
	s->late = s->denied = false;
	s->ends_ns = limits->seconds
			     ? time_ns(LIMITS_CLOCK) + limits->seconds * UINT64_C(1000000000)
			     : 0;
	err = sqlite3_prepare_v2(s->db, query, -1, &st, &rest);
	if (err)
		return failed(s, err);
	if (!st)
		return fail(EINVAL, "sql: there is no query");
	if (rest[strspn(rest, " \t\r\n;")]) {
		sqlite3_finalize(st);
		return fail(EINVAL, "sql: one query at a time");
	}
	nr = (unsigned int)sqlite3_column_count(st);
	ret = nr ? give_head(st, nr, head, arg) : fail(EPERM, "sql: only SELECT is allowed");
	if (!ret)
		ret = give_rows(s, st, nr, row, arg, cut);
	sqlite3_finalize(st);
	return ret;
}
