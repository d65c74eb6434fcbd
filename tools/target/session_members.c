/* SPDX-License-Identifier: MIT */
/*
 * See session_members.h. A file is opened once, when it is new. While no file is added or removed,
 * a look costs nothing, for any number of members, live or dead. One thread at a time. Tests:
 * tests/tracefs/test_sessions.py.
 */
#include "tools/target/session_members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Marks of files that are no member's; NULL: not examined yet. */
static struct process no_member;

static bool is_member(const struct process *found)
{
	return found && found != &no_member;
}

static struct process *top_of(const struct areas *a, size_t at, int *err)
{
	const struct area_file *f = &a->files[at];

	for (; at; at--) {
		const struct area_file *top = &a->files[at - 1];

		if (top->pid != f->pid || top->start != f->start || top->uid != f->uid)
			break;
		if (!top->instance[0])
			return process_get_file(top, err);
	}
	*err = -ENOENT;
	return NULL;
}

/*
 * Only an instance of the current image counts: after exec, instances of earlier images may be
 * left.
 */
static struct process *examine_instance(const struct areas *a, size_t at, const char *session)
{
	int err;
	struct process *top = top_of(a, at, &err), *p;

	if (!top)
		return NULL;
	if (strcmp(top->head.session, session)) {
		process_put(top);
		return &no_member;
	}
	p = process_get_file(&a->files[at], &err);
	if (p && memcmp(p->head.image_id, top->head.image_id, sizeof(p->head.image_id))) {
		process_put(p);
		p = NULL;
	}
	process_put(top);
	return p;
}

static struct process *examine(const struct areas *a, size_t at, const char *session)
{
	struct process *p;
	int err;

	if (a->files[at].instance[0])
		return examine_instance(a, at, session);
	p = process_get_file(&a->files[at], &err);
	if (!p || !strcmp(p->head.session, session))
		return p;
	process_put(p);
	return &no_member;
}

/*
 * Keep the earlier findings for files that are still the same. Report members whose file is gone.
 */
static void carry_over(struct session_members *r, const struct areas *now, struct process **found,
		       const struct session_member_calls *calls)
{
	size_t n = 0;

	for (size_t i = 0; r->seen && i < r->seen->nr; i++) {
		const struct area_file *old = &r->seen->files[i];

		while (n < now->nr && areas_compare(&now->files[n], old) < 0)
			n++;
		if (n < now->nr && !areas_compare(&now->files[n], old) &&
		    now->files[n].ino == old->ino) {
			found[n] = r->found[i];
		} else if (is_member(r->found[i])) {
			calls->left(calls->arg, r->found[i]);
			process_put(r->found[i]);
		}
	}
}

/* Mark the current state as seen. Return: whether there is something to look at. */
static bool take_areas(struct session_members *r, const struct session_member_calls *calls)
{
	struct areas *now = areas_now();
	struct process **found;

	if (!now || now == r->seen) {
		areas_put(now);
		return now && r->undecided;
	}
	found = calloc(now->nr + 1, sizeof(struct process *));
	if (!found) {
		areas_put(now);
		return false;
	}
	carry_over(r, now, found, calls);
	free(r->found);
	areas_put(r->seen);
	r->seen = now;
	r->found = found;
	return true;
}

void session_members_call(struct session_members *r, const char *session, const char *instance,
			  const struct session_member_calls *calls)
{
	if (!take_areas(r, calls))
		return;
	r->undecided = false;
	for (size_t i = 0; i < r->seen->nr; i++) {
		if (r->found[i])
			continue;
		if (strcmp(r->seen->files[i].instance, instance))
			r->found[i] = &no_member;
		else
			r->found[i] = examine(r->seen, i, session);
		r->undecided |= !r->found[i];
		if (is_member(r->found[i]))
			calls->joined(calls->arg, r->found[i]);
	}
}

void session_members_free(struct session_members *r)
{
	for (size_t i = 0; r->seen && i < r->seen->nr; i++)
		if (is_member(r->found[i]))
			process_put(r->found[i]);
	free(r->found);
	areas_put(r->seen);
}
