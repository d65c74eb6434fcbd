/* SPDX-License-Identifier: MIT */
/*
 * See graph_learn.h. Unknown stacks may be adjacent, so the distance between addresses proves
 * nothing. The walk from the call up to its callers decides (core/unwind.h): it reaches the stack
 * above, or it ends before. If the caller has no table, the innermost open call of the thread's
 * last stack may have made this call. If that did not either, and the call is so near that both may
 * be true, it is left out. See DECISIONS.md, "Stacks that nothing names".
 *
 * Owns nothing. fork: nothing to do. Costs: a walk of few frames for each call that is deeper on a
 * learned stack than all before. Tests: tests/engine/graph/adjacent.
 */
#include "engine/hook/graph/graph_learn.h"

#include <sys/uio.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/core/function.h"
#include "engine/core/interpose.h"
#include "engine/core/unwind.h"
#include "engine/hook/graph/graph.h"
#include "engine/hook/graph/graph_rows.h"
#include "engine/hook/graph/graph_wrap.h"
#include "engine/process/area.h"

#define PAGE	      UINT64_C(4096)
#define FIND_REACH    UINT64_C(65536) /* bytes in which a stack above is searched */
#define UNCLEAR_LAST  UINT64_C(16384) /* without tables: the thread was last on the stack above, */
#define UNCLEAR_OTHER UINT64_C(2048)  /* or on another stack */
#define ABANDONED_GAP UINT64_C(64)
#define MAX_FRAMES    1024u

int graph_may_read(const struct graph_stack *s, uint64_t slot, uint64_t near)
{
	uint8_t state;

	if ((slot ^ near) < PAGE)
		return 1;
	/* the memory of a stack with known bounds exists up to its end */
	if (sys_is_forbidden())
		return s->floor && slot > near;
	return !sys_mincore((void *)(slot & ~(PAGE - 1)), PAGE, &state);
}

int graph_called_by_innermost(const struct graph_stack *s, uint64_t slot)
{
	uint64_t return_address = *(const uint64_t *)slot, stub, id;
	const struct area_function *f;
	uint64_t start, end;

	if (s->open >= s->top || !graph_may_read(s, s->open, slot))
		return 0;
	stub = *(const uint64_t *)s->open;
	if (!graph_is_stub(stub))
		return 0;
	id = graph_stub_function(stub);
	if (graph_is_wrap_id((uint32_t)id))
		return 0;
	f = area_function((uint32_t)id);
	start = area_object(f->object)->bias + f->offset;
	end = start + 65536;
	if (id + 1 < function_count_known() && area_function((uint32_t)id + 1)->object == f->object)
		end = start - f->offset + area_function((uint32_t)id + 1)->offset;
	return return_address >= start && return_address < end;
}

/*
 * Whether all pages from @slot to @end can be read. A stack's pages can; guard pages and gaps
 * between mappings cannot.
 */
static int is_one_mapping(uint64_t slot, uint64_t end)
{
	uint64_t words[FIND_REACH / PAGE + 2], n = ((end - 1) >> 12) - (slot >> 12) + 1, i;
	struct iovec to = {words, 0}, from[ARRAY_SIZE(words)];

	if (n == 1)
		return 1;
	if (n > ARRAY_SIZE(words))
		return 0;
	for (i = 0; i < n; i++)
		from[i] = (struct iovec){(void *)((slot & ~(PAGE - 1)) + i * PAGE), 8};
	to.iov_len = n * 8;
	return arch_syscall(SYS_process_vm_readv, sys_own_tid(), (long)&to, 1, (long)from, (long)n,
			    0) == (long)to.iov_len;
}

/* A slot, and the nearest stack above it. */
struct above {
	uint64_t slot, lo;
	struct graph_stack *s;
	struct graph_stack *doubted; /* the learned stack that may be another one */
};

static int see_above(struct graph_stack *s, void *arg)
{
	uint64_t top = load_acquire(&s->top), lo = s->floor ? s->floor : load_acquire(&s->lo);
	int is_open = load_acquire(&s->open) < top;
	struct above *a = arg;

	if (top <= a->slot)
		return 1;
	if (lo >= top && s->doubt_lo) {
		lo = s->doubt_lo;
		if (a->slot >= lo)
			a->doubted = s;
		if (!is_open)
			return 1;
	}
	if (lo > a->slot && (!a->s || lo < a->lo)) {
		a->s = s;
		a->lo = lo;
	}
	return 1;
}

