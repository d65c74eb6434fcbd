/* SPDX-License-Identifier: MIT */
/* Reads a file by bytes or by lines, by pread() alone: the file may change meanwhile. */
#ifndef VESTIGE_TOOLS_IMPORT_TEXT_H
#define VESTIGE_TOOLS_IMPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IMPORT_BUFFER	  (64u << 10)
#define IMPORT_LINE_BYTES (64u << 10) /* the rest of a longer line is skipped */

struct import_text {
	int fd;
	const char *path;
	off_t at; /* offset in the file behind the buffer */
	size_t pos, nr;
	uint64_t line; /* lines read */
	int err;       /* -errno of a failed read, which looks like the end; 0: none */
	char buf[IMPORT_BUFFER];
	char text[IMPORT_LINE_BYTES];
};

/* The next byte; -1 at the end. import_get() steps over it, import_peek() does not. */
int import_get(struct import_text *in);
int import_peek(struct import_text *in);

/* The next line, without its end, NUL-terminated; NULL at the end. Borrowed until the next. */
char *import_line(struct import_text *in);

/*
 * import_text_any() - whether @is is true of any line in the first @bytes of a file; comments, `#`,
 * are skipped. @is: gets a copy of each line, which it may change.
 */
bool import_text_any(const char *head, size_t bytes, bool (*is)(char *line));

/* The text behind blanks and tabs. */
static inline char *import_skip_blanks(char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/*
 * import_decimal() - convert a decimal number to nanoseconds, without rounding by floating point.
 * @unit: nanoseconds of the number 1, a power of ten. @end: set to the text behind the number.
 * Return: false if @text is no number, is negative or too large.
 */
bool import_decimal(const char *text, uint64_t unit, uint64_t *ns, const char **end);

#endif
