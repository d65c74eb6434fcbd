/* SPDX-License-Identifier: MIT */
/*
 * Finds functions whose calls must not be wrapped, since they would fail with a stub as their
 * return address:
 *
 *   - those that end with a jump into a function of libc that looks up its caller (dlsym() with
 *     RTLD_NEXT, dlopen() for its search path): the caller would be this library;
 *   - those that return twice, by the names that compilers know: at the second return the shadow of
 *     their slot may be another call's;
 *   - in objects that were built without any flag, those that touch their return address or leave
 *     for another stack (object/). (The author of a program that is built to be traced has
 *     vestige_return_address() for that.)
 *
 * Jumps are searched byte by byte, without decoding. Bytes that only look like a jump keep a
 * function out of the graph, and do no other harm. Constructor or agent context. No state.
 * Tests: tests/engine/graph/avoid.
 */
#include "engine/hook/graph/graph_notrace.h"

#include "arch_patch.h"
#include "arch_reloc.h"
#include "engine/base/bitmap.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/function.h"
#include "engine/process/elf_dynamic.h"

#define MAX_CELLS 32
#define MAX_BYTES 65536u /* of a function that are searched */

static const char *const callees[] = {"dlsym", "dlvsym", "dlopen", "dlmopen", "vfork"};
static const char *const twice[] = {"setjmp",	  "_setjmp", "sigsetjmp", "__sigsetjmp",
				    "getcontext", "savectx", "vfork",	  "swapcontext"};

/* The parts of an object that the search for jumps needs. */
struct jumps {
	uint64_t lo, hi; /* bounds of its executable segment */
	uint64_t cells[MAX_CELLS];
	uint32_t nr_cells;
};

static void add_cell(void *arg, uint64_t slot, uint32_t type, const struct dynamic_name *name)
{
	struct jumps *j = arg;
	uint32_t i;

	if (!arch_reloc_is_address(type))
		return;
	for (i = 0; i < ARRAY_SIZE(callees) && j->nr_cells < MAX_CELLS; i++)
		if (dynamic_name_is(name, callees[i]))
			j->cells[j->nr_cells++] = slot;
}

/* Find the words of the global offset table through which the object calls such functions. */
static void find_cells(const struct object *o, struct jumps *j)
{
	uint64_t bias = object_row(o)->bias;
	uint32_t i;

	for (i = 0; i < o->nr_phdr && !j->hi; i++) {
		const ElfW(Phdr) *p = &o->phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			j->lo = bias + p->p_vaddr;
			j->hi = j->lo + p->p_memsz;
		}
	}
	dynamic_names(o, add_cell, j);
}

static int is_cell(const struct jumps *j, uint64_t cell)
{
	uint32_t i;

	for (i = 0; i < j->nr_cells; i++)
		if (j->cells[i] == cell)
			return 1;
	return 0;
}

/* Whether a jump at @p leads to one of those functions, directly or through the PLT. */
static int jumps_there(const struct jumps *j, const uint8_t *p)
{
	uint64_t to = arch_jump_through(p, j->hi - (uint64_t)p);

	if (to)
		return is_cell(j, to);
	to = arch_jump_target(p);
	if (!to || to < j->lo || to >= j->hi)
		return 0;
	to = arch_jump_through((const uint8_t *)to, j->hi - to);
	return to && is_cell(j, to);
}

static void mark(uint64_t *bits, uint32_t i, uint32_t *count)
{
	*count += !bitmap_has(bits, i);
	bitmap_set(bits, i);
}

int graph_notrace_may_wrap(const struct dynamic_name *name)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(callees); i++)
		if (dynamic_name_is(name, callees[i]))
			return 0;
	for (i = 0; i < ARRAY_SIZE(twice); i++)
		if (dynamic_name_is(name, twice[i]))
			return 0;
	return !dynamic_name_is(name, "__tls_get_addr");
}

struct named {
	const struct object *o;
	uint64_t *bits;
	uint32_t count;
};

static int mark_symbol(void *arg, uint64_t value, const char *name)
{
	struct named *n = arg;
	uint32_t id, i;

	for (i = 0; i < ARRAY_SIZE(twice) && !str_equal(twice[i], name); i++)
		;
	if (i == ARRAY_SIZE(twice))
		return 0;
	id = function_at(n->o, value);
	if (id != UINT32_MAX)
		mark(n->bits, id - object_row(n->o)->first_function, &n->count);
	return 0;
}

uint32_t graph_notrace_find(const struct object *o, uint64_t *bits)
{
	const struct area_object *row = object_row(o);
	struct named named = {o, bits, 0};
	struct jumps j = {0};
	struct elf_file f;
	uint32_t i;

	find_cells(o, &j);
	for (i = 0; i < row->nr_functions; i++)
		if (area_function(row->first_function + i)->flags & AREA_FUNCTION_ENTRY_ONLY)
			mark(bits, i, &named.count);
	for (i = 0; i < row->nr_functions && j.nr_cells; i++) {
		uint64_t p = row->bias + area_function(row->first_function + i)->offset;
		uint64_t end = p + MAX_BYTES;

		if (i + 1 < row->nr_functions)
			end = row->bias + area_function(row->first_function + i + 1)->offset;
		if (end > p + MAX_BYTES)
			end = p + MAX_BYTES;
		for (; p < end && p + ARCH_SITE_FULL < j.hi; p++) {
			if (arch_may_be_jump(*(const uint8_t *)p) &&
			    jumps_there(&j, (const uint8_t *)p)) {
				mark(bits, i, &named.count);
				break;
			}
		}
	}
	if (!elf_file_open(&f, o)) {
		elf_file_symbols(&f, mark_symbol, &named);
		elf_file_close(&f);
	}
	return named.count;
}
