/* SPDX-License-Identifier: MIT */
/* The engine's start, for code that runs before its constructor. */
#ifndef VESTIGE_CONTROL_BOOT_H
#define VESTIGE_CONTROL_BOOT_H

#include "engine/ring/ring.h"

/* The constructor. A second call does nothing. */
void engine_start(int argc, char **argv, char **envp);

/* trace_clock: which stamps the hooks make. While nothing is armed; under the tree's lock. */
void control_use_stamps(enum ring_stamps stamps);

/*
 * The process ends: write what a recorder or a reader needs last. An area that no command asked for
 * and that holds no record goes. At exit(), or in the agent when the program's threads are gone.
 */
void control_end(void);

/* Before _exit() ends the process. Any context, a vfork's child too. */
void control_leave(void);

/* Does nothing; called when the engine has started, or will not. A tracer may stop there. */
void engine_ready(void);

#endif
