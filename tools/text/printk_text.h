/* SPDX-License-Identifier: MIT */
/* The text of records ftrace:bprint and ftrace:bputs, as trace_printk() would have written it. */
#ifndef VESTIGE_TOOLS_PRINTK_TEXT_H
#define VESTIGE_TOOLS_PRINTK_TEXT_H

#include <stdbool.h>

#include "tools/reader/reader.h"

#define PRINTK_TEXT_BYTES 4096u

/*
 * printk_text_take() - change such a record to a RECORD_PRINT with its text; its event stays.
 * @rec: changed if true is returned. @text: PRINTK_TEXT_BYTES of room for the record's text.
 * Return: false: @rec is another kind of record, and unchanged.
 */
bool printk_text_take(struct reader *r, struct record *rec, char *text);

#endif
