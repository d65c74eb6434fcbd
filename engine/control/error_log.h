/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_CONTROL_ERROR_LOG_H
#define VESTIGE_CONTROL_ERROR_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "engine/control/tree.h"

/*
 * error_log_add() - a parser found something wrong with a command.
 * @location: which parser, "event filter parse error", copied. @error: static text.
 * @error: what, "Field not found".
 * @command: @n bytes, copied (its first ERROR_LOG_COMMAND).
 * @position: where in it the caret points.
 * Under the tree's lock.
 */
void error_log_add(const char *location, const char *error, const char *command, size_t n,
		   uint32_t position);

/*
 * error_log_nr() - how many errors were added since it was emptied. error_log_last() - the newest one, where
 * there is one: the words for it. @position: as above. Under the tree's lock.
 */
uint32_t error_log_nr(void);
const char *error_log_last(uint32_t *position);

#define ERROR_LOG_COMMAND  255u
#define ERROR_LOG_LOCATION 128u

/* The file error_log. */
int error_log_show(const struct tree_at *at, struct seq_buf *s);
int error_log_store(const struct tree_at *at, const char *text, size_t n, int truncate);

#endif
