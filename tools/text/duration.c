/* SPDX-License-Identifier: MIT */
/* See duration.h. Tests: tests/unit/test_call_tree.c. */
#include "tools/text/duration.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static char digit(uint64_t v)
{
	return (char)('0' + v % 10);
}

void duration_put(char to[DURATION_WIDTH], uint64_t ns)
{
	static const struct {
		uint64_t from, thousandth;
		char unit[3];
	} units[] = {
		{0, 1, "us"},
		{UINT64_C(1000000), 1000, "ms"},
		{UINT64_C(1000000000), 1000000, " s"},
		{UINT64_C(60000000000), 60000000, " m"},
		{UINT64_C(3600000000000), UINT64_C(3600000000), " h"},
	};
	unsigned int u = 0;
	uint64_t v;

	while (u + 1 < sizeof(units) / sizeof(units[0]) && ns >= units[u + 1].from)
		u++;
	v = ns / units[u].thousandth;
	if (v > 999999)
		v = 999999;
	to[0] = v >= 100000 ? digit(v / 100000) : ' ';
	to[1] = v >= 10000 ? digit(v / 10000) : ' ';
	to[2] = digit(v / 1000);
	to[3] = '.';
	to[4] = digit(v / 100);
	to[5] = digit(v / 10);
	to[6] = digit(v);
	to[7] = ' ';
	to[8] = units[u].unit[0];
	to[9] = units[u].unit[1];
}

void duration_text(char to[DURATION_WIDTH + 1], uint64_t ns)
{
	char column[DURATION_WIDTH];
	size_t n = 0;

	duration_put(column, ns);
	for (size_t i = 0; i < sizeof(column); i++)
		if (column[i] != ' ' || (n && to[n - 1] != ' '))
			to[n++] = column[i];
	to[n] = '\0';
}

bool duration_parse(const char *text, uint64_t unit_ns, uint64_t *ns, const char **end)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1},
		     {"us", 1000},
		     {"ms", 1000000},
		     {"s", 1000000000},
		     {"m", UINT64_C(60000000000)},
		     {"h", UINT64_C(3600000000000)}};
	unsigned __int128 sum;
	uint64_t whole = 0, scale = 1, part = 0;
	size_t n;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++) {
		if (whole > UINT64_C(1000000000000000000))
			return false;
		whole = whole * 10 + (uint64_t)(*text - '0');
	}
	if (*text == '.') {
		for (text++; isdigit((unsigned char)*text); text++) {
			if (scale >= 1000000000)
				continue;
			scale *= 10;
			part = part * 10 + (uint64_t)(*text - '0');
		}
	}
	for (n = 0; isalpha((unsigned char)text[n]);)
		n++;
	for (unsigned int u = 0; n && u < sizeof(units) / sizeof(units[0]); u++) {
		if (strlen(units[u].name) == n && !strncmp(text, units[u].name, n)) {
			unit_ns = units[u].ns;
			text += n;
			n = 0;
		}
	}
	if (n || (!end && *text))
		return false;
	sum = (unsigned __int128)whole * unit_ns + (unsigned __int128)part * unit_ns / scale;
	if (sum > UINT64_MAX)
		return false;
	*ns = (uint64_t)sum;
	if (end)
		*end = text;
	return true;
}
