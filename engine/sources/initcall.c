/* SPDX-License-Identifier: MIT */
/*
 * See initcall.h. When the loader calls an object's initialisers, it reads from the object's
 * dynamic section where they are. While there is a listener, these entries name a function of ours,
 * which calls the object's own functions in the loader's order, with the loader's arguments. That
 * function is generated code with the object's number, as the loader passes nothing that identifies
 * the object.
 *
 * Objects are seen when the listener comes and when dlopen() announces them, before they are
 * relocated; the dynamic section is not relocated. It is written through /proc/self/mem, since the
 * loader may map it read-only. An object whose entries cannot be written is left alone, and
 * vestige_status reports it. Not seen: functions of atexit(), and the initialisers of a program
 * that was linked before glibc 2.34, which calls them itself.
 *
 * The entries are restored when the last listener leaves; the code stays. fork: the child has the
 * same. Costs: two reads of the clock for each call. Tests: tests/engine/tracers/initcall.
 */
#include "engine/sources/initcall.h"

#include <errno.h>
#include <fcntl.h>

#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/core/text_patch.h"
#include "engine/process/heap.h"
#include "engine/process/object.h"

enum kind { INIT, INIT_ARRAY, FINI_ARRAY, FINI, NR_KINDS };

typedef void initialiser(int argc, char **argv, char **env);

/* The entries of an object's dynamic section. */
struct calls {
	const struct object *object; /* NULL: a free row */
	int led;		     /* its entries lead to our code */
	uint64_t bias;
	uint64_t *entry[NR_KINDS]; /* d_ptr in the dynamic section; NULL: no such entry */
	uint64_t *bytes[NR_KINDS]; /* of an array: address of its DT_*_ARRAYSZ value */
	uint64_t own[NR_KINDS];	   /* the object's own value */
	uint64_t own_bytes[NR_KINDS];
	uint64_t stub[NR_KINDS]; /* array of one pointer, for the loader */
};

#define PAGE	  4096u
#define PER_PAGE  ((PAGE - 8u) / ARCH_NUMBERED_BYTES / NR_KINDS)
#define MAX_PAGES 64u

static struct calls *pages[MAX_PAGES]; /* of PER_PAGE rows each */
static uint8_t *code[MAX_PAGES];
static uint32_t nr_pages;
static int is_on;

static void notify(uint64_t function, int done, uint64_t ns)
{
	const struct initcall c = {function, done, ns};

	SOURCE_NOTIFY(struct initcall_listener, source_heard(&initcalls), &c);
}

static void call_one(uint64_t function, int argc, char **argv, char **env)
{
	uint64_t start;

	if (!function || function == UINT64_MAX)
		return;
	notify(function, 0, 0);
	start = sys_now_ns();
	((initialiser *)function)(argc, argv, env);
	notify(function, 1, sys_now_ns() - start);
}

/* Called by the loader through generated code. @number: of the object's row. */
static void run(int argc, char **argv, char **env, uint32_t number)
{
	const struct calls *c = &pages[number / NR_KINDS / PER_PAGE][number / NR_KINDS % PER_PAGE];
	enum kind kind = number % NR_KINDS;
	const uint64_t *array = (const uint64_t *)(c->bias + c->own[kind]);
	uint64_t nr = c->own_bytes[kind] / sizeof(*array), i;

	if (kind == INIT || kind == FINI)
		call_one(c->bias + c->own[kind], argc, argv, env);
	else if (kind == INIT_ARRAY)
		for (i = 0; i < nr; i++)
			call_one(array[i], argc, argv, env);
	else
		for (i = nr; i-- > 0;)
			call_one(array[i], argc, argv, env);
}

static int make_page(void)
{
	uint64_t target = (uint64_t)run;
	uint32_t i, first = nr_pages * PER_PAGE * NR_KINDS;
	struct calls *calls;
	uint8_t *at;

	if (nr_pages == MAX_PAGES)
		return -ENOSPC;
	calls = heap_alloc(PER_PAGE * sizeof(*calls));
	at = sys_map_anon(PAGE);
	if (!calls || !at) {
		heap_free(calls);
		return -ENOMEM;
	}
	memcpy(at + PAGE - sizeof(target), &target, sizeof(target));
	for (i = 0; i < PER_PAGE * NR_KINDS; i++)
		arch_make_numbered(
			at + i * ARCH_NUMBERED_BYTES, first + i,
			(int32_t)(PAGE - sizeof(target) - (i + 1) * ARCH_NUMBERED_BYTES));
	if (text_seal(at, PAGE)) {
		sys_munmap(at, PAGE);
		heap_free(calls);
		return -EACCES;
	}
	pages[nr_pages] = calls;
	code[nr_pages++] = at;
	return 0;
}

/* Get a free row; *@at: its code. */
static struct calls *get_calls(uint8_t **at)
{
	uint32_t i;

	for (i = 0; i < nr_pages * PER_PAGE || !make_page(); i++)
		if (!pages[i / PER_PAGE][i % PER_PAGE].object) {
			*at = code[i / PER_PAGE] + i % PER_PAGE * NR_KINDS * ARCH_NUMBERED_BYTES;
			return &pages[i / PER_PAGE][i % PER_PAGE];
		}
	return NULL;
}

static struct calls *find_calls(const struct object *o)
{
	uint32_t i;

	for (i = 0; i < nr_pages * PER_PAGE; i++)
		if (pages[i / PER_PAGE][i % PER_PAGE].object == o)
			return &pages[i / PER_PAGE][i % PER_PAGE];
	return NULL;
}

