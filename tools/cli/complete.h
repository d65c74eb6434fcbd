/* SPDX-License-Identifier: MIT */
/*
 * Completion of a command line for the shells: their scripts (scripts/completion/) call
 * `vestige --complete WORD...` and show its output. Commands and flags are from the same tables as
 * --help; a flag's value is completed by its name in the table (PID, EVENT, FUNC).
 */
#ifndef VESTIGE_TOOLS_COMPLETE_H
#define VESTIGE_TOOLS_COMPLETE_H

#include "tools/cli/options.h"

/*
 * complete() - print the candidates for the last word, a line each: CANDIDATE\tDESCRIPTION. A line
 * `:file`, `:folder` or `:command` makes the shell complete names of files or folders, or a program
 * and its arguments. @commands: all, ended by NULL. @words: the words behind `vestige`, at least
 * one; the last may be empty. Return: 0, always.
 */
int complete(const struct command *const *commands, int nr_words, char **words);

#endif
