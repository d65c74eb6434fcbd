/* SPDX-License-Identifier: MIT */
/*
 * Unwind rules for the nongnu libunwind. It takes a frame's stack pointer from the CFA and ignores
 * other rules for it, so its rules for the stubs differ from those of libgcc and gdb, which need a
 * CFA of the stub's own. libunwind keeps a list of rules for code that belongs to no object, and
 * uses that list first.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_LIBUNWIND_H
#define VESTIGE_HOOK_GRAPH_GRAPH_LIBUNWIND_H

/*
 * If libunwind is loaded, give it its rows, once. Constructor or agent context, but not the
 * loader's notification: what was just mapped is not relocated yet.
 */
void graph_libunwind_meet(void);

#endif
