/* SPDX-License-Identifier: MIT */
/* Stacks of samples (the tracer sysprof), folded: one line each, as flamegraph.pl reads them. */
#ifndef VESTIGE_TOOLS_FOLDED_TEXT_H
#define VESTIGE_TOOLS_FOLDED_TEXT_H

#include "tools/reader/reader.h"
#include "tools/text/out.h"

/*
 * folded_text_print() - `THREAD;OUTERMOST;...;INNERMOST NUMBER` for each stack, the most frequent
 * first. All of @r is read; a sample of which a part was lost is left out. Return: 0 or -errno with
 * fail() set, -ENODATA: there is none.
 */
int folded_text_print(struct reader *r, struct out *o);

#endif
