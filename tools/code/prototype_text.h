/* SPDX-License-Identifier: MIT */
/* Prototypes as lines of text: see docs/formats/arguments.md. */
#ifndef VESTIGE_TOOLS_PROTOTYPE_TEXT_H
#define VESTIGE_TOOLS_PROTOTYPE_TEXT_H

#include <stdio.h>

#include "tools/code/prototype.h"

/* Write the line of the function at @addr, its newline included. Errors are in ferror(@f). */
void prototype_put(FILE *f, uint64_t addr, const struct prototype *t);

/*
 * prototype_parse() - read such a line. @line: without its newline; is changed. @t: zeroed; the
 * caller frees its contents, also on failure. Return: 0; -EINVAL, -ENOMEM without fail().
 */
int prototype_parse(char *line, uint64_t *addr, struct prototype *t);

#endif
