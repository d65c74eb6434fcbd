/* SPDX-License-Identifier: MIT */
/* The engine's start, for what runs before its constructor does. */
#ifndef VESTIGE_CONTROL_BOOT_H
#define VESTIGE_CONTROL_BOOT_H

#include "engine/ring/ring.h"

/* The constructor. A second call does nothing. */
void engine_start(int argc, char **argv, char **envp);

/* trace_clock: which stamps the hooks make. While nothing is armed; under the tree's lock. */
void control_use_stamps(enum ring_stamps stamps);

/* Does nothing; called when the engine has started, or will not. A tracer may stop there. */
void engine_ready(void);

#endif
