/* SPDX-License-Identifier: MIT */
/*
 * See probe_begun.h: one table for the process, by the slot's address, so that neither coroutines nor
 * threads that leave matter. A row has one writer: whose stack the slot is on. Slots that are near each other have rows near
 * each other, so that a stack's calls touch few pages, and so much of a stack as the table has rows
 * for never meets itself. Calls that vanish where nobody can tell (with their thread) leave their rows taken,
 * until a call has the same slot. A call that finds NR_TRIES rows taken is kept nowhere, and its return missed:
 * kprobe_profile counts it.
 *
 * Mapped when it is first wanted, for ever; memory as it is used. fork: the child's is a copy.
 * Tests: tests/engine/events/begun.
 */
#include "engine/events/probe_begun.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/events/fetch.h"
#include "engine/ring/ring.h"

#define NR_ROWS	     32768u
#define NR_TRIES     16u
#define NR_REGISTERS 6u

struct row {
	uint64_t call; /* 0: free */
	uint64_t nr;
	uint64_t args[FETCH_MAX_BEGUN];
};

static struct row *table;

int probe_begun_start(void)
{
	long p;

	if (table)
		return 0;
	p = sys_mmap(NULL, NR_ROWS * sizeof(*table), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sys_failed(p))
		return -ENOMEM;
	store_release(&table, (struct row *)p);
	return 0;
}

int probe_begun_is_on(void)
{
	return table != NULL;
}

/* The first row in which a call is looked for; slots are 8 or 16 bytes apart at least. */
static uint32_t first_row(uint64_t call)
{
	uint64_t region = call / (NR_ROWS * UINT64_C(16));

	return (uint32_t)(call / 16 + (region * UINT64_C(0x9e3779b97f4a7c15) >> 40));
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

static struct row *take(uint64_t call)
{
	struct row *r = find(call);
	uint32_t first = first_row(call), i;

	for (i = 0; !r && i < NR_TRIES; i++) {
		struct row *free = &table[(first + i) % NR_ROWS];

		if (!load_relaxed(&free->call) && compare_and_store(&free->call, 0, call))
			r = free;
	}
	return r;
}

void probe_begun_keep(uint64_t call, const struct call_args *args, uint32_t n)
{
	const uint64_t registers[NR_REGISTERS] = {args->di, args->si, args->dx,
						  args->cx, args->r8, args->r9};
	struct row *r = take(call);
	uint32_t i;

	if (!r)
		return;
	for (i = 0; i < FETCH_MAX_BEGUN; i++)
		r->args[i] = i < NR_REGISTERS ? registers[i] : 0;
	r->nr = n > NR_REGISTERS ? n : NR_REGISTERS;
	/* the others lie above the return address; what cannot be read is 0 */
	if (n > NR_REGISTERS)
		fetch_memory(ring_ctl[0]->tid > 0 ? ring_ctl[0]->tid : sys_gettid(),
			     &r->args[NR_REGISTERS], (call & ~CALLS_TAIL) + 8,
			     (n - NR_REGISTERS) * 8);
}

const uint64_t *probe_begun_find(uint64_t call, uint32_t *n)
{
	struct row *r = find(call);

	*n = r ? (uint32_t)r->nr : 0;
	return r ? r->args : NULL;
}

void probe_begun_drop(uint64_t call)
{
	struct row *r = find(call);

	if (r)
		store_release(&r->call, 0);
}
