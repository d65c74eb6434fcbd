/* SPDX-License-Identifier: MIT */
/* Reads the formats of bprint records (reader/printks.h) from an area. */
#ifndef VESTIGE_TOOLS_AREA_PRINTKS_H
#define VESTIGE_TOOLS_AREA_PRINTKS_H

#include "tools/reader/printks.h"

struct meta;

/* Add all formats of an area. Return: 0 or -ENOMEM. */
int printks_add_meta(struct printks *p, const struct meta *m);

/*
 * printks_add_new() - add the formats that an area got since the last call.
 * @fd: the area. @seen: number of its formats at the last call, 0 at first; gets the number now.
 * @what: names the area in errors.
 * Return: 1: some were added; 0: none; -errno with fail() set.
 */
int printks_add_new(struct printks *p, int fd, uint32_t *seen, const char *what);

#endif
