/* SPDX-License-Identifier: MIT */
/*
 * See atrace.h. A tag is made when the first site with its name appears, or when it is switched on,
 * and stays: the sites of an object that dlopen() loads later are switched as the tag is. The sites
 * are static branches, as in tracepoints; one that is off costs a NOP. control/api.c's
 * atrace() makes the records. fork: the child has the same tags and the same text. Costs: bench
 * "events". Tests:
 */
#include "engine/events/atrace.h"

#include <errno.h>

#include "engine/base/glob.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/core/text_patch.h"
#include "engine/events/object_items.h"

static struct tag {
	struct tag *next;
	int on;
	char name[ATRACE_MAX_TAG];
} * tags;

static struct holder {
	struct holder *next;
	const struct object *object;
	const struct atrace_place *places, *end;
} * holders;

/* Whether a name has only letters, digits and `_`. */
static int is_name(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!is_name_char(s[i]))
			return 0;
	return n && n < ATRACE_MAX_TAG;
}

static struct tag *find(const char *name, size_t n)
{
	struct tag *t;

	for (t = tags; t; t = t->next)
		if (strlen(t->name) == n && !memcmp(t->name, name, n))
			return t;
	return NULL;
}

/*
 * The tag of that name, which is made if there is none; NULL: it is not a name, or there is no
 * memory.
 */
static struct tag *get(const char *name, size_t n)
{
	struct tag *t = find(name, n), **at;

	if (t || !is_name(name, n))
		return t;
	t = heap_alloc(sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct tag){0};
	memcpy(t->name, name, n);
	for (at = &tags; *at; at = &(*at)->next)
		;
	*at = t;
	return t;
}

/* Switch the tag's sites in one object. Return: 0 or -errno. */
static int switch_places(const struct holder *h, const struct tag *t, int *changed)
{
	const struct atrace_place *p;
	int err = 0, one;

	for (p = h->places; p < h->end; p++) {
		one = str_equal(p->tag, t->name) ? text_switch_branch(p->code, t->on, changed) : 0;
		if (one) {
			area_status("a place of a tag cannot be switched", t->name, one);
			err = one;
		}
	}
	return err;
}

static int switch_tag(struct tag *t, int on)
{
	const struct holder *h;
	int err = 0, changed = 0, one;

	t->on = on;
	for (h = holders; h; h = h->next) {
		one = switch_places(h, t, &changed);
		/* a site that another tool has changed is reported and left alone */
		if (one && one != -EBUSY)
			err = one;
	}
	if (changed && text_sync() && !err)
		err = -ENOTSUP;
	return err;
}

/*
 * Take the sites of an object, which stay as long as it is mapped. Sites of tags that are on are
 * switched on.
 */
static void add(const struct object_items *items)
{
	const struct object *o = items->object;
	const struct atrace_place *places = items->tags, *end = items->tags_end;
	struct holder *h = heap_alloc(sizeof(*h));
	const struct atrace_place *p;
	struct tag *t;
	int changed = 0;

	if (!h)
		return;
	*h = (struct holder){.next = holders, .object = o, .places = places, .end = end};
	holders = h;
	for (p = places; p < end; p++)
		get(p->tag, strlen(p->tag));
	for (t = tags; t; t = t->next)
		if (t->on)
			switch_places(h, t, &changed);
	if (changed)
		text_sync();
}

static void forget(const struct object_items *items)
{
	const struct object *o = items->object;
	struct holder **at = &holders, *h;

	while ((h = *at)) {
		if (h->object != o) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		heap_free(h);
	}
}

void atrace_show(struct seq_buf *s)
{
	const struct tag *t;

	for (t = tags; t; t = t->next) {
		if (t->on)
			seq_putc(s, '[');
		seq_puts(s, t->name);
		if (t->on)
			seq_putc(s, ']');
		seq_putc(s, '\n');
	}
}

int atrace_set(const char *pattern, size_t n, int on)
{
	struct tag *t = on ? get(pattern, n) : find(pattern, n);
	int err = 0, matches = 0;

	if (t)
		return switch_tag(t, on);
	if (is_name(pattern, n))
		return on ? -ENOMEM : -EINVAL;
	for (t = tags; t && !err; t = t->next) {
		if (!glob_match(pattern, n, t->name))
			continue;
		matches = 1;
		err = switch_tag(t, on);
	}
	return err ? err : matches ? 0 : -EINVAL;
}

void atrace_clear(void)
{
	struct tag *t;

	for (t = tags; t; t = t->next)
		if (t->on)
			switch_tag(t, 0);
}

int atrace_any_on(void)
{
	const struct tag *t;

	for (t = tags; t && !t->on; t = t->next)
		;
	return t != NULL;
}

ITEMS_READER(ITEMS_TAGS, add, forget);
