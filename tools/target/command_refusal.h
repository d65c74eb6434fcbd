/* SPDX-License-Identifier: MIT */
/* Why a filter, a trigger or another command was refused: the words of error_log, with a caret. */
#ifndef VESTIGE_TOOLS_COMMAND_REFUSAL_H
#define VESTIGE_TOOLS_COMMAND_REFUSAL_H

#include "tools/target/target.h"

/*
 * command_refusal() - the lines of fail() about the command @text.
 * @where: the file or flag. @words: what is wrong. @position: of the caret below @text. @err: -errno,
 * the return, too.
 */
int command_refusal(int err, const char *where, const char *text, unsigned long position,
		    const char *words);

/*
 * command_refused() - a write of @text to the file @path of @t failed with @err: have fail() tell what the
 * target's error_log has about this text, if it has. @where: as above. Return: @err; without such an entry
 * fail_text() stays.
 */
int command_refused(struct target *t, const char *where, const char *text, int err);

#endif
