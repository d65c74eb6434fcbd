/* SPDX-License-Identifier: MIT */
/*
 * Memory for histograms in an instance's area (AREA_HIST_ROOM), and the rows of AREA_HISTS that
 * name it: readers need not ask the process, and find them after its end. Under the tree's lock.
 */
#ifndef VESTIGE_EVENTS_TRIGGER_HIST_ALLOC_H
#define VESTIGE_EVENTS_TRIGGER_HIST_ALLOC_H

#include <stdint.h>

#include "engine/core/trace_array.h"

/*
 * hist_room_get() - a range of zeroed bytes. @backed: how many of its first bytes have memory when
 * this returns; see hist_room_back(). @at: where it begins, from the first byte of AREA_HIST_ROOM;
 * never 0. Return: 0; -ENOMEM: there is no room; -ENOSPC: the file system is full.
 */
int hist_room_get(struct trace_array *tr, uint64_t bytes, uint64_t backed, uint64_t *at);

/*
 * In a fork's child, whose area is new: the range that it had at @at. Return: as hist_room_get().
 */
int hist_room_again(struct trace_array *tr, uint64_t at, uint64_t bytes, uint64_t backed);

/* Free it: it has no users any more. */
void hist_room_put(struct trace_array *tr, uint64_t at);

/* The byte at @at. */
void *hist_room_at(const struct trace_array *tr, uint64_t at);

/*
 * hist_room_back() - let more of a range have memory. Any context.
 * Return: 0 or -errno: -EPERM the thread may be under seccomp, which could end the program for it.
 */
int hist_room_back(void *from, uint64_t bytes);

/* A row of AREA_HISTS that is free; it is the caller's as soon as its event is set. Return: NULL:
 * -ENOSPC. */
struct area_hist *hist_room_row(struct trace_array *tr);

/* A row is going to change, and has changed. */
void hist_room_change(struct area_hist *row);
void hist_room_changed(struct area_hist *row);

#endif
