/* SPDX-License-Identifier: MIT */
/*
 * The entries of a table in order of their names, for GROUP BY and ORDER BY: SQLite need not sort
 * them. Takes 4 bytes an entry, of SQLite's memory, and two walks over the names.
 */
#ifndef VESTIGE_TOOLS_SQL_ORDER_H
#define VESTIGE_TOOLS_SQL_ORDER_H

#include <stdbool.h>

#include "tools/view/columns.h"

/* Where a cursor is: a source (the events; a row of a track), and an entry of it. */
struct place {
	const struct track *track;
	uint32_t row;
	size_t nr;
};

struct sql_order;

/* sql_order_new() - an order without entries. Return: NULL: no memory. sql_order_free() it. */
struct sql_order *sql_order_new(void);
void sql_order_free(struct sql_order *o);

/*
 * sql_order_add() - the entries from @first to the one before @last of its row of spans.
 * Return: 0 or -ENOMEM; -EOVERFLOW: more than UINT32_MAX entries.
 */
int sql_order_add(struct sql_order *o, const struct place *first, size_t last);

/*
 * sql_order_make() - sort, by name, then by object, then as they were added.
 * @c: the columns of all the entries. Return: 0 or -ENOMEM.
 */
int sql_order_make(struct sql_order *o, const struct columns *c);

/* sql_order_next() - the next entry, the first one at first. Return: false at the end. */
bool sql_order_next(struct sql_order *o, struct place *at);

#endif
