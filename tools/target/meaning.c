/* SPDX-License-Identifier: MIT */
/*
 * See meaning.h. A meaning holds for all processes with the same objects (abi/session.h), unless it
 * has an address of one process or names an object that was loaded later. Locks: the session's.
 * Tests: tests/tracefs/test_sessions.py.
 */
#include "tools/target/meaning.h"

#include <stdlib.h>
#include <string.h>

#include "abi/session.h"
#include "tools/target/function_names.h"
#include "tools/target/object_address.h"
#include "tools/target/probe_names.h"

#define MAX_MEANINGS 64u /* of a write; other builds are asked about each time */

bool meaning_depends(const char *path, const char *text, size_t n)
{
	return probe_names_are_in(path, text, n) || function_names_are_in(path, text, n) ||
	       object_addresses_are_in(path, text, n);
}

/* The objects that the program was started with. Return: false: they are not known. */
static bool objects_of(const struct image *t, uint64_t *objects)
{
	struct meta *m;

	if (image_tables(t, &m))
		return false;
	*objects = SESSION_OBJECTS_SEED;
	for (uint32_t i = 0; i < m->nr_objects; i++)
		*objects = session_objects_add(*objects, &m->objects[i]);
	meta_free(m);
	return true;
}

static const struct meaning *find(const struct written *w, uint64_t objects)
{
	for (unsigned int i = 0; i < w->nr_meanings; i++)
		if (w->meanings[i].objects == objects)
			return &w->meanings[i];
	return NULL;
}

/* Return: whether it owns @text now. */
static bool keep(struct written *w, uint64_t objects, char *text, size_t n)
{
	struct meaning *more;

	if (w->nr_meanings == MAX_MEANINGS)
		return false;
	more = realloc(w->meanings, (w->nr_meanings + 1) * sizeof(*more));
	if (!more)
		return false;
	w->meanings = more;
	more[w->nr_meanings++] = (struct meaning){objects, text, n};
	return true;
}

int meaning_write(struct written *w, struct image *t)
{
	uint64_t objects = 0;
	bool is_known = objects_of(t, &objects), kept = false;
	const struct meaning *m = is_known ? find(w, objects) : NULL;
	struct translated translated;
	int err;

	if (m)
		return image_put(t, w->path, m->text, m->n, w->truncate);
	err = image_translate(t, w->path, w->text, w->n, &translated);
	if (err)
		return err;
	err = image_put(t, w->path, translated.text, translated.n, w->truncate);
	if (is_known && !translated.is_own)
		kept = keep(w, objects, translated.text, translated.n);
	if (!kept)
		free(translated.text);
	return err;
}
