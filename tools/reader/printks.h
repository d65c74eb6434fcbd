/* SPDX-License-Identifier: MIT */
/*
 * The texts of records ftrace:bprint and ftrace:bputs, which have only a number for the text: of an
 * area, a spool or a trace.dat of ours. The number is a hash of the text, so one table serves
 * several processes. Texts are untrusted.
 */
#ifndef VESTIGE_TOOLS_PRINTKS_H
#define VESTIGE_TOOLS_PRINTKS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The event ids of these records in a reader. */
#define PRINTK_BPRINT_ID 6u
#define PRINTK_BPUTS_ID	 14u

struct printk {
	uint64_t number;
	char *text;
};

/* Zeroed is empty. */
struct printks {
	struct printk *at;
	size_t nr, room;
};

/* printks_add() - add a text, @bytes of which are copied. Return: 0 or -ENOMEM. */
int printks_add(struct printks *p, uint64_t number, const char *text, size_t bytes);

/* Call it after the last printks_add() and before printks_find(). */
void printks_settle(struct printks *p);
void printks_free(struct printks *p);

/* The text of a number, borrowed; NULL: there is none. */
const char *printks_find(const struct printks *p, uint64_t number);

/* Write the table in the form of the kernel's printk_formats. */
void printks_print(const struct printks *p, FILE *f);

/*
 * printks_add_line() - add a line of printk_formats; a line of another form is left out.
 * @line: @bytes, without its newline. Return: 0 or -ENOMEM.
 */
int printks_add_line(struct printks *p, const char *line, size_t bytes);

#endif
