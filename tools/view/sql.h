/* SPDX-License-Identifier: MIT */
/*
 * SELECT over a recording's columns, as SQLite's virtual tables: nothing is copied into a database.
 * A query can read these tables only: no file, no setting, no extension.
 */
#ifndef VESTIGE_TOOLS_SQL_H
#define VESTIGE_TOOLS_SQL_H

#include <stdatomic.h>

#include "tools/view/columns.h"

struct sql;

enum sql_type { SQL_NULL, SQL_NUMBER, SQL_TEXT };

/* A cell of a result. Borrowed until the next row. */
struct sql_cell {
	enum sql_type type;
	const char *text; /* of a number, too; "" of NULL */
};

struct sql_limits {
	uint64_t rows;		 /* of the result; 0: no limit */
	unsigned int seconds;	 /* 0: no limit */
	const atomic_bool *stop; /* ends the query once it is set; NULL */
};

/* The limit of SQLite's memory, for the whole process from sql_open() on. */
#define SQL_MAX_HEAP (1u << 30)

/*
 * sql_open() - open a handle for queries over @c. One thread at a time may use it.
 * @c: borrowed until sql_close(). Return: 0 or -errno with fail() set.
 */
int sql_open(const struct columns *c, struct sql **out);
void sql_close(struct sql *s);

/*
 * sql_select() - run one SELECT.
 * @head: called once with the columns' names. @row: called with each row; not 0 ends it, and is
 * returned. @cut: set to whether the result has more rows than @limits allows.
 * Return: 0 or -errno with fail() set: EINVAL (an error in the query), EPERM (it is no SELECT of
 * our tables), ETIME, EINTR, ENOMEM.
 */
int sql_select(struct sql *s, const char *query, const struct sql_limits *limits,
	       int (*head)(void *arg, const char *const *names, unsigned int nr),
	       int (*row)(void *arg, const struct sql_cell *cells, unsigned int nr), void *arg,
	       bool *cut);

/* A table's name and its columns, NULL behind the last one. */
const char *sql_table_name(unsigned int i);
const char *sql_table_text(unsigned int i);

#endif
