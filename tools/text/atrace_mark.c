/* SPDX-License-Identifier: MIT */
#include "tools/text/atrace_mark.h"

#include <string.h>

static bool is_number(const char *text)
{
	size_t sign = *text == '-';
	size_t digits = strspn(text + sign, "0123456789");

	return digits && !text[sign + digits];
}

bool atrace_mark_parse(const char *text, struct atrace_mark *mark)
{
	const char *bar;

	*mark = (struct atrace_mark){.kind = *text, .name = "", .number = ""};
	if (*text == 'E' && (!text[1] || text[1] == '|' || text[1] == ' '))
		return true;
	if (!*text || !strchr("BSFC", *text) || text[1] != '|' || !(bar = strchr(text + 2, '|')))
		return false;
	mark->whole = text + 2;
	mark->name = bar + 1;
	mark->name_bytes = strlen(mark->name);
	if (*text == 'B')
		return true;
	bar = strrchr(mark->name, '|');
	if (!bar || !is_number(bar + 1))
		return false;
	mark->name_bytes = (size_t)(bar - mark->name);
	mark->number = bar + 1;
	return true;
}

bool atrace_mark_of(const struct record *rec, const char *text, struct atrace_mark *mark)
{
	return rec->kind == RECORD_PRINT && atrace_mark_parse(text, mark);
}
