/* SPDX-License-Identifier: MIT */
/* The text of records ftrace:bprint and ftrace:bputs: what trace_printk() would have written. */
#ifndef VESTIGE_TOOLS_PRINTK_TEXT_H
#define VESTIGE_TOOLS_PRINTK_TEXT_H

#include <stdbool.h>

#include "tools/reader/reader.h"

#define PRINTK_TEXT_BYTES 4096u

/*
 * printk_text_take() - such a record as the RECORD_PRINT that it stands for; its event is still the
 * one that it was.
 * @rec: is that from now on, if it returns true; else it is another record, and as it was.
 * @text: room for what it lends, PRINTK_TEXT_BYTES.
 */
bool printk_text_take(struct reader *r, struct record *rec, char *text);

#endif
