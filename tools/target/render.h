/* SPDX-License-Identifier: MIT */
/*
 * The control files of a process in the tools: their list, and their texts. Some are rendered from
 * the area, whether the process runs, is stopped or is dead. For the others the process is asked;
 * of a stopped or dead process the last text in the area is used.
 */
#ifndef VESTIGE_TOOLS_RENDER_H
#define VESTIGE_TOOLS_RENDER_H

#include "tools/target/image.h"
#include "tools/text/out.h"

/*
 * render_snapshots() - print the snapshots of several areas as one, in order of time.
 * @file: one for which render_is_snapshot() is true. Return: 0 or -errno with fail() set.
 */
bool render_is_snapshot(const char *file);
int render_snapshots(const char *const *paths, unsigned int nr, const char *file, struct out *o);

/*
 * render_any() - print @file: rendered, from the process, or its last text in the area.
 * Return: 0 or -errno with fail() set, as image_read().
 */
int render_any(struct image *t, const char *file, struct out *o);

/*
 * render_list() - print the names of the control files, one a line.
 * Return: 0 or -errno with fail() set.
 */
int render_list(const struct image *t, struct out *o);

#endif
