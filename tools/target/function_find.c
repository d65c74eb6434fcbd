/* SPDX-License-Identifier: MIT */
/* See function_find.h. Tests: tests/cli/test_names.py, tests/unit/test_name_pattern.c. */
#include "tools/target/function_find.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/area/object_space.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/code/demangle.h"
#include "tools/code/name_pattern.h"

#define KEPT_OBJECTS 32u /* kept between two calls */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object_functions *kept; /* nr_kept of them; none is freed during a call */
static unsigned int nr_kept, room_kept, clock_of_use;

static bool is_of_source(const char *symbol)
{
	return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

static struct object_functions *find_kept(uint64_t identity)
{
	for (unsigned int k = 0; k < nr_kept; k++)
		if (kept[k].identity == identity)
			return &kept[k];
	return NULL;
}

static struct object_functions *new_kept(void)
{
	struct object_functions *more;

	if (nr_kept == room_kept) {
		room_kept = room_kept ? 2 * room_kept : KEPT_OBJECTS;
		more = realloc(kept, room_kept * sizeof(*kept));
		if (!more)
			return NULL;
		kept = more;
	}
	kept[nr_kept] = (struct object_functions){0};
	return &kept[nr_kept++];
}

const struct object_functions *function_names_of(const struct meta *m, uint32_t i)
{
	const struct area_object *row = &m->objects[i];
	const char *path = meta_string(m, row->path);
	uint64_t identity = object_identity_base(row, path);
	struct object_functions *k = find_kept(identity);

	if (k) {
		k->used = ++clock_of_use;
		return k->readable ? k : NULL;
	}
	k = *path == '/' ? new_kept() : NULL;
	if (!k)
		return NULL;
	k->identity = identity;
	k->used = ++clock_of_use;
	if (elf_code_load(path, &k->code))
		return NULL;
	k->readable = object_file_is_the_one(row, &k->code);
	for (size_t s = 0; s < k->code.nr_symbols && !k->has_source; s++)
		k->has_source = is_of_source(k->code.symbols[s].name);
	return k->readable ? k : NULL;
}

static int by_use(const void *a, const void *b)
{
	const struct object_functions *x = a, *y = b;

	return x->used < y->used ? 1 : x->used > y->used ? -1 : 0;
}

void function_find_begin(void)
{
	pthread_mutex_lock(&lock);
}

/*
 * Free the objects whose last use is the longest ago, and those that could not be read: they may be
 * readable next time.
 */
void function_find_end(void)
{
	unsigned int nr = 0;

	if (nr_kept)
		qsort(kept, nr_kept, sizeof(*kept), by_use);
	for (unsigned int k = 0; k < nr_kept; k++) {
		if (kept[k].readable && nr < KEPT_OBJECTS)
			kept[nr++] = kept[k];
		else
			elf_code_free(&kept[k].code);
	}
	nr_kept = nr;
	pthread_mutex_unlock(&lock);
}

uint32_t function_find_at(const struct meta *m, uint32_t i, uint64_t addr)
{
	uint32_t first = m->objects[i].first_function, end = first + m->objects[i].nr_functions, at;

	if (end < first || end > m->nr_functions)
		return UINT32_MAX;
	at = (uint32_t)LOWER_BOUND(k, first, end, m->functions[k].offset < addr);
	return at < end && m->functions[at].object == i && m->functions[at].offset == addr
		       ? at
		       : UINT32_MAX;
}

size_t function_word_colon(const char *text, size_t n)
{
	int depth = 0;

	for (size_t i = 0; i < n; i++) {
		depth += text[i] == '(' || text[i] == '{';
		depth -= text[i] == ')' || text[i] == '}';
		if (text[i] != ':' || depth > 0)
			continue;
		if (i + 1 < n && text[i + 1] == ':') {
			i++;
			continue;
		}
		return i;
	}
	return n;
}

struct function_word function_word_split(const char *text, size_t n)
{
	static const char mod[] = ":mod:";
	struct function_word w = {.pattern = text, .remove = n && *text == '!'};

	w.pattern += w.remove;
	n -= w.remove;
	w.n = function_word_colon(w.pattern, n);
	w.rest = w.pattern + w.n;
	w.rest_bytes = n - w.n;
	if (w.rest_bytes >= sizeof(mod) - 1 && !memcmp(w.rest, mod, sizeof(mod) - 1)) {
		w.module = w.rest + sizeof(mod) - 1;
		w.module_bytes = w.rest_bytes - (sizeof(mod) - 1);
	}
	return w;
}

/* Is @path the module of the word? `libfoo` matches libfoo.so.1 too. */
static bool is_module(const char *path, const struct function_word *w)
{
	const char *slash = strrchr(path, '/');
	char glob[256], name[256], *end;

	if (!w->module)
		return true;
	snprintf(glob, sizeof(glob), "%.*s", (int)w->module_bytes, w->module);
	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
	if (!*glob || name_pattern_fits(glob, name))
		return true;
	end = strstr(name, ".so");
	if (end)
		*end = '\0';
	return end && name_pattern_fits(glob, name);
}

static int add_id(struct functions_found *f, uint32_t id)
{
	if (ARRAY_ROOM(f->ids, f->nr, f->room, 64))
		return fail(ENOMEM, "out of memory for more than %zu functions", f->nr);
	f->ids[f->nr++] = id;
	return 0;
}

int function_by_id(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int find_in(const struct meta *m, uint32_t i, const struct name_pattern *p,
		   struct functions_found *f)
{
	const struct object_functions *names = function_names_of(m, i);

	for (size_t s = 0; names && s < names->code.nr_symbols; s++) {
		const struct elf_symbol *symbol = &names->code.symbols[s];
		enum name_match match;
		uint32_t id;

		if (name_pattern_raw(p, symbol->name) && symbol->alias) {
			id = function_find_at(m, i, symbol->addr);
			if (id != UINT32_MAX && add_id(f, id))
				return -ENOMEM;
			continue;
		}
		if (name_pattern_raw(p, symbol->name)) {
			f->raw |= function_find_at(m, i, symbol->addr) != UINT32_MAX;
			continue;
		}
		if (!names->has_source || !is_of_source(symbol->name))
			continue;
		id = function_find_at(m, i, symbol->addr);
		match = id == UINT32_MAX ? NAME_NO : name_pattern_source(p, symbol->name);
		if (match == NAME_NO || (f->exact && match == NAME_GLOB))
			continue;
		if (match == NAME_EXACT && !f->exact) {
			f->exact = true;
			f->nr = 0;
		}
		if (add_id(f, id))
			return -ENOMEM;
	}
	return 0;
}

/* Search all objects that the word's module allows. */
static int find_in_all(const struct meta *m, const struct function_word *w,
		       struct functions_found *f)
{
	struct name_pattern p;
	int err = 0;

	if (!name_pattern_init(&p, w->pattern, w->n))
		return fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i < m->nr_objects && !err; i++)
		if (m->objects[i].nr_functions && !m->objects[i].unload_stamp &&
		    is_module(meta_string(m, m->objects[i].path), w))
			err = find_in(m, i, &p, f);
	name_pattern_free(&p);
	return err;
}

int function_is_named(const struct meta *m, const struct function_word *w, bool *is)
{
	struct functions_found f = {0};
	int err = 0;

	*is = !w->n || strspn(w->pattern, "*") >= w->n;
	if (!*is)
		err = find_in_all(m, w, &f);
	*is |= f.raw || f.nr;
	free(f.ids);
	return err;
}

int function_find(const struct meta *m, const struct function_word *w, struct functions_found *f)
{
	bool any = name_pattern_is_source(w->pattern, w->n);
	size_t nr = 0;
	int err;

	*f = (struct functions_found){0};
	if (!w->n || strspn(w->pattern, "*") >= w->n)
		return 0;
	for (uint32_t i = 0; i < m->nr_objects && !any; i++) {
		const struct object_functions *names =
			m->objects[i].nr_functions && !m->objects[i].unload_stamp
				? function_names_of(m, i)
				: NULL;

		any = names && (names->has_source || names->code.has_aliases);
	}
	if (!any)
		return 0;
	err = find_in_all(m, w, f);
	/* several names of one function */
	if (f->nr)
		qsort(f->ids, f->nr, sizeof(*f->ids), function_by_id);
	for (size_t k = 0; k < f->nr; k++)
		if (!nr || f->ids[nr - 1] != f->ids[k])
			f->ids[nr++] = f->ids[k];
	f->nr = nr;
	return err;
}

int function_find_one(const struct meta *m, const char *text, size_t n, const char **name)
{
	char *full = NULL, *other = NULL;
	struct name_pattern p;
	int err = 0;

	*name = NULL;
	if (!name_pattern_init(&p, text, n))
		return fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i < m->nr_objects && !err; i++) {
		const struct object_functions *names =
			m->objects[i].unload_stamp ? NULL : function_names_of(m, i);

		for (size_t s = 0; names && s < names->code.nr_symbols && !err; s++) {
			const char *symbol = names->code.symbols[s].name;

			if (!strcmp(symbol, p.glob)) {
				*name = NULL;
				goto out;
			}
			if (!is_of_source(symbol) || strstr(symbol, ".cold") ||
			    name_pattern_source(&p, symbol) != NAME_EXACT)
				continue;
			other = demangle(symbol, DEMANGLE_FULL);
			/* constructors have several copies of one name */
			if (full && other && strcmp(full, other))
				err = fail(EADDRNOTAVAIL,
					   "several functions have the name %.*s: give the "
					   "parameters, as in '%s'",
					   (int)n, text, full);
			if (!full) {
				*name = symbol;
				full = other;
				other = NULL;
			}
			free(other);
			other = NULL;
		}
	}
out:
	free(full);
	name_pattern_free(&p);
	return err;
}
