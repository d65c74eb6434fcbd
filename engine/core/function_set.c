/* SPDX-License-Identifier: MIT */
/*
 * Sets of functions, which are the filters. Names are looked up in the objects' files when a filter
 * is written, and are not kept: a program of 100,000 functions starts without reading one. Under
 * the tree lock; fork: the child has the same. Tests: tests/engine/fire/late, control.
 */
#include "engine/core/function_set.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/glob.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/core/function.h"
#include "engine/core/function_pending.h"
#include "engine/core/function_word.h"
#include "engine/ring/ring.h"

static int set_reserve(struct function_set *set)
{
	uint32_t n = function_count(), nr_old = set->nr;
	uint64_t *old;
	void *p;

	if (set->nr >= n && set->bits)
		return 0;
	p = sys_map_anon((size_t)n / 8 + 16);
	if (!p)
		return -ENOMEM;
	old = set->bits;
	if (old)
		memcpy(p, old, nr_old / 8 + 8);
	/* store the pointer last: a reader that finds it finds the whole set */
	set->bits = p;
	set->nr = n;
	if (old)
		sys_munmap(old, (size_t)nr_old / 8 + 16);
	return 0;
}

int function_set_has(const struct function_set *set, uint32_t id)
{
	return set->bits && id < set->nr && bitmap_has(set->bits, id);
}

static void set_change(struct function_set *set, uint32_t id, int add)
{
	if (function_set_has(set, id) == add)
		return;
	bitmap_flip(set->bits, id);
	if (set->ring)
		area_function_in(set->ring->area, id)->filter ^= set->shown;
	set->count += add ? 1u : UINT32_MAX;
}

void function_set_clear(struct function_set *set)
{
	uint32_t id;

	pending_clear(set);
	for (id = 0; id < set->nr && set->count; id++)
		if (function_set_has(set, id))
			set_change(set, id, 0);
}

void function_set_free(struct function_set *set)
{
	uint64_t *bits = set->bits;
	uint32_t nr = set->nr;

	set->bits = NULL;
	set->nr = set->count = 0;
	if (bits)
		sys_munmap(bits, (size_t)nr / 8 + 16);
}

/* As in the kernel, it is an error to remove a function that is not in a set of the graph's. */
static int may_change(const struct function_set *set, uint32_t id, int add)
{
	return add || !(set->shown & (AREA_FILTER_GRAPH | AREA_FILTER_GRAPH_NOTRACE)) ||
	       function_set_has(set, id);
}

int function_set_put(struct function_set *set, uint32_t id, int add)
{
	if (set_reserve(set))
		return -ENOMEM;
	if (id < set->nr)
		set_change(set, id, add);
	return 0;
}

struct match {
	struct function_set *set;
	const struct object *o;
	const char *glob;
	size_t n;
	int add;
	int found;
};

static int match_symbol(void *arg, uint64_t value, const char *name)
{
	struct match *m = arg;
	uint32_t id;

	if (!glob_match(m->glob, m->n, name))
		return 0;
	id = function_at(m->o, value);
	if (id != UINT32_MAX && may_change(m->set, id, m->add)) {
		m->found = 1;
		set_change(m->set, id, m->add);
	}
	return 0;
}

/*
 * Whether an object has that name. `libfoo` also matches libfoo.so.1: base names count without
 * their version.
 */
static int module_matches(const struct object *o, const char *glob, size_t n)
{
	char name[256];
	size_t i;

	if (!n || glob_match(glob, n, o->name))
		return 1;
	str_copy(name, sizeof(name), o->name);
	for (i = 0; name[i]; i++) {
		if (str_starts(name + i, ".so")) {
			name[i] = 0;
			return glob_match(glob, n, name);
		}
	}
	return 0;
}

/* The id of OBJECT+0xOFFSET, as the tools name a function without a symbol. */
static uint32_t unnamed(const struct match *m)
{
	uint64_t offset;
	size_t at = m->n;

	while (at && m->glob[at - 1] != '+')
		at--;
	if (at < 2 || m->n - at < 3 || m->glob[at] != '0' || m->glob[at + 1] != 'x' ||
	    str_to_u64(m->glob + at, m->n - at, &offset) || !module_matches(m->o, m->glob, at - 1))
		return UINT32_MAX;
	return function_at(m->o, offset);
}

