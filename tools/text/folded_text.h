/* SPDX-License-Identifier: MIT */
/* Stacks of samples (the tracer sysprof), folded: one line each, as flamegraph.pl reads them. */
#ifndef VESTIGE_TOOLS_FOLDED_TEXT_H
#define VESTIGE_TOOLS_FOLDED_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/code/symbols.h"
#include "tools/reader/reader.h"
#include "tools/text/out.h"

/*
 * folded_text_print() - `THREAD;OUTERMOST;...;INNERMOST NUMBER` for each stack, the most frequent
 * first. All of @r is read; a sample of which a part was lost is left out. Return: 0 or -errno with
 * fail() set, -ENODATA: there is none.
 */
int folded_text_print(struct reader *r, struct out *o);

/*
 * folded_put_frame() - `;FUNCTION`, or `;0xADDRESS`. @is_behind_call: @ip is a return address, so
 * the function is looked up by the byte before it: a call may be a function's last instruction.
 * Return: bytes; 0: there is no room, it is left out.
 */
size_t folded_put_frame(char *to, size_t room, struct symbols *symbols, uint64_t ip,
			bool is_behind_call);

#endif
