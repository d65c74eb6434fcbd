/* SPDX-License-Identifier: MIT */
/*
 * See spool_rest.h. A page that the recorder had written and not yet freed is in the spool and in
 * the area, with one order of taking: pages.c keeps one of them. The areas are only read. Tests:
 * tests/cli/test_control.py.
 */
#include "tools/area/spool_rest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/area/area_pages.h"
#include "tools/base/fail.h"

/* The member of the image with header @h; none: the number of members. */
static uint32_t find_member(const struct pages *p, const struct area_header *h)
{
	uint32_t i;

	for (i = 0; i < pages_nr_members(p); i++) {
		const struct meta *m = pages_member(p, i);

		if (m && m->head.pid == h->pid && m->head.start_time == h->start_time &&
		    !memcmp(m->head.image_id, h->image_id, sizeof(h->image_id)))
			break;
	}
	return i;
}

/* Is it the area of a process that recorder @recorder has started? */
static bool is_of_recorder(const struct area_header *h, int recorder)
{
	char begin[16];
	int n = snprintf(begin, sizeof(begin), "%d-", recorder);

	return recorder > 0 && !strncmp(h->session, begin, (size_t)n);
}

/* Is a live recorder reading it? */
static bool is_read(const struct area_header *h)
{
	return h->recorder > 0 && h->recorder <= INT32_MAX &&
	       (!kill((pid_t)h->recorder, 0) || errno == EPERM);
}

/* Takes over @a and @m. */
static int add(struct spool_rest *rest, struct pages *p, uint32_t member, struct area *a,
	       struct meta *m)
{
	struct area **more = rest->of;
	int err;

	if (member >= rest->nr) {
		more = realloc(rest->of, (member + 1u) * sizeof(*more));
		if (more) {
			memset(more + rest->nr, 0, (member + 1u - rest->nr) * sizeof(*more));
			rest->of = more;
			rest->nr = member + 1;
		}
	}
	if (!more || rest->of[member]) {
		area_pages_close(a);
		meta_free(m);
		return more ? 0 : fail(ENOMEM, "out of memory for an area");
	}
	rest->of[member] = a;
	rest->nr_areas++;
	err = pages_set_member(p, member, m);
	return err ? err : area_pages_add(p, member, a, m, SPOOL_REST_MARK);
}

int spool_rest_add(struct spool_rest *rest, struct pages *p, const char *const *paths,
		   unsigned int nr, int recorder)
{
	int err = 0;

	for (unsigned int i = 0; i < nr && err != -ENOMEM; i++) {
		struct meta *m = NULL;
		struct area *a = NULL;
		uint32_t member;

		if (area_pages_open(paths[i], &a, &m))
			continue;
		member = find_member(p, &m->head);
		if (is_read(&m->head) ||
		    (member == pages_nr_members(p) && !is_of_recorder(&m->head, recorder))) {
			area_pages_close(a);
			meta_free(m);
			continue;
		}
		err = add(rest, p, member, a, m);
	}
	return err == -ENOMEM ? err : 0;
}

int spool_rest_fetch(const struct spool_rest *rest, const struct page_ref *ref, void *page)
{
	if (ref->member >= rest->nr || !rest->of[ref->member])
		return 0;
	return area_pages_fetch(rest->of[ref->member], ref->index & ~SPOOL_REST_MARK, page);
}

void spool_rest_close(struct spool_rest *rest)
{
	for (uint32_t i = 0; i < rest->nr; i++)
		area_pages_close(rest->of[i]);
	free(rest->of);
}
