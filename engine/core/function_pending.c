/* SPDX-License-Identifier: MIT */
/*
 * See function_pending.h. The words are stored only in the area, one on each line of their set's
 * row. So the tools can list them, and a fork's child, whose area begins with a copy of its
 * parent's rows, has them too. Only normal context: the loader's and the control files'. Tests:
 * tests/engine/fire/dlopen.
 */
#include "engine/core/function_pending.h"

#include <errno.h>

#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/core/function.h"
#include "engine/ring/ring.h"

/* The words of a set; NULL: this set can have none. @make: back the rows first. */
static char *words_of(const struct function_set *set, int make)
{
	struct area_header *head = set->ring ? set->ring->area : NULL;
	struct area_pending *row;

	if (!head || !(set->shown & (AREA_FILTER_TRACE | AREA_FILTER_NOTRACE)))
		return NULL;
	if (!head->tables[AREA_PENDING].count) {
		if (!make || area_reserve_in(head, AREA_PENDING, AREA_NR_PENDING))
			return NULL;
		__atomic_store_n(&head->tables[AREA_PENDING].count, AREA_NR_PENDING,
				 __ATOMIC_RELEASE);
	}
	row = area_entry_in(head, AREA_PENDING,
			    set->shown & AREA_FILTER_TRACE ? AREA_PENDING_FILTER
							   : AREA_PENDING_NOTRACE);
	return row->words;
}

static size_t line_bytes(const char *line)
{
	size_t n;

	for (n = 0; line[n] && line[n] != '\n'; n++)
		;
	return n;
}

/* Remove the line of @n bytes. */
static void cut(char *line, size_t n)
{
	const char *rest = line + n + (line[n] == '\n');

	do
		*line++ = *rest;
	while (*rest++);
}

int pending_change(struct function_set *set, const struct function_word *w)
{
	static const char mod[] = ":mod:";
	char *line = words_of(set, w->add), *at;
	size_t need = w->n + sizeof(mod) - 1 + w->module_bytes, used, n;

	if (!line)
		return !w->add || !set->ring ? -EINVAL : -ENOMEM;
	used = strlen(line);
	for (at = line; *at; at += n + 1) {
		n = line_bytes(at);
		if (n != need || memcmp(at, w->glob, w->n) ||
		    memcmp(at + w->n, mod, sizeof(mod) - 1) ||
		    memcmp(at + w->n + sizeof(mod) - 1, w->module, w->module_bytes))
			continue;
		if (!w->add)
			cut(at, n);
		return 0;
	}
	if (!w->add)
		return -EINVAL;
	if (used + need + 2 > AREA_PENDING_BYTES)
		return -ENOSPC;
	/* store the first byte last: a reader sees the whole word or nothing */
	at = line + used;
	memcpy(at + 1, w->glob + 1, w->n - 1);
	memcpy(at + w->n, mod, sizeof(mod) - 1);
	memcpy(at + w->n + sizeof(mod) - 1, w->module, w->module_bytes);
	at[need] = '\n';
	at[need + 1] = 0;
	__atomic_store_n(at, *w->glob, __ATOMIC_RELEASE);
	return 0;
}

void pending_clear(struct function_set *set)
{
	char *line = words_of(set, 0);

	if (line)
		*line = 0;
}

int pending_any(const struct function_set *set)
{
	const char *line = words_of(set, 0);

	return line && *line;
}

void pending_apply(struct function_set *set, int (*take)(void *arg, const char *word, size_t n),
		   void *arg)
{
	char *line = words_of(set, 0);

	while (line && *line) {
		size_t n = line_bytes(line);

		if (take(arg, line, n))
			cut(line, n);
		else
			line += n + (line[n] == '\n');
	}
}
