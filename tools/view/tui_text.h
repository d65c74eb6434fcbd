/* SPDX-License-Identifier: MIT */
/* Short texts of `vestige tui`: times, and the names of rows. */
#ifndef VESTIGE_TOOLS_TUI_TEXT_H
#define VESTIGE_TOOLS_TUI_TEXT_H

#include "tools/view/columns.h"

/* 1.234 ms. Return: @buf. */
const char *tui_text_time(uint64_t ns, char buf[32]);

/*
 * tui_text_tick() - a time of the axis, with enough decimals to tell marks @step ns apart.
 * Return: @buf: at most 14 characters up to a time of 1000 s.
 */
const char *tui_text_tick(uint64_t ns, uint64_t step, char buf[40]);

/* Replace control bytes by `?`: a terminal could take them for commands. */
void tui_text_clean(char *out, size_t room, const char *text);

/*
 * The name of a track's row: at most @room - 1 characters, of which the thread's name gets what is
 * left.
 */
void tui_text_title(const struct track *track, size_t row, char *out, size_t room);

#endif
