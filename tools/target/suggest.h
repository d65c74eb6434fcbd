/* SPDX-License-Identifier: MIT */
/* Suggests a function, event, tracer or option after a control file has refused a word. */
#ifndef VESTIGE_TOOLS_SUGGEST_H
#define VESTIGE_TOOLS_SUGGEST_H

#include <stdbool.h>

#include "tools/target/target.h"

/*
 * suggest() - find the word in the control file @list that is most like @word.
 * @near: gets it, cut to @bytes. Return: whether there is one. fail_text() may have changed.
 */
bool suggest(struct target *t, const char *list, const char *word, char *near, size_t bytes);

/* The same among the words of the text @list, which is changed. */
bool suggest_of(char *list, const char *word, char *near, size_t bytes);

/*
 * suggest_syscall() - the same among the machine's system calls, since a process lists an event of
 * the system syscalls only while it is used. @word: with or without `syscalls:`.
 */
bool suggest_syscall(const char *word, char *near, size_t bytes);

#endif
