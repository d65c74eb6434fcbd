/* SPDX-License-Identifier: MIT */
/* The listener for longjmp(), for the engine's other rooms. */
#ifndef VESTIGE_CORE_JUMP_H
#define VESTIGE_CORE_JUMP_H

#include <stdint.h>

/*
 * Called in the thread that is about to leave all frames below @sp. @mask: its signal mask from
 * then on; NULL: that stays. Any context. One listener; NULL: none.
 */
typedef void jump_listener(uint64_t sp, const uint64_t *mask);
extern jump_listener *jump_listening;

#endif
