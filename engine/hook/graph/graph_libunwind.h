/* SPDX-License-Identifier: MIT */
/*
 * Unwind rules for the nongnu libunwind. It takes a frame's stack pointer from the CFA and ignores
 * other rules for it. So its rules for the stubs differ from those for libgcc and gdb, for which a
 * stub needs a CFA of its own. libunwind keeps a list of rules for code that belongs to no object,
 * and searches that list first.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_LIBUNWIND_H
#define VESTIGE_HOOK_GRAPH_GRAPH_LIBUNWIND_H

/*
 * If libunwind is loaded and relocated, register the rules with it, once. Under the tree lock, so
 * that it stays loaded, and without the loader's, for which a thread in dlopen() would keep it.
 */
void graph_libunwind_meet(void);

#endif
