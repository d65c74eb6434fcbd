/* SPDX-License-Identifier: MIT */
/* Areas of dead processes in the folder of the areas. */
#ifndef VESTIGE_PROCESS_AREA_DEAD_H
#define VESTIGE_PROCESS_AREA_DEAD_H

struct area_header;

/*
 * area_holds() - whether an area holds anything to read: a record, a count of lost records, a
 * histogram or a result of the stack tracer. Any context. @head: a mapped area.
 */
int area_holds(const struct area_header *head);

/* The same of an area that is not mapped. @fd: its file; 0 where that is none. Any context. */
int area_file_holds(int fd);

/*
 * area_has_recorder() - whether a `vestige record` lives that fetches this area's records, or will
 * as soon as it finds it. Any context. @head: an area's, checked.
 */
int area_has_recorder(const struct area_header *head);

/*
 * areas_sweep() - remove the areas of dead processes that hold nothing, and the oldest of the
 * others while they exceed the limits (abi/kept.h). It does nothing when a sweep was just made: all
 * of a user's together take a twentieth of a CPU's time at most. It leaves alone the areas of
 * processes in other namespaces, where it cannot see whether they live, and areas of a session that
 * has a recorder. Constructor and exit() alone: it opens files.
 */
void areas_sweep(void);

#endif
