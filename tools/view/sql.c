/* SPDX-License-Identifier: MIT */
/*
 * See sql.h. Each table is one struct table: how many rows a source of it has, and a cell. The rows
 * of a source are in order of time, so that a range of `start` is found by halving. Tests:
 * tests/cli/test_sql.py, against sqlite3 with the rows of `vestige convert --to csv`.
 */
#include "tools/view/sql.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/base/fail.h"
#include "tools/base/time_ns.h"
#include "tools/view/function_sums.h"

#define STEPS_A_LOOK 20000 /* of SQLite's machine, between two looks at the clock */

/* Where a cursor is: a source (the events; a row of a track), and an entry of it. */
struct place {
	const struct track *track;
	uint32_t row;
	size_t nr;
};

struct table {
	const char *name;
	const char *declared; /* columns, as CREATE TABLE has them */
	/* Tracks of this kind have its rows; TRACK_NR_KINDS: they are in one array. */
	enum track_kind kind;
	int start, tid, name_column; /* columns by which sources and entries are chosen; -1 none */
	size_t (*nr)(const struct sql *s); /* of one array; NULL */
	void (*cell)(const struct sql *s, const struct place *at, int column, sqlite3_context *to);
};

struct sql {
	const struct columns *c;
	sqlite3 *db;
	struct function_sum *sums; /* made when they are first asked for */
	uint32_t *functions;	   /* numbers of the names that have calls */
	size_t nr_functions;
	const struct sql_limits *limits; /* of the question that is answered */
	uint64_t ends_ns;
	bool late, denied;
};

static void put_text(sqlite3_context *to, const char *text)
{
	if (text)
		sqlite3_result_text(to, text, -1, SQLITE_STATIC);
	else
		sqlite3_result_null(to);
}

