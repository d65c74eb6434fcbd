/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_NOTRACE_H
#define VESTIGE_HOOK_GRAPH_GRAPH_NOTRACE_H

#include "engine/process/object.h"

/*
 * graph_notrace_find() - find the functions of an object whose calls must not be wrapped. @bits:
 * one bit for each function of the object, zeroed; set for those functions. Return: how many.
 * Constructor or agent context.
 */
uint32_t graph_notrace_find(const struct object *o, uint64_t *bits);

/* text_may_wrap() of text_probe.h. */
struct dynamic_name;
int graph_notrace_may_wrap(const struct dynamic_name *name);

#endif
