/* SPDX-License-Identifier: MIT */
/*
 * Static tracepoints: which objects have them, who is called, and the places in the text that are
 * switched. Under the tree's lock.
 */
#ifndef VESTIGE_EVENTS_TRACEPOINT_H
#define VESTIGE_EVENTS_TRACEPOINT_H

#include "engine/core/object.h"
#include "vestige/tracepoint.h"

/*
 * Take what objects have, tracepoints, places, names and events: at start, of all; later of the one with
 * @address in it, which is relocated by then. Return: 1; 0: it was known; -ENOENT: no object is.
 * Constructor context.
 */
void tracepoints_start(void);
int tracepoints_ready(const void *address);

/* Forget what objects had that are no longer mapped. The loader's notification. */
void tracepoints_forget(void);

/*
 * tracepoint_switch_place() - switch a place in the code on or off.
 * @changed: is set when it was not so before: text_sync() is due when all are switched.
 * Return: 0; -EBUSY: it is not as the compiler left it; -errno of the text.
 */
int tracepoint_switch_place(uint8_t *code, int on, int *changed);

enum probe_whose {
	PROBE_OURS,    /* what it uses stays for ever */
	PROBE_PROGRAM, /* of the program's own */
};

/*
 * tracepoint_probe_add() - call @func with @data from now on.
 * @solo: two entries that stay for ever, for when it is the only probe, or NULL.
 * Return: 0; -EEXIST; -ENOMEM; -errno of the text.
 */
int tracepoint_probe_add(struct tracepoint *tp, void *func, void *data, int prio,
			 enum probe_whose whose, struct tracepoint_func *solo);

/* Call back for each tracepoint of that name, of whatever object. Return: of the first that is not 0. */
int tracepoint_each(const char *name, int (*callback)(struct tracepoint *tp, void *arg), void *arg);

/* No more. A thread may still be in it. Return: 0; -ENOENT; -errno of the text. */
int tracepoint_probe_remove(struct tracepoint *tp, void *func, void *data);

#endif
