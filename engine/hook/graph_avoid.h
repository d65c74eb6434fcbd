/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_HOOK_GRAPH_AVOID_H
#define VESTIGE_HOOK_GRAPH_AVOID_H

#include "engine/core/object.h"

/*
 * graph_avoid_find() - the functions of an object whose calls must not be wrapped.
 * @bits: one bit a function of the object, zeroed; set for those.
 * Return: how many there are. Constructor or agent context.
 */
uint32_t graph_avoid_find(const struct object *o, uint64_t *bits);

#endif
