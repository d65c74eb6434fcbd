/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_NOTRACE_H
#define VESTIGE_HOOK_GRAPH_GRAPH_NOTRACE_H

#include "engine/process/object.h"

/*
 * graph_notrace_find() - the functions of an object whose calls must not be wrapped.
 * @bits: one bit a function of the object, zeroed; set for those.
 * Return: how many there are. Constructor or agent context.
 */
uint32_t graph_notrace_find(const struct object *o, uint64_t *bits);

/* text_probe.h's text_may_wrap(). */
struct dynamic_name;
int graph_notrace_may_wrap(const struct dynamic_name *name);

#endif
