/* SPDX-License-Identifier: MIT */
/* The formats of bprint records (reader/printks.h) that an area holds. */
#ifndef VESTIGE_TOOLS_AREA_PRINTKS_H
#define VESTIGE_TOOLS_AREA_PRINTKS_H

#include "tools/reader/printks.h"

struct meta;

/* All of an area's. Return: 0 or -ENOMEM. */
int printks_add_meta(struct printks *p, const struct meta *m);

/*
 * printks_add_new() - add the formats that an area has got since, if any.
 * @fd: the area. @seen: how many it had, set to how many it has; 0 at first. @what: names it in
 * errors.
 * Return: 1 there were some; 0; -errno with fail() set.
 */
int printks_add_new(struct printks *p, int fd, uint32_t *seen, const char *what);

#endif