static void put_number(sqlite3_context *to, uint64_t n)
{
	sqlite3_result_int64(to, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static void put_tgid(sqlite3_context *to, const struct track *t)
{
	if (t->pid)
		sqlite3_result_int(to, t->pid);
	else
		sqlite3_result_null(to);
}

static void slice_cell(const struct sql *s, const struct place *at, int column, sqlite3_context *to)
{
	const struct span_row *row = &at->track->rows[at->row];
	const struct column_name *name = &s->c->names[row->name[at->nr]];

	switch (column) {
	case 0:
		put_number(to, row->start[at->nr]);
		break;
	case 1:
		put_number(to, row->length[at->nr]);
		break;
	case 2:
		put_text(to, name->text);
		break;
	case 3:
		put_text(to, name->object);
		break;
	case 4:
		put_number(to, at->row);
		break;
	case 5:
		sqlite3_result_int(to, at->track->id);
		break;
	case 6:
		put_tgid(to, at->track);
		break;
	default:
		put_number(to, at->track->stack);
	}
}

static size_t nr_events(const struct sql *s)
{
	return s->c->events.nr;
}

static void event_cell(const struct sql *s, const struct place *at, int column, sqlite3_context *to)
{
	const struct column_events *e = &s->c->events;

	switch (column) {
	case 0:
		put_number(to, e->ts[at->nr]);
		break;
	case 1:
		put_number(to, e->cpu[at->nr]);
		break;
	case 2:
		sqlite3_result_int(to, e->tid[at->nr]);
		break;
	case 3:
		put_text(to, s->c->names[e->name[at->nr]].text);
		break;
	default:
		put_text(to, s->c->texts[e->text[at->nr]]);
	}
}

static void state_cell(const struct sql *s, const struct place *at, int column, sqlite3_context *to)
{
	const struct span_row *row = &at->track->rows[at->row];

	switch (column) {
	case 0:
		put_number(to, row->start[at->nr]);
		break;
	case 1:
		put_number(to, row->length[at->nr]);
		break;
	case 2:
		put_text(to, s->c->names[row->name[at->nr]].text);
		break;
	case 3:
		sqlite3_result_int(to, at->track->id);
		break;
	default:
		put_number(to, row->extra[at->nr]);
	}
}

static void cpu_cell(const struct sql *s, const struct place *at, int column, sqlite3_context *to)
{
	const struct span_row *row = &at->track->rows[at->row];

	switch (column) {
	case 0:
		put_number(to, row->start[at->nr]);
		break;
	case 1:
		put_number(to, row->length[at->nr]);
		break;
	case 2:
		sqlite3_result_int(to, at->track->id);
		break;
	case 3:
		put_number(to, row->extra[at->nr]);
		break;
	default:
		put_text(to, s->c->names[row->name[at->nr]].text);
	}
}

static size_t nr_tracks(const struct sql *s)
{
	return s->c->nr_tracks;
}

static void track_cell(const struct sql *s, const struct place *at, int column, sqlite3_context *to)
{
	const struct track *t = &s->c->tracks[at->nr];
	uint64_t spans = 0;

	switch (column) {
	case 0:
		put_text(to, columns_kind_names[t->kind]);
		break;
	case 1:
		sqlite3_result_int(to, t->id);
		break;
	case 2:
		put_tgid(to, t);
		break;
	case 3:
		put_text(to, t->name);
		break;
	case 4:
		put_number(to, t->nr_rows);
		break;
	default:
		for (uint32_t row = 0; row < t->nr_rows; row++)
			spans += t->rows[row].nr;
		put_number(to, spans);
	}
}

static size_t nr_functions(const struct sql *s)
{
	return s->nr_functions;
}

static void function_cell(const struct sql *s, const struct place *at, int column,
			  sqlite3_context *to)
{
	uint32_t name = s->functions[at->nr];
	const struct function_sum *f = &s->sums[name];
	const uint64_t numbers[] = {f->calls, f->total, f->self, f->shortest, f->longest};

	if (column == 0)
		put_text(to, s->c->names[name].text);
	else if (column == 1)
		put_text(to, s->c->names[name].object);
	else
		put_number(to, numbers[column - 2]);
}

static const struct table tables[] = {
	{"slices",
	 "start INTEGER, duration INTEGER, name TEXT, object TEXT, depth INTEGER, tid INTEGER, "
	 "pid INTEGER, stack INTEGER",
	 TRACK_CALLS, 0, 5, 2, NULL, slice_cell},
	{"events", "start INTEGER, cpu INTEGER, tid INTEGER, name TEXT, text TEXT", TRACK_NR_KINDS,
	 0, -1, -1, nr_events, event_cell},
	{"states", "start INTEGER, duration INTEGER, state TEXT, tid INTEGER, cpu INTEGER",
	 TRACK_STATES, 0, 3, 2, NULL, state_cell},
	{"cpus", "start INTEGER, duration INTEGER, cpu INTEGER, tid INTEGER, name TEXT", TRACK_CPU,
	 0, -1, -1, NULL, cpu_cell},
	{"tracks", "kind TEXT, id INTEGER, pid INTEGER, name TEXT, depths INTEGER, spans INTEGER",
	 TRACK_NR_KINDS, -1, -1, -1, nr_tracks, track_cell},
	{"functions",
	 "name TEXT, object TEXT, calls INTEGER, total INTEGER, self INTEGER, shortest INTEGER, "
	 "longest INTEGER",
	 TRACK_NR_KINDS, -1, -1, -1, nr_functions, function_cell},
};

#define NR_TABLES (sizeof(tables) / sizeof(*tables))

const char *sql_table_text(unsigned int i)
{
	return i < NR_TABLES ? tables[i].declared : NULL;
}

const char *sql_table_name(unsigned int i)
{
	return i < NR_TABLES ? tables[i].name : NULL;
}

/* SQLite's view of a table, and of a reading of it. */
struct table_vtab {
	sqlite3_vtab base;
	struct sql *s;
	const struct table *t;
};

struct table_cursor {
	sqlite3_vtab_cursor base;
	size_t track; /* the one that is read, of tracks of the kind */
	struct place at;
	size_t last;   /* of the source: the first entry that is not read */
	int64_t rowid; /* counts what was told */
	int64_t from, to, tid;
	bool has_tid, done;
	const char *name; /* NULL: all */
};

static int connect_table(sqlite3 *db, void *arg, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **err)
{
	struct sql *s = arg;
	struct table_vtab *v;
	char *text;
	size_t i = 0;

	(void)argc;
	(void)err;
	while (strcmp(tables[i].name, argv[0]))
		i++;
	v = sqlite3_malloc(sizeof(*v));
	text = sqlite3_mprintf("CREATE TABLE x(%s)", tables[i].declared);
	if (!v || !text || sqlite3_declare_vtab(db, text)) {
		sqlite3_free(v);
		sqlite3_free(text);
		return SQLITE_NOMEM;
	}
	sqlite3_free(text);
	*v = (struct table_vtab){.s = s, .t = &tables[i]};
	*out = &v->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *v)
{
	sqlite3_free(v);
	return SQLITE_OK;
}

enum chosen_by { BY_FROM = 1, BY_TO = 2, BY_TID = 4, BY_NAME = 8 };

/* Which of the conditions choose where reading begins and ends. SQLite looks at each again. */
static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const struct table *t = ((struct table_vtab *)vtab)->t;
	int by[4] = {-1, -1, -1, -1}, args = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		int column = info->aConstraint[i].iColumn, op = info->aConstraint[i].op;

		if (!info->aConstraint[i].usable || column < 0)
			continue;
		if (column == t->start &&
		    (op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_GT))
			by[0] = i;
		else if (column == t->start &&
			 (op == SQLITE_INDEX_CONSTRAINT_LE || op == SQLITE_INDEX_CONSTRAINT_LT))
			by[1] = i;
		else if (op == SQLITE_INDEX_CONSTRAINT_EQ && column == t->tid)
			by[2] = i;
		else if (op == SQLITE_INDEX_CONSTRAINT_EQ && column == t->name_column &&
			 !strcmp(sqlite3_vtab_collation(info, i), "BINARY"))
			by[3] = i;
	}
	info->estimatedCost = 1e8;
	for (int i = 0; i < 4; i++) {
		if (by[i] < 0)
			continue;
		info->aConstraintUsage[by[i]].argvIndex = ++args;
		info->idxNum |= 1 << i;
		info->estimatedCost /= 10;
	}
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
	struct table_cursor *cur = sqlite3_malloc(sizeof(*cur));

	(void)vtab;
	if (!cur)
		return SQLITE_NOMEM;
	memset(cur, 0, sizeof(*cur));
	*out = &cur->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cur)
{
	sqlite3_free((void *)(uintptr_t)((struct table_cursor *)cur)->name);
	sqlite3_free(cur);
	return SQLITE_OK;
}

