/* SPDX-License-Identifier: MIT */
/* The lock of the snapshot, or of the stretch that a tracer of latencies keeps in its place. */
#ifndef VESTIGE_RING_SNAPSHOT_H
#define VESTIGE_RING_SNAPSHOT_H

#include "engine/ring/ring.h"

/* One caller at a time until snapshot_end(). Return: 0; -EBUSY. Any context. */
int snapshot_begin(struct ring *r);
void snapshot_end(struct ring *r);

#endif
