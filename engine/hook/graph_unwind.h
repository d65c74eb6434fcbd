/* SPDX-License-Identifier: MIT */
/*
 * What a program does to its stacks besides calling and returning: it throws, jumps, makes new
 * stacks, walks them. Each goes on in libc's or the compiler's own way; here it is noted which
 * wrapped calls are gone, and our frames are kept out of what the program sees.
 */
#ifndef VESTIGE_HOOK_GRAPH_UNWIND_H
#define VESTIGE_HOOK_GRAPH_UNWIND_H

/* Constructor context, in main's thread. */
void graph_unwind_start(void);

#endif
