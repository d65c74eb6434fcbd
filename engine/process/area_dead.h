/* SPDX-License-Identifier: MIT */
/* Areas of dead processes in the folder of the areas. */
#ifndef VESTIGE_PROCESS_AREA_DEAD_H
#define VESTIGE_PROCESS_AREA_DEAD_H

struct area_header;

/*
 * area_holds() - whether an area has anything to read: a record, a count of lost records, a
 * histogram or a result of the stack tracer. Any context. @head: a mapped area.
 */
int area_holds(const struct area_header *head);

/*
 * As area_holds(), for an area that is not mapped. @fd: its file. Return: 0 also if it is no area.
 * Any context.
 */
int area_file_holds(int fd);

/*
 * area_has_recorder() - whether a living `vestige record` fetches this area's records, or will do
 * so when it finds the area. Any context. @head: the header of an area, checked.
 */
int area_has_recorder(const struct area_header *head);

/*
 * areas_sweep() - remove the areas of dead processes that have nothing to read, and the oldest of
 * the others while they exceed the limits (abi/kept.h). It does nothing if there was a sweep just
 * before: all sweeps of a user take at most a twentieth of a CPU's time. It leaves alone the areas
 * of processes in other namespaces, which it cannot check, and areas of a session that has a
 * recorder. Only in the constructor and in exit(): it opens files.
 */
void areas_sweep(void);

#endif
