/* SPDX-License-Identifier: MIT */
/*
 * See sql_tables.h. Each table is one struct table: the number of rows of a source, and a cell. The
 * rows of a source are in order of time, so a range of `start` is found by binary search. Tests:
 * tests/cli/test_sql.py.
 */
#include "tools/view/sql_tables.h"

#include <stdlib.h>
#include <string.h>

#include "tools/base/spill_array.h"
#include "tools/view/function_sums.h"
#include "tools/view/sql.h"
#include "tools/view/sql_order.h"

#define TRIM_EACH (1 << 20) /* rows, of 24 to 40 bytes each */
/* of a row's number: of its depth, and of its place among the calls of that depth */
#define ROW_BITS 12
#define NR_BITS	 32

struct table {
	const char *name;
	const char *declared; /* columns, as CREATE TABLE has them */
	/* Tracks of this kind have its rows; TRACK_NR_KINDS: the rows are in one array. */
	enum track_kind kind;
	int start, tid, name_column; /* columns that limit what is read; -1: it has none */
	int object_column;	     /* -1 none */
	size_t (*nr)(const struct sql_data *s); /* rows of the array; NULL for tracks */
	void (*cell)(const struct sql_data *s, const struct place *at, int column,
		     sqlite3_context *to);
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

static void slice_cell(const struct sql_data *s, const struct place *at, int column,
		       sqlite3_context *to)
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
	case 7:
		put_number(to, at->track->stack);
		break;
	default:
		put_text(to, at->track->buffer);
	}
}

static size_t nr_events(const struct sql_data *s)
{
	return s->c->events.nr;
}

static void event_cell(const struct sql_data *s, const struct place *at, int column,
		       sqlite3_context *to)
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
	case 4:
		put_text(to, s->c->texts[e->text[at->nr]]);
		break;
	default:
		put_text(to, s->c->tracks[e->track[at->nr]].buffer);
	}
}

static void state_cell(const struct sql_data *s, const struct place *at, int column,
		       sqlite3_context *to)
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

static void cpu_cell(const struct sql_data *s, const struct place *at, int column,
		     sqlite3_context *to)
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

static size_t nr_tracks(const struct sql_data *s)
{
	return s->c->nr_tracks;
}

static void track_cell(const struct sql_data *s, const struct place *at, int column,
		       sqlite3_context *to)
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
	case 5:
		for (uint32_t row = 0; row < t->nr_rows; row++)
			spans += t->rows[row].nr;
		put_number(to, spans);
		break;
	default:
		put_text(to, t->buffer);
	}
}

static size_t nr_functions(const struct sql_data *s)
{
	return s->nr_functions;
}

static void function_cell(const struct sql_data *s, const struct place *at, int column,
			  sqlite3_context *to)
{
	uint32_t name = s->functions[at->nr];
	const struct function_sum *f = &s->sums[name];
	const uint64_t numbers[] = {f->calls, f->total, f->self, f->shortest, f->longest, f->sum};

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
	 "pid INTEGER, stack INTEGER, buffer TEXT",
	 TRACK_CALLS, 0, 5, 2, 3, NULL, slice_cell},
	{"events", "start INTEGER, cpu INTEGER, tid INTEGER, name TEXT, text TEXT, buffer TEXT",
	 TRACK_NR_KINDS, 0, -1, -1, -1, nr_events, event_cell},
	{"states", "start INTEGER, duration INTEGER, state TEXT, tid INTEGER, cpu INTEGER",
	 TRACK_STATES, 0, 3, 2, -1, NULL, state_cell},
	{"cpus", "start INTEGER, duration INTEGER, cpu INTEGER, tid INTEGER, name TEXT", TRACK_CPU,
	 0, -1, -1, -1, NULL, cpu_cell},
	{"tracks",
	 "kind TEXT, id INTEGER, pid INTEGER, name TEXT, depths INTEGER, spans INTEGER, "
	 "buffer TEXT",
	 TRACK_NR_KINDS, -1, -1, -1, -1, nr_tracks, track_cell},
	{"functions",
	 "name TEXT, object TEXT, calls INTEGER, total INTEGER, self INTEGER, shortest INTEGER, "
	 "longest INTEGER, duration INTEGER",
	 TRACK_NR_KINDS, -1, -1, -1, -1, nr_functions, function_cell},
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