enum leads {
	LEADS_THERE,
	LEADS_ELSEWHERE,
	LEADS_NOWHERE, /* the caller has a table, but a caller further out has none */
	LEADS_UNKNOWN, /* the caller has no table */
};

/*
 * Whether the callers of the call at @slot are on the stack @a->s. @end: the end of readable
 * memory.
 */
static enum leads leads_to(const struct above *a, uint64_t fp, uint64_t end)
{
	const struct unwind_memory memory = {.of = {{a->slot, end}}};
	struct unwind u = {interpose_caller((const uint64_t *)a->slot), a->slot + 8, fp, 0};
	uint64_t top = load_acquire(&a->s->top), before;
	enum unwind_step how;
	uint32_t i;

	for (i = 0; i < MAX_FRAMES && u.ip; i++) {
		before = u.sp;
		how = unwind_step(&u, &memory);
		if (how == UNWIND_END)
			return LEADS_ELSEWHERE;
		if (how != UNWIND_CALLER && how != UNWIND_INTERRUPTED)
			return i ? LEADS_NOWHERE : LEADS_UNKNOWN;
		if (u.sp <= before || u.sp > top)
			return LEADS_ELSEWHERE;
		if (u.sp - 8 >= a->lo)
			return LEADS_THERE;
	}
	return u.ip ? LEADS_NOWHERE : LEADS_ELSEWHERE;
}

/*
 * There is a learned stack below a slot in the same page. If it is only a few bytes lower, it is
 * the same stack, which begins anew. If it has no open call, it may be the same stack, seen deeper,
 * or another one, on which a thread is just making its first call. So it is doubted: it covers
 * nothing, and the next call there decides. An open call shows that it is another stack.
 */
static int leave_below(struct graph_stack *s, void *arg)
{
	uint64_t slot = *(const uint64_t *)arg, top = load_acquire(&s->top);
	uint64_t lo = load_acquire(&s->lo);

	if (!top || s->floor || top > slot)
		return 1;
	if (slot - top < ABANDONED_GAP) {
		graph_row_forget(s);
	} else if (load_acquire(&s->open) >= top && lo < top) {
		store_release(&s->doubt_lo, lo);
		compare_and_store(&s->lo, lo, top);
	}
	return 1;
}

/* Make a new stack. Its top is the first slot seen: the rest of the page may be another stack's. */
static struct graph_stack *make(uint64_t slot)
{
	graph_rows_each(slot & ~(PAGE - 1), slot, leave_below, &slot);
	return graph_row_make(0, slot, (slot | 15) + 1);
}

struct graph_stack *graph_learn(const struct graph_stack *current, uint64_t slot, uint64_t fp,
				int *unclear)
{
	struct above a = {.slot = slot};
	uint64_t end;

	graph_rows_each(slot, slot + FIND_REACH, see_above, &a);
	if (a.doubted) {
		if (load_acquire(&a.doubted->open) < a.doubted->top)
			return a.doubted;
		graph_row_forget(a.doubted);
	}
	/* never past another stack, nor into one whose lower end is known */
	if (!a.s || a.s->floor)
		return make(slot);
	end = min_of(load_acquire(&a.s->top), slot + FIND_REACH);
	if (sys_is_forbidden())
		end = min_of(end, (slot | (PAGE - 1)) + 1);
	else if (end <= slot || !is_one_mapping(slot, end))
		return make(slot);
	switch (leads_to(&a, fp, end)) {
	case LEADS_THERE:
		return a.s;
	case LEADS_ELSEWHERE:
		return make(slot);
	case LEADS_UNKNOWN:
		if (a.s == current && !a.s->is_crowded && graph_called_by_innermost(a.s, slot))
			return a.s;
		break;
	case LEADS_NOWHERE:
		break;
	}
	/*
	 * a thread that may make no system call assumes that another page belongs to another stack
	 */
	if (sys_is_forbidden() && ((a.lo - 1) ^ slot) >= PAGE)
		return make(slot);
	if (a.lo - slot > (a.s == current ? UNCLEAR_LAST : UNCLEAR_OTHER))
		return make(slot);
	a.s->is_crowded = 1;
	*unclear = 1;
	return NULL;
}
