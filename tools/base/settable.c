// SPDX-License-Identifier: MIT
#include "tools/base/settable.h"

#include <string.h>

#define EXPANDED "(expanded: "

char *settable(char *text)
{
	char *from = text, *end = text + strcspn(text, "\n");
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
	char *size = strstr(text, EXPANDED);

	if (close && close < end) {
		from = open + 1;
		end = close;
	} else if (size && size < end) {
		from = size + strlen(EXPANDED);
		end = from + strcspn(from, ")\n");
	}
	memmove(text, from, (size_t)(end - from));
	text[end - from] = '\0';
	return text;
}
