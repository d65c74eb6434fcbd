/* SPDX-License-Identifier: MIT */
/* How much of what dead processes left is kept in a folder of areas: abi/kept.h. Engines keep to
 * it. */
#ifndef VESTIGE_TOOLS_KEPT_H
#define VESTIGE_TOOLS_KEPT_H

#include <stdbool.h>

#include "abi/kept.h"
#include "tools/target/areas_dir.h"

/*
 * kept_set() - set the limit; what was removed stays counted.
 * @text: `FILES`, `SIZE` with K, M or G, both with a comma between; `all`, `none`, `default`.
 * Return: 0 or -errno with fail() set: EINVAL it is none of these.
 */
int kept_set(const struct areas_dir *dir, const char *text);

/*
 * kept_print() - one line on standard output: how much there is, how much is kept, what was
 * removed. @always: also where there is nothing and nothing was removed.
 */
void kept_print(const struct areas_dir *dir, bool always);

/*
 * kept_is_in_use() - may the process of an area live, though no process of that number does? So it
 * is when it is of another PID namespace, and has the area mapped. @name: of the file, in the
 * folder.
 */
bool kept_is_in_use(const struct areas_dir *dir, const char *name);

#endif
