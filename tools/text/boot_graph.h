/* SPDX-License-Identifier: MIT */
/* The times at which a program's initialisers ran, as a picture (SVG). */
#ifndef VESTIGE_TOOLS_BOOT_GRAPH_H
#define VESTIGE_TOOLS_BOOT_GRAPH_H

#include "tools/reader/reader.h"
#include "tools/text/out.h"

/*
 * boot_graph_print() - a bar for each initialiser that returned, in the order in which they began,
 * on one axis of time; the bar's title has the name and the time. All of @r is read.
 * Return: 0; -ENODATA: there is none; -errno; with fail() set.
 */
int boot_graph_print(struct reader *r, struct out *o);

/* boot_graph_json() - the same as a line of JSON, times in ns. Return: as boot_graph_print(). */
int boot_graph_json(struct reader *r, struct out *o);

#endif
