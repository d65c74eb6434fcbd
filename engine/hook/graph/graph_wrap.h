/* SPDX-License-Identifier: MIT */
/*
 * Wraps calls at a probe, not at a site of the called function: calls through a linker's stub,
 * where the probe at the stub's jump has the registers. The call gets a stub of the graph as its
 * return address, with an id that no function has, so only return probes know it
 * (ops_call_returned()).
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_WRAP_H
#define VESTIGE_HOOK_GRAPH_GRAPH_WRAP_H

#include <stdint.h>

#include "engine/core/text_probe.h"

/* Ids from here on are of such calls, not of the registry. */
#define GRAPH_WRAP_ID (UINT32_C(1) << 26)
static inline int graph_is_wrap_id(uint32_t id)
{
	return id >= GRAPH_WRAP_ID;
}

/*
 * The hook for core. A call that cannot be wrapped goes on unchanged, and is reported by
 * ops_call_missed(). wrap() may be called in any context, the others in control context.
 */
extern const struct text_wrap_hook graph_wrap_hook;

#endif
