/* SPDX-License-Identifier: MIT */
/*
 * Definitions of probes name arguments of functions: `p:ev func fd path:string`, `$arg*`, `s->next`. What they mean in the
 * program that is to be probed is told with them when they are written to its control files.
 */
#ifndef VESTIGE_TOOLS_PROBE_NAMES_H
#define VESTIGE_TOOLS_PROBE_NAMES_H

#include "tools/target/target.h"

/*
 * probe_names_tell() - what to write to @file of the process in place of @text, @n bytes (abi/probe_word.h).
 * @out: malloced, *@out_n bytes; NULL: the text as it is: there is nothing to be told, or nothing is known.
 * Return: 0 or -ENOMEM with fail() set.
 */
int probe_names_tell(const struct target *t, const char *file, const char *text, size_t n,
		     char **out, size_t *out_n);

/* Is there something in it that has to be told, to each process what holds for it? */
bool probe_names_are_in(const char *file, const char *text, size_t n);

#endif
