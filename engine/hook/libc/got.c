/* SPDX-License-Identifier: MIT */
/*
 * See core/interpose.h. Objects call each other through words that the loader fills by relocations
 * JUMP_SLOT and GLOB_DAT. If such a word is for a wanted function and leads to it, one store
 * replaces the address by the wrapper's, and another store restores it when the function is not
 * wanted any more. A word that the loader has not bound yet leads to the loader; the object's
 * version of the name says which function it would bind. Words that lead elsewhere (another
 * version, the object's own function) are left alone. The engine's own words are never changed.
 *
 * RELRO makes most words read-only; they are made writable for the store. Nothing may be stored
 * while the loader works on an object in another thread. The loader reports an object that dlopen()
 * loads before it relocates the object (loader.h). Then the object's DT_INIT, the first of its code
 * to run, is made to call the engine first. An object is known to be relocated when that happens,
 * or when the loader reports the next object. For an object that a thread without system calls
 * loads, neither is known: its words are left alone. Where the loader's notification is not
 * available, unloading is not seen: only objects from the start are changed.
 *
 * A thread that is in the loader to bind a word may overwrite the engine's store: such words are
 * checked again. fork: the child has the same words. Costs nothing if nothing is wanted; a change
 * of what is wanted goes through all relocations, 2-20 ns each. Tests: tests/engine/events/kmem.
 */
#include <errno.h>

#include "arch_patch.h"
#include "arch_reloc.h"
#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/core/tree_lock.h"
#include "engine/process/heap.h"
#include "engine/core/interpose.h"
#include "engine/process/libc.h"
#include "engine/process/elf_dynamic.h"

/* A word of an object that leads to a wrapper. */
struct word {
	uint64_t *at;
	uint64_t was, now;
	struct interposed_function *f;
	const struct object *object;
};

static struct word *words;
static uint32_t nr_words, room_words;

/*
 * Objects from this one on may not be relocated yet. Of those, the original DT_INIT of the first 16
 * that were changed.
 */
#define NR_INITS 16u

static uint32_t first_pending, nr_known;
typedef void init_fn(int argc, char **argv, char **envp);
static struct init {
	const struct object *object; /* NULL: a free row */
	ElfW(Dyn) * dyn;
	uint64_t was;
	init_fn *run; /* the original function */
} inits[NR_INITS];

static int has_words(const struct object *o)
{
	uint32_t status = object_row(o)->status;

	return o->loaded && !o->elsewhere && status != AREA_OBJECT_ENGINE &&
	       status != AREA_OBJECT_VDSO && status != AREA_OBJECT_LOADER;
}

/* Make a range that is read-only after relocation writable (@prot), or read-only again. */
static int protect(const struct object *o, int prot)
{
	uint64_t bias = object_row(o)->bias, lo, hi;
	uint32_t i;

	for (i = 0; i < o->nr_phdr; i++) {
		if (o->phdr[i].p_type != PT_GNU_RELRO)
			continue;
		lo = (bias + o->phdr[i].p_vaddr) & ~UINT64_C(4095);
		hi = (bias + o->phdr[i].p_vaddr + o->phdr[i].p_memsz) & ~UINT64_C(4095);
		return hi > lo ? sys_mprotect((void *)lo, hi - lo, prot) : 0;
	}
	return 0;
}

enum said { SAID_CLOSED = 1, SAID_ELSEWHERE = 2, SAID_MEMORY = 4 };

/* Report a message once for each object, as events may be switched often. */
static void say(const struct object *o, enum said what, const char *text, int err)
{
	struct object *in = object_at(o->index);

	if (!area || in->words_said & (int)what)
		return;
	in->words_said |= (int)what;
	area_status(text, o->path, err);
}

static int words_open(const struct object *o)
{
	int err = protect(o, PROT_READ | PROT_WRITE);

	if (err)
		say(o, SAID_CLOSED,
		    "calls out of an object are not seen: its tables cannot be written", err);
	return err;
}

static void words_close(const struct object *o)
{
	protect(o, PROT_READ);
}

