/* SPDX-License-Identifier: MIT */
/*
 * Static tracepoints: their probe functions, and the sites in the text that are switched. Under the
 * tree's lock.
 */
#ifndef VESTIGE_EVENTS_TRACEPOINT_TRACEPOINT_H
#define VESTIGE_EVENTS_TRACEPOINT_TRACEPOINT_H

#include "engine/process/object.h"
#include "vestige/tracepoint.h"

enum probe_whose {
	PROBE_OURS,    /* the memory that it uses is never freed */
	PROBE_PROGRAM, /* of the program's own */
};

/*
 * tracepoint_probe_add() - call @func with @data from now on.
 * @solo: two entries that stay for ever, for when it is the only probe, or NULL.
 * Return: 0; -EEXIST; -ENOMEM; -errno of the text.
 */
int tracepoint_probe_add(struct tracepoint *tp, void *func, void *data, int prio,
			 enum probe_whose whose, struct tracepoint_func *solo);

/* Call back for each tracepoint of that name, of whatever object. Return: of the first that is not
 * 0. */
int tracepoint_each(const char *name, int (*callback)(struct tracepoint *tp, void *arg), void *arg);

/* No more. A thread may still be in it. Return: 0; -ENOENT; -errno of the text. */
int tracepoint_probe_remove(struct tracepoint *tp, void *func, void *data);

#endif
