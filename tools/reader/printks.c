/* SPDX-License-Identifier: MIT */
/* See printks.h. Tests: tests/unit/test_printk_text.c, tests/engine/events/bprint. */
#include "tools/reader/printks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

int printks_add(struct printks *p, uint64_t number, const char *text, size_t bytes)
{
	if (ARRAY_ROOM(p->at, p->nr, p->room, 64))
		return -ENOMEM;
	p->at[p->nr] = (struct printk){number, strndup(text, bytes)};
	if (!p->at[p->nr].text)
		return -ENOMEM;
	p->nr++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct printk *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

void printks_settle(struct printks *p)
{
	size_t nr = 0;

	if (p->nr)
		qsort(p->at, p->nr, sizeof(*p->at), compare);
	for (size_t i = 0; i < p->nr; i++) {
		if (nr && p->at[nr - 1].number == p->at[i].number)
			free(p->at[i].text);
		else
			p->at[nr++] = p->at[i];
	}
	p->nr = nr;
}

void printks_free(struct printks *p)
{
	for (size_t i = 0; i < p->nr; i++)
		free(p->at[i].text);
	free(p->at);
	*p = (struct printks){0};
}

const char *printks_find(const struct printks *p, uint64_t number)
{
	const struct printk key = {.number = number}, *found;

	found = p->nr ? bsearch(&key, p->at, p->nr, sizeof(key), compare) : NULL;
	return found ? found->text : NULL;
}

void printks_print(const struct printks *p, FILE *f)
{
	for (size_t i = 0; i < p->nr; i++) {
		fprintf(f, "0x%016" PRIx64 " : \"", p->at[i].number);
		for (const char *c = p->at[i].text; *c; c++) {
			if (*c == '\n')
				fputs("\\n", f);
			else if (*c == '\t')
				fputs("\\t", f);
			else if (*c == '\\' || *c == '"')
				fprintf(f, "\\%c", *c);
			else
				fputc(*c, f);
		}
		fputs("\"\n", f);
	}
}

int printks_add_line(struct printks *p, const char *line, size_t bytes)
{
	const char *from = memchr(line, '"', bytes), *end = line + bytes;
	char *text, *to;
	int err;

	if (!from || end - from < 2 || end[-1] != '"')
		return 0;
	text = to = malloc(bytes);
	if (!text)
		return -ENOMEM;
	for (from++, end--; from < end; from++) {
		if (*from == '\\' && from + 1 < end) {
			from++;
			*to++ = *from == 'n' ? '\n' : *from == 't' ? '\t' : *from;
		} else {
			*to++ = *from;
		}
	}
	err = printks_add(p, strtoull(line, NULL, 16), text, (size_t)(to - text));
	free(text);
	return err;
}
