/* SPDX-License-Identifier: MIT */
/*
 * Records ftrace:bprint and ftrace:bputs, which trace_printk() and trace_puts() make of a constant
 * text. A format is read once, when it is first printed, and its text is put into the area.
 */
#ifndef VESTIGE_EVENTS_BPRINT_H
#define VESTIGE_EVENTS_BPRINT_H

#include <stdarg.h>
#include <stdint.h>

#include "engine/core/trace_array.h"

struct bprint_format;

/*
 * bprint_number() - the number of a text in records and in printk_formats: a hash of the text.
 */
uint64_t bprint_number(const char *text);

/*
 * bprint_format_get() - get the data of a constant text, which is never freed. @puts: the text is
 * not a format, so %% is %%. Under the tree lock; does not allocate. Return: never NULL.
 */
const struct bprint_format *bprint_format_get(const char *text, int puts);

/* Whether the area has a text with that number. Under the tree lock. */
int bprint_is_known(uint64_t number);

/*
 * bprint_record() - make the record. @args: the format's arguments; not used for a text without
 * any. Return: 1; -EBADF: recording is off, or the record is lost; -E2BIG: the caller must print it
 * as text, with these arguments or always. Any context.
 */
int bprint_record(struct trace_array *tr, const struct bprint_format *f, const void *ip,
		  va_list *args);

#endif
