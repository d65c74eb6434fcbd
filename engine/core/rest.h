/* SPDX-License-Identifier: MIT */
/*
 * `vestige detach`: an attached engine undoes its changes to the program until the next write to a
 * control file. A part of the engine that changes something of the program even while nothing is
 * traced has a row here:
 *
 *	REST(switch_words);
 */
#ifndef VESTIGE_CORE_REST_H
#define VESTIGE_CORE_REST_H

#include "engine/base/registry.h"

/*
 * @asleep: 1: undo the change; 0: make it again. Under the tree lock, in the agent or a thread of
 * the program.
 */
struct rest {
	void (*rest)(int asleep);
};

REGISTRY(vestige_rest, const struct rest);

#define REST(fn)                                                                                   \
	static const struct rest rest_row = {fn};                                                  \
	REGISTRY_ADD(vestige_rest, rest_row)

#endif