/* Whether an address is in a writable mapping of the object. */
static int is_data(const struct object *o, uint64_t at)
{
	uint64_t offset = at - object_row(o)->bias;
	uint32_t i;

	for (i = 0; i < o->nr_phdr; i++)
		if (o->phdr[i].p_type == PT_LOAD && o->phdr[i].p_flags & PF_W &&
		    offset - o->phdr[i].p_vaddr < o->phdr[i].p_memsz)
			return 1;
	return 0;
}

static uint64_t find_function(const char *name, const char *version)
{
	uint64_t at = 0;
	uint32_t i;

	for (i = 0; i < first_pending && !at; i++)
		if (object_at(i)->loaded)
			at = dynamic_function(object_at(i), name, version).address;
	return at;
}

static void *beside(const void *address, const char *name)
{
	uint64_t at = (uint64_t)address;
	uint32_t i;

	for (i = 0; i < first_pending; i++) {
		const struct object *o = object_at(i);

		if (o->loaded && at >= object_row(o)->lo && at < object_row(o)->hi)
			return (void *)dynamic_function(o, name, NULL).address;
	}
	return NULL;
}

/* A name that is searched in one object's words. */
struct weak_name {
	const struct object *object;
	const char *name;
	uint64_t address;
};

static void fill_word(void *arg, uint64_t slot, uint32_t type, const struct dynamic_name *name)
{
	const struct weak_name *n = arg;
	uint64_t *at = (uint64_t *)slot;

	if (!arch_reloc_is_address(type) || slot & 7 || !is_data(n->object, slot) ||
	    !dynamic_name_is(name, n->name) || *at || words_open(n->object))
		return;
	__atomic_store_n(at, n->address, __ATOMIC_RELEASE);
	words_close(n->object);
}

static void weak(const char *name, const void *address)
{
	struct weak_name n = {.name = name, .address = (uint64_t)address};
	uint32_t i;

	for (i = 0; i < first_pending; i++) {
		n.object = object_at(i);
		if (has_words(n.object))
			dynamic_names(n.object, fill_word, &n);
	}
}

static int is_loaded(uint64_t at)
{
	uint32_t i;

	for (i = 0; i < object_count(); i++)
		if (object_at(i)->loaded && at >= object_row(object_at(i))->lo &&
		    at < object_row(object_at(i))->hi)
			return 1;
	return 0;
}

static uint64_t load_word(const struct word *w)
{
	return __atomic_load_n(w->at, __ATOMIC_RELAXED);
}

static void store_word(const struct word *w, uint64_t value)
{
	__atomic_store_n(w->at, value, __ATOMIC_RELEASE);
}

static int add_word(const struct word *w)
{
	struct word *more = heap_grow(words, nr_words, &room_words, sizeof(*more));

	if (!more)
		return -ENOMEM;
	words = more;
	words[nr_words++] = *w;
	return 0;
}

/* The search through one object's words. */
struct search {
	const struct object *object;
	int all;     /* the object is new: also search functions that were found before */
	int unbound; /* some words have not been bound by the loader */
	int err;
};

/*
 * A bit for each hash of a name's beginning: most names of an object can be skipped by it.
 */
#define START_BITS 1024u
static uint64_t starts[START_BITS / 64];

static uint32_t start_of(const char *name)
{
	const uint8_t *c = (const uint8_t *)name;

	return c[0] && c[1] ? (c[0] * 33u + c[1] * 7u + c[2]) % START_BITS : 0;
}

static void know_starts(void)
{
	const struct interposed_function *f;

	for (f = interposed_functions; f; f = f->next)
		bitmap_set(starts, start_of(f->name));
}

static struct interposed_function *function_of(const struct dynamic_name *name)
{
	struct interposed_function *f;
	uint32_t h, start;

	start = name->room > 2 ? start_of(name->at) : 0;
	if (!bitmap_has(starts, start))
		return NULL;
	h = str_hash_n(name->at, name->room);
	for (f = interposed_functions; f; f = f->next)
		if (f->hash == h && dynamic_name_is(name, f->name))
			return f;
	return NULL;
}

