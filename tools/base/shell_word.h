/* SPDX-License-Identifier: MIT */
/* Commands that a message names: a word as a shell takes it. */
#ifndef VESTIGE_TOOLS_SHELL_WORD_H
#define VESTIGE_TOOLS_SHELL_WORD_H

#include <limits.h>

/* Room for any path with its quotes. Only a path of almost nothing but quotes is cut. */
#define SHELL_WORD_BYTES (2 * PATH_MAX)

/* Return: @text, or @buf with its quoted form where a shell would not take it as one word. */
const char *shell_word(const char *text, char buf[SHELL_WORD_BYTES]);

#endif
