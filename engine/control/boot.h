/* SPDX-License-Identifier: MIT */
/* The engine's start, for code that runs before its constructor. */
#ifndef VESTIGE_CONTROL_BOOT_H
#define VESTIGE_CONTROL_BOOT_H

#include "engine/ring/ring.h"

/* Start the engine: its constructor. A second call does nothing. */
void engine_start(int argc, char **argv, char **envp);

/*
 * trace_clock: choose the stamps that the hooks make. While no site is armed; under the tree lock.
 */
void control_use_stamps(enum ring_stamps stamps);

/*
 * The process ends: write what a recorder or a reader needs last. An area that no command asked for
 * and that has no record is removed. At exit(), or in the agent when the program's threads have
 * ended.
 */
void control_end(void);

/* As control_end(), before _exit() ends the process. Any context, also a vfork's child. */
void control_leave(void);

/*
 * Does nothing. Called when the engine has started, or will not start, so that a tool can stop the
 * program there.
 */
void engine_ready(void);

#endif
