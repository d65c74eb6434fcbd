/* SPDX-License-Identifier: MIT */
/*
 * The texts that records ftrace:bprint and ftrace:bputs name by a number: of an area, a spool or a
 * trace.dat of ours. The number is made of the text, so several processes have one table. Texts are
 * untrusted.
 */
#ifndef VESTIGE_TOOLS_PRINTKS_H
#define VESTIGE_TOOLS_PRINTKS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Their ids in what a reader gives. */
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

/* printks_add() - @text: @bytes of it are copied. Return: 0 or -ENOMEM. */
int printks_add(struct printks *p, uint64_t number, const char *text, size_t bytes);

/* Behind the last one that is added: what is asked for from now on is found. */
void printks_settle(struct printks *p);
void printks_free(struct printks *p);

/* NULL: it is not there. */
const char *printks_find(const struct printks *p, uint64_t number);

/* printk_formats, as the kernel has it. */
void printks_print(const struct printks *p, FILE *f);

/*
 * printks_add_line() - a line of printk_formats.
 * @line: @bytes, without its newline. Return: 0 or -ENOMEM; what is no such line is left out.
 */
int printks_add_line(struct printks *p, const char *line, size_t bytes);

#endif
