/* SPDX-License-Identifier: MIT */
/* The limit on areas of dead processes in a folder of areas: abi/kept.h. Engines obey it. */
#ifndef VESTIGE_TOOLS_KEPT_H
#define VESTIGE_TOOLS_KEPT_H

#include <stdbool.h>

#include "abi/kept.h"
#include "tools/target/areas_dir.h"

/*
 * kept_set() - set the limit; the counts of removed areas stay.
 * @text: `FILES`, `SIZE` with K, M or G, both with a comma between; `all`, `none`, `default`.
 * Return: 0 or -errno with fail() set: EINVAL: @text is none of these.
 */
int kept_set(const struct areas_dir *dir, const char *text);

/*
 * kept_print() - one line on standard output: the present amount, the limit, and what was removed.
 * @always: print it also if there is no such area and none was removed.
 */
void kept_print(const struct areas_dir *dir, bool always);

/*
 * kept_is_in_use() - whether the process of an area may live although no process has its PID. Such
 * a process is in another PID namespace, and has the area mapped. @name: of the file, in the
 * folder.
 */
bool kept_is_in_use(const struct areas_dir *dir, const char *name);

/*
 * kept_session_clean() - remove a session's file that a killed server left: no server holds its
 * lock.
 * @name: of any file in the folder. Return: whether it was one, and was removed; with @dry: would
 * be.
 */
bool kept_session_clean(const struct areas_dir *dir, const char *name, bool dry);

#endif