/* The part of a source in the cursor's range of time. */
static void enter_row(struct table_cursor *cur, const struct span_row *row)
{
	cur->at.nr = cur->from > 0 ? span_row_begins(row, (uint64_t)cur->from) : 0;
	cur->last = cur->to < 0		   ? 0
		    : cur->to == INT64_MAX ? row->nr
					   : span_row_begins(row, (uint64_t)cur->to + 1);
}

/* The next entry that may fit, from the cursor's place on. */
static void find_entry(struct table_cursor *cur)
{
	const struct table_vtab *v = (struct table_vtab *)cur->base.pVtab;
	const struct columns *c = v->s->c;

	for (;;) {
		const struct track *t = cur->at.track;
		const struct span_row *row = t ? &t->rows[cur->at.row] : NULL;

		while (cur->at.nr < cur->last && row && cur->name &&
		       strcmp(c->names[row->name[cur->at.nr]].text, cur->name))
			cur->at.nr++;
		if (cur->at.nr < cur->last)
			return;
		if (v->t->kind == TRACK_NR_KINDS)
			break;
		if (t && cur->at.row + 1 < t->nr_rows) {
			enter_row(cur, &t->rows[++cur->at.row]);
			continue;
		}
		cur->track += t != NULL;
		while (cur->track < c->nr_tracks &&
		       (c->tracks[cur->track].kind != v->t->kind ||
			!c->tracks[cur->track].nr_rows ||
			(cur->has_tid && c->tracks[cur->track].id != cur->tid)))
			cur->track++;
		if (cur->track == c->nr_tracks)
			break;
		cur->at = (struct place){.track = &c->tracks[cur->track]};
		enter_row(cur, cur->at.track->rows);
	}
	cur->done = true;
}

