/* SPDX-License-Identifier: MIT */
/* Durations as people read them: three digits before the point and three behind, and a unit. */
#ifndef VESTIGE_TOOLS_DURATION_H
#define VESTIGE_TOOLS_DURATION_H

#include <stdbool.h>
#include <stdint.h>

#define DURATION_WIDTH 10

/*
 * duration_put() - `  1.234 us`, ` 12.345 ms`, `  1.234  s`; hours as `  1.234  h`. Always
 * DURATION_WIDTH characters, without a NUL.
 */
void duration_put(char to[DURATION_WIDTH], uint64_t ns);

/* duration_text() - the same in running text, with a NUL: one blank, before the unit. */
void duration_text(char to[DURATION_WIDTH + 1], uint64_t ns);

/*
 * duration_parse() - parse a number and its unit: ns, us, ms, s, m, h.
 * @unit_ns: the unit of a number without one, in ns. @ns: gets the duration.
 * @end: set to the text behind it; NULL: no text may follow.
 * Return: false when it is no duration.
 */
bool duration_parse(const char *text, uint64_t unit_ns, uint64_t *ns, const char **end);

#endif
