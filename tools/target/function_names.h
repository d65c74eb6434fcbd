/* SPDX-License-Identifier: MIT */
/*
 * Names of C++ and Rust functions as their source has them, where a control file names functions:
 * the engine knows names as the objects have them. Their meaning in the process is written in their
 * place.
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
 * function_names_translate() - the text to write to @file of the process in place of @text, @n bytes.
 * @translated: zero at first; its text stays NULL if @text can be written as it is.
 * Return: 0, or -errno with fail() set: ENOMEM; EADDRNOTAVAIL one function is wanted, and several
 * have the name.
 */
int function_names_translate(const struct image *t, const char *file, const char *text, size_t n,
			     struct translated *translated);

/* Whether its meaning may differ between programs. */
bool function_names_are_in(const char *file, const char *text, size_t n);

/*
 * function_names_boot() - the same for the list of a boot parameter, with commas, which another
 * process reads: names and globs of names in the objects.
 * @out: malloced; NULL: the list as it is.
 * Return: 0, or -errno with fail() set: ENOENT no function has the name in the text of fail(),
 * which only a source has; ENOMEM.
 */
int function_names_boot(const struct meta *m, const char *list, char **out);

#endif
