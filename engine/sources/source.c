/* SPDX-License-Identifier: MIT */
/*
 * See source.h. A short list. A listener that leaves keeps its `next`, as a thread may be at it. A
 * new one goes to the end, so a thread in the list calls each listener once at most. Tests:
 */
#include "engine/sources/source.h"

#include <stddef.h>

int source_listen(struct source *s, struct source_link *link)
{
	struct source_link **at = &s->first;
	int err = s->first ? 0 : s->want(s, 1);

	if (err)
		return err;
	while (*at)
		at = &(*at)->next;
	store_release(&link->next, NULL);
	store_release(at, link);
	return 0;
}

void source_ignore(struct source *s, struct source_link *link)
{
	struct source_link **at = &s->first;

	while (*at && *at != link)
		at = &(*at)->next;
	if (!*at)
		return;
	store_release(at, link->next);
	if (!s->first)
		s->want(s, 0);
}
