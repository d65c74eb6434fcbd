/* SPDX-License-Identifier: MIT */
/*
 * An engine that was attached is put to sleep by `vestige detach`: nothing of the program passes
 * through it any more. It wakes at the next write to a control file. A part that changes something
 * of the program although nothing is traced has a row here:
 *
 *	REST(switch_words);
 */
#ifndef VESTIGE_CORE_REST_H
#define VESTIGE_CORE_REST_H

#include "engine/base/registry.h"

/* @asleep: 1: undo it, 0: do it again. Under the tree's lock, in the agent or a program's thread. */
struct rest {
	void (*rest)(int asleep);
};

REGISTRY(vestige_rest, const struct rest);

#define REST(fn)                                                                                   \
	static const struct rest rest_row = {fn};                                                  \
	REGISTRY_ADD(vestige_rest, rest_row)

#endif
