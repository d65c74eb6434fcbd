/* SPDX-License-Identifier: MIT */
/*
 * The marks of Android's atrace and of vestige/atrace.h, as a text: B|PID|NAME and E|PID around a
 * section, S|PID|NAME|COOKIE and F|PID|NAME|COOKIE around one that may end in another thread,
 * C|PID|NAME|VALUE. Tests: tests/cli/test_export_marks.py.
 */
#ifndef VESTIGE_TOOLS_ATRACE_MARK_H
#define VESTIGE_TOOLS_ATRACE_MARK_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/reader/reader.h"

struct atrace_mark {
	char kind;	  /* B, E, S, F or C */
	const char *name; /* not ended by NUL; "" of E */
	size_t name_bytes;
	const char *number; /* COOKIE or VALUE, a decimal number; "" of B and E */
	const char *whole;  /* behind the kind: the same for S and its F */
};

/* The mark in @text, which is borrowed. Return: false: it is none. */
bool atrace_mark_parse(const char *text, struct atrace_mark *mark);

/* The same of a record with that text: a mark is a RECORD_PRINT. */
bool atrace_mark_of(const struct record *rec, const char *text, struct atrace_mark *mark);

#endif
