/* SPDX-License-Identifier: MIT */
/*
 * Memory for histograms in an instance's area (AREA_HIST_ROOM), and the rows of AREA_HISTS that
 * refer to it. Readers need not ask the process, and find both after its end. Under the tree lock.
 */
#ifndef VESTIGE_EVENTS_TRIGGER_HIST_ALLOC_H
#define VESTIGE_EVENTS_TRIGGER_HIST_ALLOC_H

#include <stdint.h>

#include "engine/core/trace_array.h"

/*
 * hist_room_get() - get a range of zeroed bytes. @backed: how many of its first bytes get memory at
 * once; see hist_room_back(). @at: its offset in AREA_HIST_ROOM; never 0. Return: 0; -ENOMEM: there
 * is no room; -ENOSPC: the file system is full.
 */
int hist_room_get(struct trace_array *tr, uint64_t bytes, uint64_t backed, uint64_t *at);

/*
 * In a fork's child, whose area is new: get the range that the parent had at @at. Return: as
 * hist_room_get().
 */
int hist_room_again(struct trace_array *tr, uint64_t at, uint64_t bytes, uint64_t backed);

/* Free a range that has no users any more. */
void hist_room_put(struct trace_array *tr, uint64_t at);

/* The address of offset @at. */
void *hist_room_at(const struct trace_array *tr, uint64_t at);

/*
 * hist_room_back() - give memory to more of a range. Any context. Return: 0; -errno; -EPERM: the
 * thread may be under a seccomp filter, so a system call could end the program.
 */
int hist_room_back(void *from, uint64_t bytes);

/*
 * Find a free row of AREA_HISTS. It is the caller's once its event is set. Return: NULL: there is
 * none.
 */
struct area_hist *hist_room_row(struct trace_array *tr);

/* Begin and end a change of a row. */
void hist_room_change(struct area_hist *row);
void hist_room_changed(struct area_hist *row);

#endif
