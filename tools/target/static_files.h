/* SPDX-License-Identifier: MIT */
/*
 * Control files that are the same for all processes, so no process is asked for them. They describe
 * how the tools encode records (events/header_page, the formats of the system ftrace).
 */
#ifndef VESTIGE_TOOLS_STATIC_FILES_H
#define VESTIGE_TOOLS_STATIC_FILES_H

#include <stdbool.h>

#include "tools/text/out.h"

/*
 * static_file_find() - is there a file or folder of that path?
 * @dir: set to whether it is a folder.
 */
bool static_file_find(const char *path, bool *dir);

/* Print a file. Return: whether there is one. */
bool static_file_print(const char *path, struct out *o);

/* The names in a folder, each once; stops when @put does. */
void static_file_list(const char *dir, int (*put)(void *arg, const char *name, bool dir),
		      void *arg);

#endif
