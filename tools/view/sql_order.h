/* SPDX-License-Identifier: MIT */
/*
 * Sorts the entries of a table by their names, for GROUP BY and ORDER BY: SQLite need not sort
 * them. It takes 4 bytes an entry, of SQLite's memory, and two passes over the names.
 */
#ifndef VESTIGE_TOOLS_SQL_ORDER_H
#define VESTIGE_TOOLS_SQL_ORDER_H

#include <stdbool.h>

#include "tools/view/columns.h"

/* The position of a cursor: a source (the events, or a row of a track) and an entry in it. */
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
 * sql_order_add() - add the entries of a source from @first to the one before @last.
 * Return: 0 or -ENOMEM; -EOVERFLOW: more than UINT32_MAX entries.
 */
int sql_order_add(struct sql_order *o, const struct place *first, size_t last);

/*
 * sql_order_make() - sort by name, then by object, then in the order of adding.
 * @c: the columns of all the entries. Return: 0 or -ENOMEM.
 */
int sql_order_make(struct sql_order *o, const struct columns *c);

/* sql_order_next() - the next entry, the first one at first. Return: false at the end. */
bool sql_order_next(struct sql_order *o, struct place *at);

#endif
