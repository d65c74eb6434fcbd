/* SPDX-License-Identifier: MIT */
/* Which function, event, tracer or option was meant by a word that a control file has refused. */
#ifndef VESTIGE_TOOLS_SUGGEST_H
#define VESTIGE_TOOLS_SUGGEST_H

#include <stdbool.h>

#include "tools/target/target.h"

/*
 * suggest() - the word that is near to @word among those in the control file @list.
 * @near: it, cut to @bytes. Return: whether there is one. fail_text() may be another one then.
 */
bool suggest(struct target *t, const char *list, const char *word, char *near, size_t bytes);

/* The same among the words of a text, which is cut up. */
bool suggest_of(char *list, const char *word, char *near, size_t bytes);

/*
 * suggest_syscall() - the same for an event of the system syscalls, which a process has only while it is used: by
 * the machine's system calls. @word: with the system or without.
 */
bool suggest_syscall(const char *word, char *near, size_t bytes);

#endif
