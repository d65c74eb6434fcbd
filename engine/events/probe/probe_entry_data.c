/* SPDX-License-Identifier: MIT */
/*
 * See probe_entry_data.h: one table for the process, indexed by the slot's address, so coroutines
 * and ended threads need no care. A row has one writer: the thread on whose stack the word is.
 * Words that are near each other have rows near each other, so a stack's calls touch few pages, and
 * a stretch of stack as long as the table never collides with itself.
 *
 * Calls that end unseen (with their thread, with a coroutine that is dropped, by a handler's
 * longjmp() out of the engine) leave their rows in use. If a call finds NR_TRIES rows in use, it
 * takes over a row whose call cannot be open any more, because its stack or its frame is gone. If
 * all are open, its arguments are not kept, and its return counts as missed in kprobe_profile. A
 * row is FILLING while its writer writes it.
 *
 * The table is mapped when it is first needed, and stays; memory comes with use. fork: the child
 * has a copy, and the stacks of threads that it does not have are gone. Tests:
 * tests/engine/events/entry_data.
 */
#include "engine/events/probe/probe_entry_data.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/hash.h"
#include "engine/events/probe/fetch.h"
#include "engine/ring/ring.h"

#define NR_ROWS	 32768u
#define NR_TRIES 16u
#define FILLING	 UINT64_C(2) /* in `call`: the row is being written */

struct row {
	uint64_t call;	/* 0: free */
	uint64_t stack; /* the stack on which it began */
	uint64_t nr;	/* of arguments */
	uint64_t args[FETCH_MAX_BEGUN];
};

static struct row *table;

int probe_entry_data_start(void)
{
	return sys_map_table_once(&table, NR_ROWS * sizeof(*table));
}

int probe_entry_data_is_on(void)
{
	return table != NULL;
}

/* The first row to look for a call in. Slots are at least 8 or 16 bytes apart. */
static uint32_t first_row(uint64_t call)
{
	uint64_t region = call / (NR_ROWS * UINT64_C(16));

	return (uint32_t)(call / 16 + (hash_u64(region) >> 40));
}

static struct row *find(uint64_t call)
{
	struct row *rows = load_acquire(&table);
	uint32_t first = first_row(call), i;

	for (i = 0; rows && i < NR_TRIES; i++)
		if (load_relaxed(&rows[(first + i) % NR_ROWS].call) == call)
			return &rows[(first + i) % NR_ROWS];
	return NULL;
}

/* Take over a row whose `call` is @was. Return: whether it was. */
static int claim(struct row *r, uint64_t was, uint64_t call)
{
	return compare_and_store(&r->call, was, call | FILLING);
}

/* Take over the row of a call that cannot be open any more. Return: whether it did. */
static int claim_stale(struct row *r, uint64_t call)
{
	uint64_t was = load_acquire(&r->call);
	/* a row that is being written may still have the previous call's stack */
	uint64_t stack = was & FILLING ? 0 : load_relaxed(&r->stack);

	return !ops_call_may_be_open(was & ~FILLING, stack, call) && claim(r, was, call);
}

/* Take a row to fill in; NULL: there is no room. */
static struct row *take(uint64_t call)
{
	uint32_t first = first_row(call), i;
	struct row *r;

	/* the row of an older call with the same word */
	for (i = 0; i < NR_TRIES; i++) {
		r = &table[(first + i) % NR_ROWS];
		if ((load_relaxed(&r->call) & ~FILLING) == call &&
		    claim(r, load_relaxed(&r->call), call))
			return r;
	}
	for (i = 0; i < NR_TRIES; i++) {
		r = &table[(first + i) % NR_ROWS];
		if (!load_relaxed(&r->call) && claim(r, 0, call))
			return r;
	}
	for (i = 0; i < NR_TRIES; i++) {
		r = &table[(first + i) % NR_ROWS];
		if (claim_stale(r, call))
			return r;
	}
	return NULL;
}

void probe_entry_data_keep(uint64_t call, uint64_t stack, const struct arch_args *args, uint32_t n)
{
	struct row *r = take(call);
	uint32_t i;

	if (!r)
		return;
	store_relaxed(&r->stack, stack);
	arch_args_get(args, r->args);
	for (i = ARCH_NR_ARGS; i < FETCH_MAX_BEGUN; i++)
		r->args[i] = 0;
	r->nr = n > ARCH_NR_ARGS ? n : ARCH_NR_ARGS;
	/* the others are above the return address; a word that cannot be read becomes 0 */
	if (n > ARCH_NR_ARGS)
		fetch_memory(ring_ctl[0]->tid > 0 ? ring_ctl[0]->tid : sys_own_tid(),
			     &r->args[ARCH_NR_ARGS], (call & ~OPS_TAIL) + 8,
			     (n - ARCH_NR_ARGS) * 8);
	store_release(&r->call, call);
}

const uint64_t *probe_entry_data_find(uint64_t call, uint32_t *n)
{
	struct row *r = find(call);

	*n = r ? (uint32_t)r->nr : 0;
	return r ? r->args : NULL;
}

void probe_entry_data_drop(uint64_t call)
{
	struct row *r = find(call);

	if (r)
		store_release(&r->call, 0);
}
