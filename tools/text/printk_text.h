/* SPDX-License-Identifier: MIT */
/* The text of records ftrace:bprint and ftrace:bputs, as trace_printk() would have written it. */
#ifndef VESTIGE_TOOLS_PRINTK_TEXT_H
#define VESTIGE_TOOLS_PRINTK_TEXT_H

#include <stdbool.h>

#include "tools/reader/reader.h"

#define PRINTK_TEXT_BYTES 4096u

/*
 * printk_text_take() - change such a record to the RECORD_PRINT that it means; its event
 * stays. @rec: changed if this returns true; else it is another record, and unchanged. @text: room
 * for the record's text, PRINTK_TEXT_BYTES.
 */
bool printk_text_take(struct reader *r, struct record *rec, char *text);

#endif
