/* SPDX-License-Identifier: MIT */
/*
 * Static tracepoints: their probe functions, and the sites in the text that are switched. Under the
 * tree lock.
 */
#ifndef VESTIGE_EVENTS_TRACEPOINT_TRACEPOINT_H
#define VESTIGE_EVENTS_TRACEPOINT_TRACEPOINT_H

#include "engine/process/object.h"
#include "vestige/tracepoint.h"

enum probe_whose {
	PROBE_OURS,    /* of the engine: the memory that it uses is never freed */
	PROBE_PROGRAM, /* of the program */
};

/*
 * tracepoint_probe_add() - call @func with @data from now on. @prio: higher ones are called first.
 * @solo: two entries that stay for ever, for when it is the only probe function; or NULL. Return:
 * 0; -EEXIST; -ENOMEM; -errno of a change of the text.
 */
int tracepoint_probe_add(struct tracepoint *tp, void *func, void *data, int prio,
			 enum probe_whose whose, struct tracepoint_func *solo);

/*
 * Call @callback for each tracepoint of that name, in any object. Return: the first result that is
 * not 0.
 */
int tracepoint_each(const char *name, int (*callback)(struct tracepoint *tp, void *arg), void *arg);

/*
 * Do not call @func with @data any more. A thread may still be in it. Return: 0; -ENOENT; -errno of
 * a change of the text.
 */
int tracepoint_probe_remove(struct tracepoint *tp, void *func, void *data);

#endif
