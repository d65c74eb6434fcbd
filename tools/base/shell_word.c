/* SPDX-License-Identifier: MIT */
/* See shell_word.h. Tests: tests/cli/test_doctor.py. */
#include "tools/base/shell_word.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_plain(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("%+,-./:=@_^", *text))
			return false;
	return true;
}

const char *shell_word(const char *text, char buf[SHELL_WORD_BYTES])
{
	size_t n = 0;

	if (is_plain(text))
		return text;
	buf[n++] = '\'';
	/* room for the longest way of a character, the last quote and the end */
	for (; *text && n < SHELL_WORD_BYTES - 6; text++) {
		if (*text == '\'') {
			memcpy(buf + n, "'\\''", 4);
			n += 4;
		} else {
			buf[n++] = *text;
		}
	}
	buf[n++] = '\'';
	buf[n] = '\0';
	return buf;
}
