/* SPDX-License-Identifier: MIT */
/*
 * The tables of `vestige sql`, as SQLite's virtual tables: their rows are read directly from the
 * columns of the recording.
 */
#ifndef VESTIGE_TOOLS_SQL_TABLES_H
#define VESTIGE_TOOLS_SQL_TABLES_H

#include "tools/view/columns.h"
#include "tools/view/sqlite.h"

struct function_sum;

/* What the tables read. The caller sets @c; the rest begins as 0 and belongs to the tables. */
struct sql_data {
	const struct columns *c;   /* borrowed */
	struct function_sum *sums; /* made by the first query that needs them */
	uint32_t *functions;	   /* numbers of the names that have calls */
	size_t nr_functions;
};

/* Declare all tables in @db. @data is borrowed until @db is closed. Return: 0 or SQLite's error. */
int sql_tables_add(sqlite3 *db, struct sql_data *data);

/* Free what the tables have made. After @db is closed. */
void sql_tables_free(struct sql_data *data);

#endif
