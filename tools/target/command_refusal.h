/* SPDX-License-Identifier: MIT */
/* Why a filter, trigger or other command was refused: the text of error_log, with a caret. */
#ifndef VESTIGE_TOOLS_COMMAND_REFUSAL_H
#define VESTIGE_TOOLS_COMMAND_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/target/target.h"

/*
 * command_refusal() - fail() with the lines about the refused command @text.
 * @err: -errno. @where: the file or flag. @position: of the caret below @text, in bytes from 0.
 * @words: the reason. Return: @err.
 */
int command_refusal(int err, const char *where, const char *text, unsigned long position,
		    const char *words);

/*
 * command_refused() - after a failed write: fail() with the entry of the target's error_log about
 * @text. Without such an entry fail_text() stays.
 * @where: as above. @err: -errno of the write. Return: @err.
 */
int command_refused(struct target *t, const char *where, const char *text, int err);

/*
 * command_refusal_words() - why the target has refused the command @text, if the last entry of its
 * error_log is about that. Return: whether it is: @words has the reason, cut at @bytes.
 */
bool command_refusal_words(struct target *t, const char *text, char *words, size_t bytes);

#endif
