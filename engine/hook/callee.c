/* SPDX-License-Identifier: MIT */
/*
 * Finds the callers of __fentry__, mcount and __cyg_profile_func_enter. A call is a direct call to
 * a stub of the PLT, or one through the GOT. Either leads to a word that a relocation of that name
 * fills (elf_dynamic.h). The word need not be relocated yet: dlopen() reports an object before it
 * relocates the object.
 *
 * -pg has two uses. A program that is linked with -pg is profiled: its start-up code calls
 * monstartup(), and the calls of mcount are the arcs of its gmon.out. In such a process all calls
 * are passed on, and so are calls of an mcount that is not libc's but the program's own. Everywhere
 * else the calls do nothing and are patched away. Constructor context, and the loader's
 * notification; nothing for fork. Costs a few ns for each relocation; the search costs 1 ns for
 * each byte of objects that have such calls. Tests: tests/engine/targets (fentry-*, mcount-*,
 * cyg-*).
 */
#include "engine/hook/callee.h"

#include "arch_patch.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/libc.h"
#include "engine/hook/cyg.h"
#include "engine/process/elf_dynamic.h"

static const struct {
	const char *name;
	enum callee_id id;
} names[] = {
	{"__fentry__", CALLEE_FENTRY},	     {"mcount", CALLEE_MCOUNT},
	{"_mcount", CALLEE_MCOUNT},	     {"__cyg_profile_func_enter", CALLEE_CYG_ENTER},
	{"__monstartup", CALLEE_MONSTARTUP}, {"monstartup", CALLEE_MONSTARTUP},
};

void (*hook_real_fentry)(void);
void (*hook_real_mcount)(void);
static uint8_t passed_on[CALLEE_NR];

static int inside(const struct callees *c, const void *p, uint64_t bytes)
{
	uint64_t at = (uint64_t)p;

	return at >= c->lo && at <= c->hi && bytes <= c->hi - at;
}

static void note_slot(void *arg, uint64_t slot, uint32_t type, const struct dynamic_name *name)
{
	struct callees *c = arg;
	uint32_t i;

	(void)type;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		uint32_t *nr = &c->of[names[i].id].nr_slots;

		if (!dynamic_name_is(name, names[i].name))
			continue;
		if (names[i].id == CALLEE_CYG_ENTER && !cyg_is_ours())
			return;
		c->nr_found++;
		if (*nr < ARRAY_SIZE(c->of[0].slots))
			c->of[names[i].id].slots[(*nr)++] = slot;
		return;
	}
}

/* Functions that are linked into the program are called by their addresses. */
static void find_direct(struct callees *c)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const void *p = libc_symbol(names[i].name);

		if (!p || !inside(c, p, 1) || (names[i].id == CALLEE_CYG_ENTER && !cyg_is_ours()))
			continue;
		c->of[names[i].id].direct = (uint64_t)p;
		c->nr_found++;
	}
}

int callees_maybe(const struct object *o)
{
	const char *all[ARRAY_SIZE(names)];
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		all[i] = names[i].name;
	return libc_is_static || dynamic_may_name(o, all, ARRAY_SIZE(names));
}

uint32_t callees_find(struct callees *c, const struct object *o)
{
	memset(c, 0, sizeof(*c));
	c->lo = object_row(o)->lo;
	c->hi = object_row(o)->hi;
	dynamic_names(o, note_slot, c);
	if (libc_is_static)
		find_direct(c);
	return c->nr_found;
}

static int is_slot(const struct callees *c, enum callee_id id, uint64_t slot)
{
	uint32_t i;

	for (i = 0; i < c->of[id].nr_slots; i++)
		if (c->of[id].slots[i] == slot)
			return 1;
	return 0;
}

static int leads_to(struct callees *c, enum callee_id id, const struct arch_call *call)
{
	uint64_t slot;

	if (call->indirect)
		return is_slot(c, id, call->target);
	if (call->target == c->of[id].direct || call->target == c->of[id].stub)
		return 1;
	if (!c->of[id].nr_slots || !inside(c, (const void *)call->target, 16))
		return 0;
	slot = arch_stub_slot((const uint8_t *)call->target);
	if (!slot || !is_slot(c, id, slot))
		return 0;
	c->of[id].stub = call->target;
	return 1;
}

uint32_t callees_at(struct callees *c, const uint8_t *p, uint64_t n, enum callee_id *id)
{
	struct arch_call call;
	uint32_t i;

	if (!arch_may_be_call(*p) || !arch_read_call(p, n, &call) || !call.target)
		return 0;
	for (i = 0; i < CALLEE_MONSTARTUP; i++) {
		if (leads_to(c, i, &call)) {
			*id = i;
			return call.bytes;
		}
	}
	return 0;
}

void callees_start(void)
{
	int profiled = libc_symbol("__gmon_start__") != NULL;
	struct callees c;
	uint32_t i;

	for (i = 0; i < object_count() && !profiled; i++)
		if (object_row(object_at(i))->status == AREA_OBJECT_TRACED &&
		    callees_maybe(object_at(i)) && callees_find(&c, object_at(i)))
			profiled = c.of[CALLEE_MONSTARTUP].nr_slots > 0;
	hook_real_fentry = (void (*)(void))libc_symbol("__fentry__");
	hook_real_mcount = (void (*)(void))libc_symbol("mcount");
	passed_on[CALLEE_FENTRY] = !libc_owns((const void *)hook_real_fentry) || profiled;
	passed_on[CALLEE_MCOUNT] = !libc_owns((const void *)hook_real_mcount) || profiled;
	if (profiled)
		area_status(
			"profiled by gmon: its calls of mcount are passed on, and cost when off",
			NULL, 0);
}

int callee_passes_on(enum callee_id id)
{
	return passed_on[id];
}
