/* SPDX-License-Identifier: MIT */
/* A file by bytes and by lines, by pread() alone: it may change or end while it is read. */
#ifndef VESTIGE_TOOLS_IMPORT_TEXT_H
#define VESTIGE_TOOLS_IMPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IMPORT_BUFFER	  (64u << 10)
#define IMPORT_LINE_BYTES (64u << 10) /* of longer ones the rest is skipped */

struct import_text {
	int fd;
	const char *path;
	off_t at; /* in the file, of what is behind the buffer */
	size_t pos, nr;
	uint64_t line; /* lines read */
	int err;       /* -errno: reading failed; it looks like the end */
	char buf[IMPORT_BUFFER];
	char text[IMPORT_LINE_BYTES];
};

/* The next byte, which is taken or not; -1 at the end. */
int import_get(struct import_text *in);
int import_peek(struct import_text *in);

/* The next line, without its end, NUL-terminated; NULL at the end. Borrowed until the next. */
char *import_line(struct import_text *in);

/*
 * import_text_any() - whether a line at the head of a file is one of its format; comments, `#`, are
 * left out. @is: gets a copy of each line, to be written to.
 */
bool import_text_any(const char *head, size_t bytes, bool (*is)(char *line));

/*
 * import_decimal() - a decimal number as nanoseconds, exactly.
 * @unit: nanoseconds that are 1: a power of ten. @end: gets what is behind it.
 * Return: false if @text is none, is negative or too large.
 */
bool import_decimal(const char *text, uint64_t unit, uint64_t *ns, const char **end);

#endif
