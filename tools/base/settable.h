/* SPDX-License-Identifier: MIT */
/* Control files: the text that sets a file to what it shows. */
#ifndef VESTIGE_TOOLS_SETTABLE_H
#define VESTIGE_TOOLS_SETTABLE_H

/*
 * settable() - make the contents of a control file of one value into the text that sets it
 *
 * @text is changed in place.
 *
 * Of several words, the one in brackets: `local [mono]` is `mono` (trace_clock). Of a buffer that
 * was never used, the size that it gets at its first use: `7 (expanded: 1408)` is `1408`
 * (buffer_size_kb; Documentation/trace/ftrace.rst). Other text loses its end of line alone.
 *
 * Return: @text.
 */
char *settable(char *text);

#endif
