/* SPDX-License-Identifier: MIT */
/*
 * Definitions of probes name arguments of functions: `p:ev func fd path:string`, `$arg*`,
 * `s->next`. Their meaning in the program is added to them when they are written to its control
 * files.
 */
#ifndef VESTIGE_TOOLS_PROBE_NAMES_H
#define VESTIGE_TOOLS_PROBE_NAMES_H

#include "tools/target/image.h"

/*
 * probe_names_translate() - the text to write to @file of the process in place of @text, @n bytes
 * (abi/probe_word.h). @translated: zero at first; its text stays NULL if there is no meaning to
 * add, or none is known. Return: 0 or -ENOMEM with fail() set.
 */
int probe_names_translate(const struct image *t, const char *file, const char *text, size_t n,
			  struct translated *translated);

/* Whether a part of @text has a meaning that depends on the process. */
bool probe_names_are_in(const char *file, const char *text, size_t n);

#endif