/* A table and a cursor, as SQLite has them. */
struct table_vtab {
	sqlite3_vtab base;
	struct sql_data *s;
	const struct table *t;
};

struct table_cursor {
	sqlite3_vtab_cursor base;
	size_t track; /* number of the track that is read */
	struct place at;
	size_t last;   /* the first entry of the source that is not read */
	int64_t given; /* rows */
	int64_t from, to, tid;
	bool has_tid, done;
	bool *named;		 /* by number of a name: is it wanted; NULL: all are */
	struct sql_order *order; /* NULL: in the order of the sources */
};

static int connect_table(sqlite3 *db, void *arg, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **err)
{
	struct sql_data *s = arg;
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

enum chosen_by { BY_FROM = 1, BY_TO = 2, BY_TID = 4, BY_NAME = 8, IN_ORDER = 16 };

/* Does the query want rows in order of their names, or grouped by them? */
static bool wants_names_in_order(const struct table *t, const sqlite3_index_info *info)
{
	const int columns[] = {t->name_column, t->object_column};

	if (info->nOrderBy < 1 || info->nOrderBy > 2)
		return false;
	for (int i = 0; i < info->nOrderBy; i++)
		if (columns[i] < 0 || info->aOrderBy[i].iColumn != columns[i] ||
		    info->aOrderBy[i].desc)
			return false;
	return true;
}

/*
 * Choose the conditions that limit what is read. SQLite checks each one again, except a condition
 * on the name: that is compared here, once for each name.
 */
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
		info->aConstraintUsage[by[i]].omit = 1 << i == BY_NAME;
		info->idxNum |= 1 << i;
		info->estimatedCost /= 10;
	}
	if (wants_names_in_order(t, info)) {
		info->idxNum |= IN_ORDER;
		info->orderByConsumed = 1;
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
	sqlite3_free(((struct table_cursor *)cur)->named);
	sql_order_free(((struct table_cursor *)cur)->order);
	sqlite3_free(cur);
	return SQLITE_OK;
}

/* Set the cursor to the part of a source in its range of time. */
static void enter_row(struct table_cursor *cur, const struct span_row *row)
{
	cur->at.nr = cur->from > 0 ? span_row_begins(row, (uint64_t)cur->from) : 0;
	cur->last = cur->to < 0		   ? 0
		    : cur->to == INT64_MAX ? row->nr
					   : span_row_begins(row, (uint64_t)cur->to + 1);
}

/* Go on to the next row of a track, at first to the first one. Return: false: there is none. */
static bool next_source(struct table_cursor *cur)
{
	const struct table_vtab *v = (struct table_vtab *)cur->base.pVtab;
	const struct columns *c = v->s->c;
	const struct track *t = cur->at.track;

	if (v->t->kind == TRACK_NR_KINDS)
		return false;
	if (t && cur->at.row + 1 < t->nr_rows) {
		enter_row(cur, &t->rows[++cur->at.row]);
		return true;
	}
	cur->track += t != NULL;
	while (cur->track < c->nr_tracks &&
	       (c->tracks[cur->track].kind != v->t->kind || !c->tracks[cur->track].nr_rows ||
		(cur->has_tid && c->tracks[cur->track].id != cur->tid)))
		cur->track++;
	if (cur->track == c->nr_tracks)
		return false;
	cur->at = (struct place){.track = &c->tracks[cur->track]};
	enter_row(cur, cur->at.track->rows);
	return true;
}

static bool has_name(const struct table_cursor *cur, const struct span_row *row, size_t nr)
{
	return !cur->named || cur->named[row->name[nr]];
}

/* The next entry with a wanted name, from the cursor's position on. */
static void find_entry(struct table_cursor *cur)
{
	if (cur->order) {
		do
			cur->done = !sql_order_next(cur->order, &cur->at);
		while (!cur->done && !has_name(cur, &cur->at.track->rows[cur->at.row], cur->at.nr));
		return;
	}
	do {
		const struct track *t = cur->at.track;
		const struct span_row *row = t ? &t->rows[cur->at.row] : NULL;

		while (cur->at.nr < cur->last && row && !has_name(cur, row, cur->at.nr))
			cur->at.nr++;
		if (cur->at.nr < cur->last)
			return;
	} while (next_source(cur));
	cur->done = true;
}