static int leads_there(struct search *s, uint64_t value, uint32_t type,
		       const struct dynamic_name *name, const struct interposed_function *f)
{
	const struct area_object *o = object_row(s->object);

	if (value == (uint64_t)f->real)
		return 1;
	if (!arch_reloc_is_call(type) || value < o->lo || value + 16 > o->hi ||
	    !arch_is_unbound((const uint8_t *)value, name->index) ||
	    find_function(f->name, dynamic_version(s->object, name->symbol)) != (uint64_t)f->real)
		return 0;
	s->unbound = 1;
	return 1;
}

static int is_program(uint64_t at)
{
	const struct area_object *program = object_row(object_at(0));

	return at >= program->lo && at < program->hi;
}

static void see_word(void *arg, uint64_t slot, uint32_t type, const struct dynamic_name *name)
{
	struct search *s = arg;
	struct interposed_function *f;
	struct word w;

	if (!arch_reloc_is_address(type) || slot & 7 || !is_data(s->object, slot))
		return;
	f = function_of(name);
	if (!f || !interposed_link(f) || (f->head && !s->all))
		return;
	w = (struct word){.at = (uint64_t *)slot, .f = f, .object = s->object};
	w.was = w.now = load_word(&w);
	if (!leads_there(s, w.was, type, name, f)) {
		/*
		 * in an object that is not position-independent, a function's address may be a
		 * stub's
		 */
		if (!is_program(w.was))
			say(s->object, SAID_ELSEWHERE,
			    "some calls out of an object are not seen: they lead elsewhere than "
			    "others of that name",
			    0);
		return;
	}
	if (!s->err)
		s->err = add_word(&w);
}

/* Take the words of an object. Return: whether the loader may be about to bind some of them. */
static int take_object(const struct object *o, int all)
{
	struct search s = {.object = o, .all = all};

	dynamic_names(o, see_word, &s);
	if (s.err)
		say(o, SAID_MEMORY, "calls out of an object are not all seen", s.err);
	return s.unbound;
}

/* The value for a word: its current value if the engine may not change it. */
static uint64_t value_for(const struct word *w)
{
	uint64_t now = load_word(w), head = (uint64_t)w->f->head;

	/* the loader may have bound it meanwhile */
	if (head && (now == w->now || now == (uint64_t)w->f->real))
		return head;
	return now == w->now ? w->was : now;
}

/*
 * Make all words lead where they should. Forget words that have their old values again, or are
 * unmapped.
 */
static void store_all(void)
{
	const struct object *open = NULL;
	uint32_t i, kept = 0;

	for (i = 0; i < nr_words; i++) {
		struct word *w = &words[i];
		uint64_t value;
		int failed = 0;

		if (!w->object->loaded)
			continue;
		value = value_for(w);
		if (value != load_word(w)) {
			if (open != w->object) {
				if (open)
					words_close(open);
				open = words_open(w->object) ? NULL : w->object;
			}
			failed = !open;
			if (open)
				store_word(w, w->now = value);
		}
		if (w->f->head || (failed && w->now != w->was))
			words[kept++] = *w;
	}
	if (open)
		words_close(open);
	nr_words = kept;
}

static int anything_wanted(void)
{
	const struct interposed_function *f;

	for (f = interposed_functions; f; f = f->next)
		if (f->head)
			return 1;
	return 0;
}

static int apply(void)
{
	struct interposed_function *f;
	int fresh = 0, unbound = 0;
	uint32_t i;

	know_starts();
	for (f = interposed_functions; f; f = f->next) {
		uint64_t real = 0;

		if (interposed_wanted(f) && !f->head)
			real = find_function(f->name, NULL);
		if (real)
			f->real = (void *)real;
		fresh |= interposed_link(f) && !f->head;
	}
	for (i = 0; i < first_pending && fresh; i++)
		if (has_words(object_at(i)))
			unbound |= take_object(object_at(i), 0);
	for (f = interposed_functions; f; f = f->next)
		f->head = interposed_link(f);
	store_all();
	if (unbound) {
		/* a thread that was in the loader for such a word has left it by then */
		arch_syscall(SYS_poll, 0, 0, 1, 0, 0, 0);
		store_all();
	}
	return 0;
}