static void take_entry(struct calls *c, ElfW(Dyn) * dyn)
{
	static const struct {
		int64_t tag;
		enum kind kind;
		int bytes;
	} tags[] = {{DT_INIT, INIT, 0},
		    {DT_INIT_ARRAY, INIT_ARRAY, 0},
		    {DT_INIT_ARRAYSZ, INIT_ARRAY, 1},
		    {DT_FINI_ARRAY, FINI_ARRAY, 0},
		    {DT_FINI_ARRAYSZ, FINI_ARRAY, 1},
		    {DT_FINI, FINI, 0}};
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(tags); i++) {
		if (dyn->d_tag != tags[i].tag)
			continue;
		if (tags[i].bytes) {
			c->bytes[tags[i].kind] = (uint64_t *)&dyn->d_un.d_val;
			c->own_bytes[tags[i].kind] = dyn->d_un.d_val;
		} else {
			c->entry[tags[i].kind] = (uint64_t *)&dyn->d_un.d_ptr;
			c->own[tags[i].kind] = dyn->d_un.d_ptr;
		}
	}
}

static void read_entries(struct calls *c, const struct object *o)
{
	ElfW(Dyn) *dyn = NULL, *end = NULL;
	uint32_t i;

	for (i = 0; i < o->nr_phdr; i++)
		if (o->phdr[i].p_type == PT_DYNAMIC) {
			dyn = (ElfW(Dyn) *)(c->bias + o->phdr[i].p_vaddr);
			end = dyn + o->phdr[i].p_memsz / sizeof(*dyn);
		}
	for (; dyn && dyn < end && dyn->d_tag != DT_NULL; dyn++)
		take_entry(c, dyn);
}

static int put_word(int mem, uint64_t *at, uint64_t word)
{
	return sys_pwrite(mem, &word, sizeof(word), (uint64_t)at) == sizeof(word) ? 0 : -EACCES;
}

/* Write the entries: ours, or the object's own. */
static int put_entries(int mem, struct calls *c, int ours)
{
	uint32_t kind;
	int err = 0;

	for (kind = 0; kind < NR_KINDS && !err; kind++) {
		int is_array = kind == INIT_ARRAY || kind == FINI_ARRAY;

		if (!c->entry[kind] || (is_array && !c->bytes[kind]))
			continue;
		if (is_array)
			err = put_word(mem, c->bytes[kind],
				       ours ? sizeof(uint64_t) : c->own_bytes[kind]);
		if (!err)
			err = put_word(mem, c->entry[kind],
				       !ours	  ? c->own[kind]
				       : is_array ? (uint64_t)&c->stub[kind] - c->bias
						  : c->stub[kind] - c->bias);
	}
	return err;
}

/* Whether the object is the program's: not the engine, the loader or the vDSO. */
static int is_programs(const struct object *o)
{
	uint32_t status = object_row(o)->status;

	return o->loaded && status != AREA_OBJECT_VDSO && status != AREA_OBJECT_LOADER &&
	       status != AREA_OBJECT_ENGINE;
}

static void take_object(int mem, const struct object *o)
{
	struct calls *c;
	uint32_t kind;
	uint8_t *at;
	int err;

	if (!is_programs(o))
		return;
	c = find_calls(o);
	if (!c) {
		c = get_calls(&at);
		if (!c)
			return;
		*c = (struct calls){.bias = object_row(o)->bias};
		read_entries(c, o);
		for (kind = 0; kind < NR_KINDS; kind++)
			c->stub[kind] = (uint64_t)(at + kind * ARCH_NUMBERED_BYTES);
		c->object = o;
	}
	if (c->led)
		return;
	c->led = 1;
	err = put_entries(mem, c, 1);
	if (!err)
		return;
	put_entries(mem, c, 0);
	c->led = 0;
	area_status("its initialisers cannot be timed", o->name, err);
}

/* Take all loaded objects; rows of unloaded ones become free. */
static int take_objects(void)
{
	int mem = sys_open("/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	uint32_t i;

	for (i = 0; i < nr_pages * PER_PAGE; i++) {
		struct calls *c = &pages[i / PER_PAGE][i % PER_PAGE];

		if (c->object && !c->object->loaded)
			c->object = NULL;
	}
	if (mem < 0)
		return mem;
	for (i = 0; i < object_count(); i++)
		take_object(mem, object_at(i));
	sys_close(mem);
	return 0;
}

static void give_back(void)
{
	int mem = sys_open("/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	uint32_t i;

	for (i = 0; i < nr_pages * PER_PAGE; i++) {
		struct calls *c = &pages[i / PER_PAGE][i % PER_PAGE];

		/* the row stays: the loader may be calling its functions */
		if (mem >= 0 && c->object && c->object->loaded && c->led && !put_entries(mem, c, 0))
			c->led = 0;
	}
	if (mem >= 0)
		sys_close(mem);
}

static int want(struct source *s, int on)
{
	int err = 0;

	(void)s;
	if (on && !interpose_possible())
		return -ENODEV;
	is_on = on;
	if (on)
		err = take_objects();
	else
		give_back();
	if (err)
		is_on = 0;
	return err;
}

struct source initcalls = {.want = want};

static void follow(void)
{
	if (is_on)
		take_objects();
}

OBJECT_FOLLOWER(OBJECT_FOLLOW_INITIALISERS, follow);