static void match_object(struct match *m)
{
	struct elf_file f;
	const struct area_object *row = object_row(m->o);
	uint32_t id = unnamed(m);

	if (id != UINT32_MAX && may_change(m->set, id, m->add)) {
		m->found = 1;
		set_change(m->set, id, m->add);
		return;
	}

	if (m->n == 1 && *m->glob == '*') {
		for (id = row->first_function; id < row->first_function + row->nr_functions; id++) {
			m->found |= may_change(m->set, id, m->add);
			set_change(m->set, id, m->add);
		}
		return;
	}
	if (elf_file_open(&f, m->o))
		return;
	elf_file_symbols(&f, match_symbol, m);
	elf_file_close(&f);
}

/*
 * Mark the objects to which the word adds functions as named, even if they have none so far.
 * Return: 0 or -ENOMEM.
 */
static int name_objects(struct function_set *set, const struct function_word *w)
{
	uint32_t i;

	if (!w->module || !w->add || set->shown & (AREA_FILTER_NOTRACE | AREA_FILTER_GRAPH_NOTRACE))
		return 0;
	for (i = 0; i < object_count(); i++) {
		struct object *o = object_at(i);

		if (o->loaded && module_matches(o, w->module, w->module_bytes) &&
		    functions_name(o) == -ENOMEM)
			return -ENOMEM;
	}
	return set_reserve(set);
}

int function_set_apply(struct function_set *set, const char *word, size_t n)
{
	struct function_word w;
	struct match m;
	uint32_t i;
	int err;

	if (set_reserve(set))
		return -ENOMEM;
	err = function_word_parse(word, n, &w);
	if (err || w.command)
		return err ? err : -EINVAL;
	if (w.is_number) {
		if (!w.number || w.number > function_count())
			return -EINVAL;
		set_change(set, (uint32_t)w.number - 1, w.add);
		return 0;
	}
	err = name_objects(set, &w);
	if (err)
		return err;
	m = (struct match){.set = set, .glob = w.glob, .n = w.n, .add = w.add};
	for (i = 0; i < object_count(); i++) {
		m.o = object_at(i);
		if (object_row(m.o)->nr_functions && m.o->loaded &&
		    (!w.module || module_matches(m.o, w.module, w.module_bytes)))
			match_object(&m);
	}
	if (!m.found && w.module)
		return pending_change(set, &w);
	return m.found ? 0 : -EINVAL;
}

int function_set_apply_words(struct function_set *set, const char *text, size_t n, int reset)
{
	struct word rest = {text, n}, word;
	int err = 0;

	if (reset)
		function_set_clear(set);
	while (!err && (word = word_take(&rest)).n)
		err = function_set_apply(set, word.at, word.n);
	return err;
}

struct arrival {
	struct function_set *set;
	const struct object *o;
};

/* Apply a word that waited for an object of its name. */
static int take_pending(void *arg, const char *word, size_t n)
{
	const struct arrival *a = arg;
	struct match m = {.set = a->set, .o = a->o, .add = 1};
	struct function_word w;

	if (function_word_parse(word, n, &w) || !w.module ||
	    !module_matches(a->o, w.module, w.module_bytes) || set_reserve(a->set))
		return 0;
	m.glob = w.glob;
	m.n = w.n;
	match_object(&m);
	return m.found;
}

static int names_object(void *arg, const char *word, size_t n)
{
	struct object *o = arg;
	struct function_word w;

	if (!function_word_parse(word, n, &w) && w.module &&
	    module_matches(o, w.module, w.module_bytes))
		o->named = 1;
	return 0;
}

void function_set_name_pending(struct function_set *set, struct object *o)
{
	pending_apply(set, names_object, o);
}

void function_set_take_pending(struct function_set *set, const struct object *o)
{
	pending_apply(set, take_pending, &(struct arrival){set, o});
}
