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
 * first. All of @r is read; incomplete samples are left out. Return: 0 or -errno with fail() set:
 * ENODATA: there is no sample.
 */
int folded_text_print(struct reader *r, struct out *o);

/*
 * folded_put_frame() - write `;FUNCTION`, or `;0xADDRESS`, to @to.
 * @room: bytes there. @is_behind_call: @ip is a return address. The function is then looked up by
 * the byte before it, since a call may be a function's last instruction.
 * Return: the bytes written; 0: there is no room, and nothing was written.
 */
size_t folded_put_frame(char *to, size_t room, struct symbols *symbols, uint64_t ip,
			bool is_behind_call);

#endif