static int make_functions(struct sql *s)
{
	const struct columns *c = s->c;

	s->functions = calloc(c->nr_names + 1, sizeof(*s->functions));
	if (!s->functions || function_sums(c, NULL, 0, 0, UINT64_MAX, &s->sums)) {
		free(s->functions);
		s->functions = NULL;
		return SQLITE_NOMEM;
	}
	for (uint32_t i = 0; i < c->nr_names; i++)
		if (s->sums[i].calls)
			s->functions[s->nr_functions++] = i;
	return SQLITE_OK;
}

/* A bound of a range that may be no integer. @up: round up. */
static int64_t bound(sqlite3_value *v, bool lower)
{
	double d;

	if (sqlite3_value_type(v) != SQLITE_FLOAT)
		return sqlite3_value_type(v) == SQLITE_INTEGER ? sqlite3_value_int64(v)
		       : lower				       ? 0
							       : INT64_MAX;
	d = sqlite3_value_double(v);
	if (!(d > 0))
		return lower ? 0 : -1;
	return d > 9e18 ? INT64_MAX : (int64_t)d;
}

static int filter(sqlite3_vtab_cursor *base, int by, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct table_cursor *cur = (struct table_cursor *)base;
	const struct table_vtab *v = (struct table_vtab *)base->pVtab;
	int arg = 0;

	(void)text;
	(void)argc;
	sqlite3_free((void *)(uintptr_t)cur->name);
	*cur = (struct table_cursor){.base = cur->base, .to = INT64_MAX};
	if (by & BY_FROM)
		cur->from = bound(argv[arg++], true);
	if (by & BY_TO)
		cur->to = bound(argv[arg++], false);
	if (by & BY_TID && sqlite3_value_type(argv[arg++]) == SQLITE_INTEGER) {
		cur->has_tid = true;
		cur->tid = sqlite3_value_int64(argv[arg - 1]);
	}
	if (by & BY_NAME && sqlite3_value_type(argv[arg]) == SQLITE_TEXT) {
		cur->name = sqlite3_mprintf("%s", sqlite3_value_text(argv[arg]));
		if (!cur->name)
			return SQLITE_NOMEM;
	}
	if (v->t->nr == nr_functions && !v->s->functions && make_functions(v->s))
		return SQLITE_NOMEM;
	if (v->t->nr)
		cur->last = v->t->nr(v->s);
	if (v->t->nr == nr_events) {
		struct span_row row = {.start = v->s->c->events.ts, .nr = v->s->c->events.nr};

		enter_row(cur, &row);
	}
	find_entry(cur);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct table_cursor *cur = (struct table_cursor *)base;

	cur->rowid++;
	cur->at.nr++;
	find_entry(cur);
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct table_cursor *)base)->done;
}

static int column_of(sqlite3_vtab_cursor *base, sqlite3_context *to, int column)
{
	struct table_cursor *cur = (struct table_cursor *)base;
	const struct table_vtab *v = (struct table_vtab *)base->pVtab;

	v->t->cell(v->s, &cur->at, column, to);
	return SQLITE_OK;
}

static int rowid_of(sqlite3_vtab_cursor *base, sqlite3_int64 *to)
{
	*to = ((struct table_cursor *)base)->rowid;
	return SQLITE_OK;
}

static sqlite3_module module = {.xConnect = connect_table,
				.xDisconnect = disconnect_table,
				.xDestroy = disconnect_table,
				.xBestIndex = best_index,
				.xOpen = open_cursor,
				.xClose = close_cursor,
				.xFilter = filter,
				.xNext = next,
				.xEof = at_end,
				.xColumn = column_of,
				.xRowid = rowid_of};

