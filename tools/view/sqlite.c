/* SPDX-License-Identifier: MIT */
/* See sqlite.h. SQLITE_SONAME belongs to the library whose header is used. */
#include "tools/view/sqlite.h"

#include <errno.h>
#include <stddef.h>

#include "tools/base/fail.h"
#include "tools/base/late_library.h"

const sqlite3_api_routines *sqlite3_api;

/* SQLite calls it for each database that is opened, with its table of functions. */
static int take_table(sqlite3 *db, char **error, const sqlite3_api_routines *table)
{
	(void)db;
	(void)error;
	sqlite3_api = table;
	return SQLITE_OK;
}

int sqlite_load(void)
{
	int (*add)(void (*entry)(void));
	int (*open)(const char *file, sqlite3 **db);
	int (*close)(sqlite3 * db);
	const struct late_function functions[] = {
		{"sqlite3_auto_extension", &add},
		{"sqlite3_open", &open},
		{"sqlite3_close", &close},
	};
	sqlite3 *db = NULL;
	int err;

	if (sqlite3_api)
		return 0;
	err = late_library(SQLITE_SONAME, functions, sizeof(functions) / sizeof(*functions), "SQL");
	if (err)
		return err;
	if (add((void (*)(void))take_table) || open(":memory:", &db) || !sqlite3_api)
		err = fail(ENOMEM, "SQL: SQLite cannot be started");
	close(db);
	return err;
}
