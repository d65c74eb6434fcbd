/* SPDX-License-Identifier: MIT */
/*
 * Control bytes in text that is not ours: names, strings of programs, files. A terminal would act
 * on them. Tests: tests/cli/test_control_bytes.py.
 */
#ifndef VESTIGE_TOOLS_CONTROL_BYTE_H
#define VESTIGE_TOOLS_CONTROL_BYTE_H

#include <stdbool.h>
#include <stddef.h>

#define CONTROL_ESCAPE_BYTES 8u /* of the longest escape: `\xc2\x9b` */

static inline bool is_control_byte(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

/*
 * control_plain() - Return: how many bytes of @text come before its first control character; @n if
 * there is none. Control characters are ASCII's and C1's (U+0080 to U+009F), as UTF-8 or as a
 * single byte.
 */
size_t control_plain(const char *text, size_t n);

/*
 * control_escape() - write the control character at the start of @text as text: `\n`, `\t`, else
 * `\xNN` for each byte.
 * @to: gets the escape, without a NUL. *@bytes: its length. @n: bytes of @text, at least 1.
 * Return: the bytes of the control character, 1 or 2.
 */
size_t control_escape(char to[CONTROL_ESCAPE_BYTES], size_t *bytes, const char *text, size_t n);

/* control_clean() - replace each control byte in @n bytes of @text by @instead. */
static inline void control_clean(char *text, size_t n, char instead)
{
	for (size_t i = 0; i < n; i++)
		if (is_control_byte(text[i]))
			text[i] = instead;
}

#endif
