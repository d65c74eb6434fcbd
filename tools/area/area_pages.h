/* SPDX-License-Identifier: MIT */
/*
 * An area as one of several sources of pages of one reader (pages.h). The functions are in area.c.
 */
#ifndef VESTIGE_TOOLS_AREA_PAGES_H
#define VESTIGE_TOOLS_AREA_PAGES_H

#include <stdint.h>

#include "tools/area/pages.h"

struct area;

/*
 * area_pages_open() - open and check an area, and read its tables.
 * @out: on success to be closed with area_pages_close(). @meta: on success to be freed, after
 * area_pages_close().
 * Return: 0 or -errno with fail() set.
 */
int area_pages_open(const char *path, struct area **out, struct meta **meta);
void area_pages_close(struct area *a);

/*
 * area_pages_add() - add the pages of the area's top buffer that have records.
 * @m: its tables; process number @member. @mark: bits that are also set in each page_ref.index.
 * Return: 0 or -errno with fail() set.
 */
int area_pages_add(struct pages *p, uint32_t member, const struct area *a, const struct meta *m,
		   uint32_t mark);

/* As pages_source.fetch, of page @index. */
int area_pages_fetch(const struct area *a, uint32_t index, void *page);

#endif
