/* SPDX-License-Identifier: MIT */
/* The listener for longjmp(), used by other rooms of the engine. */
#ifndef VESTIGE_CORE_JUMP_H
#define VESTIGE_CORE_JUMP_H

#include <stdint.h>

/*
 * Called in the thread that is about to leave all frames below @sp. @mask: its signal mask after
 * that; NULL: the mask does not change. Any context. One listener; NULL: none.
 */
typedef void jump_listener(uint64_t sp, const uint64_t *mask);
extern jump_listener *jump_listening;

#endif
