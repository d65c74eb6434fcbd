/* SPDX-License-Identifier: MIT */
/*
 * Files that no process needs to be asked for: they tell how the outside encodes records
 * (events/header_page, the formats of the system ftrace), the same for all processes.
 */
#ifndef VESTIGE_TOOLS_OUTSIDE_H
#define VESTIGE_TOOLS_OUTSIDE_H

#include <stdbool.h>

#include "tools/text/out.h"

/*
 * outside_find() - is there something of that path?
 * @dir: set to whether it is a folder.
 */
bool outside_find(const char *path, bool *dir);

/* Print a file. Return: whether there is one. */
bool outside_print(const char *path, struct out *o);

/* The names in a folder, each once; stops when @put does. */
void outside_list(const char *dir, int (*put)(void *arg, const char *name, bool dir), void *arg);

#endif
