/* SPDX-License-Identifier: MIT */
#include "tools/base/control_byte.h"

#include <stdint.h>
#include <string.h>

#include "tools/base/utf8.h"

/* The length of the UTF-8 character at @p, at most @n bytes; 0: it is invalid or cut off. */
static size_t character(const char *p, size_t n)
{
	unsigned char whole[5] = {0};

	memcpy(whole, p, n < 4 ? n : 4);
	return utf8_bytes(whole);
}

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

/* Are all eight bytes of a word from 0x20 to 0x7e? A carry or a borrow can only make it false. */
static bool all_plain(const char *text)
{
	uint64_t v;

	memcpy(&v, text, sizeof(v));
	return !((v | (v - EACH_BYTE(0x20)) | (v + EACH_BYTE(1))) & EACH_BYTE(0x80));
}

size_t control_plain(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n) {
		unsigned char c = (unsigned char)text[i];
		size_t bytes;

		if (n - i >= sizeof(uint64_t) && all_plain(text + i)) {
			i += sizeof(uint64_t);
			continue;
		}
		if (c < 0x80) {
			if (is_control_byte(text[i]))
				break;
			i++;
			continue;
		}
		bytes = character(text + i, n - i);
		if ((bytes == 2 && c == 0xc2 && (unsigned char)text[i + 1] < 0xa0) ||
		    (!bytes && c < 0xa0))
			break;
		i += bytes ? bytes : 1;
	}
	return i;
}

static size_t put_hex(char *to, char c)
{
	static const char digits[] = "0123456789abcdef";

	to[0] = '\\';
	to[1] = 'x';
	to[2] = digits[(unsigned char)c >> 4];
	to[3] = digits[c & 15];
	return 4;
}

size_t control_escape(char to[CONTROL_ESCAPE_BYTES], size_t *bytes, const char *text, size_t n)
{
	if (*text == '\n' || *text == '\t') {
		to[0] = '\\';
		to[1] = *text == '\n' ? 'n' : 't';
		*bytes = 2;
		return 1;
	}
	*bytes = put_hex(to, *text);
	if ((unsigned char)*text != 0xc2 || n < 2)
		return 1;
	*bytes += put_hex(to + *bytes, text[1]);
	return 2;
}
