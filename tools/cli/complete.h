/* SPDX-License-Identifier: MIT */
/*
 * Completion of a command line for the shells: their scripts (scripts/completion/) call
 * `vestige --complete WORD...` and show what it prints. Commands and flags are those of the tables
 * that --help is made from; a flag's value is completed by what its row calls it (PID, EVENT, FUNC).
 */
#ifndef VESTIGE_TOOLS_COMPLETE_H
#define VESTIGE_TOOLS_COMPLETE_H

#include "tools/cli/options.h"

/*
 * complete() - print what the last word may become, a line each: CANDIDATE\tDESCRIPTION; a line `:file`
 * or `:folder` or `:command`: names of files, of folders, a program and its arguments. @commands: all, NULL behind the last. @words: behind
 * `vestige`, at least one, which may be empty. Return: 0; nothing is an error here.
 */
int complete(const struct command *const *commands, int nr_words, char **words);

#endif