/* Sort the entries that the cursor is to read. */
static int make_order(struct table_cursor *cur)
{
	const struct table_vtab *v = (struct table_vtab *)cur->base.pVtab;
	int err = 0;

	cur->order = sql_order_new();
	if (!cur->order)
		return SQLITE_NOMEM;
	while (!err && next_source(cur))
		err = sql_order_add(cur->order, &cur->at, cur->last);
	if (!err)
		err = sql_order_make(cur->order, v->s->c);
	return err ? SQLITE_NOMEM : SQLITE_OK;
}

static int make_functions(struct sql_data *s)
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

/* A bound of a range; it may be a fraction. @up: round up. */
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

/* Find the names that are equal to @value, which may contain a NUL. Return: a SQLite status. */
static int choose_names(struct table_cursor *cur, const struct columns *c, sqlite3_value *value)
{
	int type = sqlite3_value_type(value);
	bool may = type != SQLITE_NULL && type != SQLITE_BLOB;
	const char *name = may ? (const char *)sqlite3_value_text(value) : NULL;

	cur->named = sqlite3_malloc64(c->nr_names + 1);
	if (!cur->named || (may && !name))
		return SQLITE_NOMEM;
	may = name && strlen(name) == (size_t)sqlite3_value_bytes(value);
	for (size_t i = 0; i < c->nr_names; i++)
		cur->named[i] = may && !strcmp(c->names[i].text, name);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int by, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct table_cursor *cur = (struct table_cursor *)base;
	const struct table_vtab *v = (struct table_vtab *)base->pVtab;
	int arg = 0;

	(void)text;
	(void)argc;
	sqlite3_free(cur->named);
	sql_order_free(cur->order);
	*cur = (struct table_cursor){.base = cur->base, .to = INT64_MAX};
	if (by & BY_FROM)
		cur->from = bound(argv[arg++], true);
	if (by & BY_TO)
		cur->to = bound(argv[arg++], false);
	if (by & BY_TID && sqlite3_value_type(argv[arg++]) == SQLITE_INTEGER) {
		cur->has_tid = true;
		cur->tid = sqlite3_value_int64(argv[arg - 1]);
	}
	if (by & BY_NAME && choose_names(cur, v->s->c, argv[arg]))
		return SQLITE_NOMEM;
	if (v->t->nr == nr_functions && !v->s->functions && make_functions(v->s))
		return SQLITE_NOMEM;
	if (v->t->nr)
		cur->last = v->t->nr(v->s);
	if (v->t->nr == nr_events) {
		struct span_row row = {.start = v->s->c->events.ts, .nr = v->s->c->events.nr};

		enter_row(cur, &row);
	}
	if (by & IN_ORDER && make_order(cur))
		return SQLITE_NOMEM;
	find_entry(cur);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct table_cursor *cur = (struct table_cursor *)base;

	if (++cur->given % TRIM_EACH == 0)
		spill_arrays_trim();
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

/*
 * A row has the same number in each reading, and no other row of the table has it: for OR, SQLite
 * reads the table once for each term, and leaves out rows whose number it has seen.
 */
static int rowid_of(sqlite3_vtab_cursor *base, sqlite3_int64 *to)
{
	const struct table_cursor *cur = (struct table_cursor *)base;
	const struct columns *c = ((struct table_vtab *)base->pVtab)->s->c;
	size_t track = cur->at.track ? (size_t)(cur->at.track - c->tracks) : 0;

	static_assert(COLUMNS_MAX_ROWS <= 1u << ROW_BITS, "a row's number has room");
	*to = (sqlite3_int64)(((uint64_t)track << ROW_BITS | cur->at.row) << NR_BITS | cur->at.nr);
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

/* SQLite declares a table when it is first used. The authorizer would refuse that later. */
static int add_table(sqlite3 *db, struct sql_data *s, const struct table *t)
{
	char *text = sqlite3_mprintf("SELECT 1 FROM %s LIMIT 0", t->name);
	int err = text ? sqlite3_create_module(db, t->name, &module, s) : SQLITE_NOMEM;

	if (!err)
		err = sqlite3_exec(db, text, NULL, NULL, NULL);
	sqlite3_free(text);
	return err;
}

int sql_tables_add(sqlite3 *db, struct sql_data *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < NR_TABLES; i++)
		err = add_table(db, s, &tables[i]);
	return err;
}

void sql_tables_free(struct sql_data *s)
{
	free(s->functions);
	free(s->sums);
}
