/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_CONTROL_ERROR_LOG_H
#define VESTIGE_CONTROL_ERROR_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "engine/control/tree.h"

/*
 * error_log_add() - add an error that a parser found in a command. @location: the parser, such as
 * "event filter parse error"; copied. @error: static text, such as "Field not found". @command: @n
 * bytes; its first ERROR_LOG_COMMAND bytes are copied. @position: the offset in it of the caret, in
 * bytes. Under the tree lock.
 */
void error_log_add(const char *location, const char *error, const char *command, size_t n,
		   uint32_t position);

/*
 * error_log_nr() - the number of errors since the log was emptied. error_log_last() - the text of
 * the newest error, which must exist. @position: as above. Under the tree lock.
 */
uint32_t error_log_nr(void);
const char *error_log_last(uint32_t *position);

#define ERROR_LOG_COMMAND  255u
#define ERROR_LOG_LOCATION 128u

/* The file error_log. */
int error_log_show(const struct tree_at *at, struct seq_buf *s);
int error_log_store(const struct tree_at *at, const char *text, size_t n, int truncate);

#endif
