/* SPDX-License-Identifier: MIT */
/* The message when the calls of a trigger cannot be timed: why, and what to do. */
#ifndef VESTIGE_TOOLS_FLIGHT_REFUSAL_H
#define VESTIGE_TOOLS_FLIGHT_REFUSAL_H

#include "tools/target/target.h"

/*
 * fail() after the write of @command, for a probe of @function, was refused with @err. Return:
 * @err.
 */
int flight_refuse_call(struct target *t, const char *function, const char *command, int err);

#endif
