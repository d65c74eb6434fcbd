/* SPDX-License-Identifier: MIT */
/*
 * SQLite, which is loaded by the first query. Its functions are called by their names, as in an
 * extension of SQLite: sqlite3ext.h makes each name a member of a table. SQLite passes that table
 * to a function that sqlite3_auto_extension() registers.
 */
#ifndef VESTIGE_TOOLS_SQLITE_H
#define VESTIGE_TOOLS_SQLITE_H

#include <sqlite3ext.h>

extern const sqlite3_api_routines *sqlite3_api;

/* Before the first call of SQLite. Return: 0; -ENOENT or -ENOMEM with fail() set. */
int sqlite_load(void);

#endif
