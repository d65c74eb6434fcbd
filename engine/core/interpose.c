/* SPDX-License-Identifier: MIT */
/*
 * See interpose.h. Stores which functions are wanted; hook/libc/got.c changes the words. Wrappers
 * of one function keep their order for ever, so a wrapper that is called late still leads to the
 * function. Under the tree lock. fork: the child wants what its parent did. Tests:
 * tests/engine/events/kmem.
 */
#include "engine/core/interpose.h"
#include "engine/core/jump.h"

#include <errno.h>
#include <stddef.h>

#include "arch_barrier.h"
#include "engine/base/mem.h"
#include "engine/process/heap.h"

struct interposed_function *interposed_functions;
const struct interposer *interposer;
struct return_stubs return_stubs;
__thread uint32_t interpose_mutes;
jump_listener *jump_listening;

void interposer_register(const struct interposer *i)
{
	interposer = i;
}

static struct interposed_function *function_of(const char *name)
{
	struct interposed_function *f = interposed_functions;

	while (f && !str_equal(f->name, name))
		f = f->next;
	if (f)
		return f;
	f = heap_alloc(sizeof(*f));
	if (!f)
		return NULL;
	f->name = name;
	f->hash = str_hash(name);
	f->next = interposed_functions;
	interposed_functions = f;
	return f;
}

static int join(struct interposed *row)
{
	if (row->function)
		return 0;
	row->function = function_of(row->name);
	if (!row->function)
		return -ENOMEM;
	row->next = row->function->rows;
	row->function->rows = row;
	return 0;
}

static struct interposed *first_wanted(struct interposed *row)
{
	while (row && !row->users)
		row = row->next;
	return row;
}

int interposed_wanted(const struct interposed_function *f)
{
	return first_wanted(f->rows) != NULL;
}

const void *interposed_link(const struct interposed_function *f)
{
	struct interposed *row, *next;

	for (row = f->rows; row; row = row->next) {
		next = first_wanted(row->next);
		store_release(&row->real, next ? (void *)(uintptr_t)next->wrapper : f->real);
	}
	row = first_wanted(f->rows);
	return row && f->real ? row->wrapper : NULL;
}

int interpose_possible(void)
{
	return interposer != NULL;
}

int interpose_register(struct interposed *rows, uint32_t n)
{
	uint32_t i;
	int err = 0;

	if (!interposer)
		return -ENODEV;
	for (i = 0; i < n && !err; i++)
		err = join(&rows[i]);
	if (err)
		return err;
	for (i = 0; i < n; i++)
		rows[i].users++;
	err = interposer->apply();
	if (err)
		interpose_unregister(rows, n);
	return err;
}

void interpose_unregister(struct interposed *rows, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		rows[i].users--;
	interposer->apply();
}

void *interpose_beside(const void *address, const char *name)
{
	return interposer ? interposer->beside(address, name) : NULL;
}

void interpose_weak(const char *name, const void *address)
{
	if (interposer)
		interposer->weak(name, address);
}
