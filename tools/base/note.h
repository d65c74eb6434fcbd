/* SPDX-License-Identifier: MIT */
/*
 * A note to the user when nothing has failed: one line on stderr, `vestige: TEXT`. Commands print
 * the text of a fail() the same way.
 */
#ifndef VESTIGE_TOOLS_NOTE_H
#define VESTIGE_TOOLS_NOTE_H

void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same for a line that is ready; fits where a `void (*)(const char *)` is asked for. */
void note_line(const char *line);

/* Where notes of the whole process go from now on, in place of stderr. */
typedef void note_put(const char *line);
void note_to(note_put *put);

#endif
