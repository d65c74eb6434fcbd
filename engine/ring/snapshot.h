/* SPDX-License-Identifier: MIT */
/* The lock of the snapshot, or of the stretch that a latency tracer keeps in its pages. */
#ifndef VESTIGE_RING_SNAPSHOT_H
#define VESTIGE_RING_SNAPSHOT_H

#include "engine/ring/ring.h"

/* Take the lock until snapshot_end(). Return: 0; -EBUSY. Any context. */
int snapshot_begin(struct ring *r);
void snapshot_end(struct ring *r);

#endif
