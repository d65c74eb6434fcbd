/* SPDX-License-Identifier: MIT */
/*
 * Users write names of C++ and Rust functions in control files as the source has them. The engine
 * knows only names as the objects have them. So a name is replaced by its meaning in the process
 * before it is written:
 *
 *	set_ftrace_filter and its like	numbers, as the kernel takes them; names before a command
 *	kprobe_events, dynamic_events	the name in the object
 *	filters and triggers		the same, behind `FIELD.function ==`
 *
 * A word that matches names of the objects stays, and the functions whose source names it matches
 * are added. A word that equals a function's name means that function alone, also if it matches
 * others as a glob. Any thread.
 * Tests: tests/cli/test_names.py, tests/unit/test_name_pattern.c.
 */
#ifndef VESTIGE_TOOLS_FUNCTION_NAMES_H
#define VESTIGE_TOOLS_FUNCTION_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/area/meta.h"
#include "tools/target/image.h"

/*
 * function_names_translate() - the text to write to @file of the process in place of @text, @n
 * bytes.
 * @translated: zero at first; its text stays NULL if @text can be written as it is.
 * Return: 0, or -errno with fail() set: ENOMEM; EADDRNOTAVAIL: the file takes one function, and
 * several have the name.
 */
int function_names_translate(const struct image *t, const char *file, const char *text, size_t n,
			     struct translated *translated);

/* Whether the meaning of @text in @file may differ between programs. */
bool function_names_are_in(const char *file, const char *text, size_t n);

/*
 * function_names_boot() - the same for the list of a boot parameter, which the program reads when
 * it starts. @list: names, with commas. @out: names and globs of names in the objects, malloced;
 * NULL: use @list as it is.
 * Return: 0, or -errno with fail() set: ENOENT: a name can only be one of the source, and no
 * function has it; ENOMEM.
 */
int function_names_boot(const struct meta *m, const char *list, char **out);

#endif
