/* SPDX-License-Identifier: MIT */
/*
 * Stacks as the nongnu libunwind walks them. It takes a frame's stack pointer from the CFA whatever the
 * rows say of it, and so needs others for the stubs than libgcc and gdb, which want a CFA of the stub's
 * own. It has a list for what runs without an object's rows, and asks that list first.
 */
#ifndef VESTIGE_HOOK_GRAPH_LIBUNWIND_H
#define VESTIGE_HOOK_GRAPH_LIBUNWIND_H

/*
 * If libunwind is loaded, give it its rows, once. Constructor or agent context, but not the loader's
 * notification: what was just mapped is not relocated yet.
 */
void graph_libunwind_meet(void);

#endif