/* Objects of dlopen() are relocated now, up to object @to. */
static void settle(uint32_t to)
{
	struct interposed_function *f;
	uint32_t i, from = first_pending;

	first_pending = to;
	for (i = 0; i < NR_INITS; i++) {
		struct init *in = &inits[i];

		if (in->object && in->object->loaded) {
			if (words_open(in->object))
				continue;
			in->dyn->d_un.d_val = in->was;
			words_close(in->object);
		}
		in->object = NULL;
	}
	for (i = from; i < first_pending; i++)
		if (has_words(object_at(i)))
			take_object(object_at(i), 1);
	/* a function may have disappeared with its object, or appeared with one */
	for (f = interposed_functions; f; f = f->next)
		if (f->head && !is_loaded((uint64_t)f->real))
			f->head = NULL;
	apply();
}

/* Called as the first code of an object that dlopen() loads. */
static void first_init(uint32_t n, int argc, char **argv, char **envp)
{
	if (!tree_lock_take()) {
		settle(nr_known);
		tree_lock_release();
	}
	inits[n].run(argc, argv, envp);
}

/* One function for each row, as the loader passes nothing that identifies the object. */
#define INIT(n)                                                                                    \
	static void init_##n(int argc, char **argv, char **envp)                                   \
	{                                                                                          \
		first_init(n, argc, argv, envp);                                                   \
	}
INIT(0)
INIT(1)
INIT(2)
INIT(3)
INIT(4)
INIT(5)
INIT(6)
INIT(7)
INIT(8)
INIT(9)
INIT(10)
INIT(11)
INIT(12)
INIT(13)
INIT(14)
INIT(15)

static init_fn *const our_init[NR_INITS] = {
	init_0, init_1, init_2,	 init_3,  init_4,  init_5,  init_6,  init_7,
	init_8, init_9, init_10, init_11, init_12, init_13, init_14, init_15,
};

/*
 * Make an object's DT_INIT lead to first_init(): it is mapped, and the loader has found its tables
 * but not read them.
 */
static void lead_init(const struct object *o)
{
	uint64_t bias = object_row(o)->bias;
	ElfW(Dyn) *dyn = NULL, *end = NULL;
	uint32_t i, n = 0;

	while (n < NR_INITS && inits[n].object)
		n++;
	if (n == NR_INITS)
		return;
	for (i = 0; i < o->nr_phdr; i++) {
		if (o->phdr[i].p_type == PT_DYNAMIC) {
			dyn = (void *)(bias + o->phdr[i].p_vaddr);
			end = dyn + o->phdr[i].p_memsz / sizeof(*dyn);
		}
	}
	while (dyn < end && dyn->d_tag != DT_INIT && dyn->d_tag != DT_NULL)
		dyn++;
	if (dyn == end || dyn->d_tag != DT_INIT || !is_data(o, (uint64_t)dyn))
		return;
	inits[n] = (struct init){o, dyn, dyn->d_un.d_val, (init_fn *)(bias + dyn->d_un.d_val)};
	dyn->d_un.d_val = (uint64_t)our_init[n] - bias;
}

/*
 * The loader's notification, after objects_update(): forget objects that are unloaded, and have new
 * ones, which are not relocated yet, looked at before their first constructor.
 */
static void objects_changed(void)
{
	uint32_t i;

	if (!interposer)
		return;
	/* pending objects are relocated or gone: the loader does one load at a time */
	settle(nr_known);
	nr_known = object_count();
	for (i = first_pending; i < object_count() && anything_wanted(); i++)
		if (has_words(object_at(i)) && !object_at(i)->relocated)
			lead_init(object_at(i));
	if (first_pending < nr_known && object_at(first_pending)->relocated)
		settle(nr_known);
}

static void start(const struct lifecycle_start *how)
{
	static struct interposer ours = {.apply = apply, .beside = beside, .weak = weak};

	(void)how;
	if (libc_is_static) {
		area_status("no events of malloc, locks and timers: the program is static", NULL,
			    0);
		return;
	}
	first_pending = nr_known = object_count();
	interposer_register(&ours);
}

LIFECYCLE(LIFECYCLE_HOOK, start, NULL, NULL);
OBJECT_FOLLOWER(OBJECT_FOLLOW_WORDS, objects_changed);
