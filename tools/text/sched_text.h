/* SPDX-License-Identifier: MIT */
/* The views of `vestige sched`. */
#ifndef VESTIGE_TOOLS_SCHED_TEXT_H
#define VESTIGE_TOOLS_SCHED_TEXT_H

#include "tools/reader/reader.h"
#include "tools/text/out.h"

enum sched_view { SCHED_LATENCY, SCHED_MAP, SCHED_TIMEHIST, SCHED_WAITS, SCHED_OFFCPU };

/*
 * sched_print() - read all of @r and print a view of it. @json: as an array of objects, with times
 * in nanoseconds; SCHED_MAP has no such form. Return: 0 or -errno with fail() set.
 */
int sched_print(struct reader *r, enum sched_view view, bool json, struct out *o);

#endif
