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
 * probe_names_tell() - what to write to @file of the process in place of @text, @n bytes
 * (abi/probe_word.h). @told: zero at first; its text stays NULL where it is @text: there is no
 * meaning to be added, or none is known. Return: 0 or -ENOMEM with fail() set.
 */
int probe_names_tell(const struct image *t, const char *file, const char *text, size_t n,
		     struct told *told);

/* Is there something in it whose meaning depends on the process? */
bool probe_names_are_in(const char *file, const char *text, size_t n);

#endif