/* percentile(X, P), as SQLite's extension of that name: P of 0 to 100, between two values in line. */
struct values {
	double *at, p;
	size_t nr, room;
};

static void percentile_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct values *v = sqlite3_aggregate_context(ctx, sizeof(*v));
	double p = argc > 1 ? sqlite3_value_double(argv[1]) : 50;

	if (!v || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (!(p >= 0 && p <= 100)) {
		sqlite3_result_error(ctx, "percentile(): not from 0 to 100", -1);
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

/* What a question may do: read our tables, and call functions that reach nothing outside. */
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
		/* "" is a part of the question itself */
		if (!*a)
			return SQLITE_OK;
		for (size_t i = 0; i < NR_TABLES; i++)
			if (!strcasecmp(a, tables[i].name))
				return SQLITE_OK;
		/* its own names: of WITH and of FROM (SELECT ...) */
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
	s->late = s->ends_ns && time_ns(CLOCK_MONOTONIC) >= s->ends_ns;
	return s->late;
}

/* SQLite declares a table when it is first used, which the authorizer would refuse. */
static int add_table(struct sql *s, const struct table *t)
{
	char *text = sqlite3_mprintf("SELECT 1 FROM %s LIMIT 0", t->name);
	int err = text ? sqlite3_create_module(s->db, t->name, &module, s) : SQLITE_NOMEM;

	if (!err)
		err = sqlite3_exec(s->db, text, NULL, NULL, NULL);
	sqlite3_free(text);
	return err;
}

int sql_open(const struct columns *c, struct sql **out)
{
	struct sql *s = calloc(1, sizeof(*s));
	int err = SQLITE_NOMEM;

	if (s)
		s->c = c;
	if (s)
		err = sqlite3_open_v2(":memory:", &s->db,
				      SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, NULL);
	if (!err)
		err = sqlite3_exec(s->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	for (size_t i = 0; !err && i < NR_TABLES; i++)
		err = add_table(s, &tables[i]);
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
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, 64 << 20);
	sqlite3_limit(s->db, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
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
	free(s->functions);
	free(s->sums);
	free(s);
}

static int failed(struct sql *s, int err)
{
	if (err == SQLITE_NOMEM || err == SQLITE_TOOBIG)
		return fail(ENOMEM, "sql: there is not enough memory for this question");
	if (s->late)
		return fail(ETIME, "sql: it took over %u s", s->limits->seconds);
	if (err == SQLITE_INTERRUPT)
		return fail(EINTR, "interrupted");
	if (s->denied)
		return fail(EPERM, "sql: only SELECT of the tables slices, events, states, cpus, "
				   "tracks and functions is allowed");
	return fail(EINVAL, "sql: %s", sqlite3_errmsg(s->db));
}

static int tell_head(sqlite3_stmt *st, unsigned int nr,
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

static int tell_rows(struct sql *s, sqlite3_stmt *st, unsigned int nr,
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

			cells[i].text = text ? text : "";
			cells[i].type = type == SQLITE_NULL ? SQL_NULL
					: type == SQLITE_INTEGER || type == SQLITE_FLOAT
						? SQL_NUMBER
						: SQL_TEXT;
		}
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
			     ? time_ns(CLOCK_MONOTONIC) + limits->seconds * UINT64_C(1000000000)
			     : 0;
	err = sqlite3_prepare_v2(s->db, query, -1, &st, &rest);
	if (err)
		return failed(s, err);
	if (!st)
		return fail(EINVAL, "sql: there is no question");
	if (rest[strspn(rest, " \t\r\n;")]) {
		sqlite3_finalize(st);
		return fail(EINVAL, "sql: one question at a time");
	}
	nr = (unsigned int)sqlite3_column_count(st);
	ret = nr ? tell_head(st, nr, head, arg) : fail(EPERM, "sql: only SELECT is allowed");
	if (!ret)
		ret = tell_rows(s, st, nr, row, arg, cut);
	sqlite3_finalize(st);
	return ret;
}
