/* SPDX-License-Identifier: MIT */
/*
 * See ops.h. The entry point saves all registers, vector state too, and calls ops_call(), which
 * goes through the callbacks that want this function.
 *
 * Who reads the list does so between two counts, one a CPU and phase. ops_synchronize() turns the
 * phase and waits until the counts of the old one are even, twice: whoever was inside has left
 * then, and whoever comes sees what was changed before. A callback that leaves by longjmp() is never
 * seen to leave. A call that a program's callback or an unwinder makes for us, or a signal handler on top
 * of them, is not called back (the recursion protection of the kernel). One that comes while nothing but the
 * engine runs is a signal handler's: our own callbacks have it too, the program's do not. Sets are replaced, never changed, while they are read.
 *
 * fork: counts start anew (ops_fork). Costs: bench "steady". Tests: tests/engine/fire/ops.
 */
#include "engine/core/ops.h"

#include <errno.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/core/area.h"
#include "engine/core/calls.h"
#include "engine/core/function.h"
#include "engine/core/function_word.h"
#include "engine/core/lock.h"

struct ops {
	void *program;
	ops_func *func;
	ops_own_func *own; /* instead of func */
	struct function_set filter, notrace;
	const struct function_set *set; /* of own: instead of them */
	uint64_t *bits;			/* what it wants, as the callbacks' list sees it */
	uint32_t nr_bits;
};

static struct ops pool[OPS_MAX];

/* What ops_call() reads. */
static struct list {
	uint32_t nr;
	struct {
		ops_func *func;
		ops_own_func *own;
		void *program;
		const uint64_t *bits;
		uint32_t nr_bits;
	} at[OPS_MAX];
} lists[2];
static struct list *list = &lists[0];

static uint64_t *next_of; /* by id */
static uint32_t nr_next;

#define NR_SHARDS 64u
static struct shard {
	uint64_t inside[2];
} __attribute__((aligned(64))) shards[NR_SHARDS];
static uint32_t phase;
static __thread uint32_t inside __attribute__((tls_model("initial-exec")));
static __thread uint32_t outside __attribute__((tls_model("initial-exec")));

#define MAX_INSIDE 4u /* as many as the kernel has contexts */

/* Where the function begins, as the kernel's ip; @site_end in a fork's child without an area. */
static uint64_t start_of(uint32_t id, uint64_t site_end)
{
	const struct area_function *f;

	if (!area)
		return site_end;
	f = area_function(id);
	return area_object(f->object)->bias + f->offset;
}

static int has(const uint64_t *bits, uint32_t nr, uint32_t id)
{
	return id < nr && (bits[id / 64] >> (id % 64) & 1);
}

/* A call that a callback's own reading of the list leads to, which keeps it. */
static void tell_missed(uint32_t id)
{
	const struct list *l = __atomic_load_n(&list, __ATOMIC_SEQ_CST);
	uint32_t i;

	for (i = 0; i < l->nr; i++)
		if (l->at[i].own && has(l->at[i].bits, l->at[i].nr_bits, id))
			l->at[i].own(id, l->at[i].program, NULL);
}

enum ops_entered ops_enter(struct ops_inside *in)
{
	if (outside || inside == MAX_INSIDE)
		return OPS_MISSED;
	inside++;
	barrier();
	in->count = &shards[arch_cpu() % NR_SHARDS].inside[load_relaxed(&phase) & 1];
	__atomic_fetch_add(in->count, 1, __ATOMIC_SEQ_CST);
	return inside == 1 ? OPS_FIRST : OPS_ON_TOP;
}

void ops_leave(const struct ops_inside *in)
{
	/* a fork's child, where a handler forked meanwhile: its counts began anew */
	if (!inside)
		return;
	__atomic_fetch_sub(in->count, 1, __ATOMIC_SEQ_CST);
	barrier();
	inside--;
}

void ops_outside_begin(void)
{
	outside++;
	barrier();
}

void ops_outside_end(void)
{
	barrier();
	if (outside)
		outside--;
}

uint64_t ops_call(struct ops_frame *frame, uint64_t word)
{
	uint32_t id = record_word_id(word), i;
	uint64_t site_end = frame->ip;
	/* as the function found them, whatever a callback does */
	const struct call_args args = {frame->r9, frame->r8, frame->di,
				       frame->si, frame->cx, frame->dx};
	struct ops_inside in;
	enum ops_entered entered = ops_enter(&in);

	if (entered != OPS_MISSED) {
		const struct list *l = __atomic_load_n(&list, __ATOMIC_SEQ_CST);

		for (i = 0; i < l->nr; i++) {
			if (!has(l->at[i].bits, l->at[i].nr_bits, id))
				continue;
			if (l->at[i].own) {
				l->at[i].own(id, l->at[i].program, frame);
			} else if (entered == OPS_FIRST) {
				ops_outside_begin();
				l->at[i].func(start_of(id, site_end), frame->parent_ip,
					      l->at[i].program, frame);
				ops_outside_end();
			}
		}
		ops_leave(&in);
	} else {
		tell_missed(id);
	}
	return calls_enter_saved(word, frame->parent_ip, site_end, &args);
}

uint64_t ops_next(uint32_t id)
{
	const uint64_t *nexts = load_acquire(&next_of);

	return nexts && id < load_relaxed(&nr_next) ? load_relaxed(&nexts[id]) : OPS_GO_ON;
}

static void wait_for(uint32_t p)
{
	for (;;) {
		uint64_t sum = 0;
		uint32_t i;

		for (i = 0; i < NR_SHARDS; i++)
			sum += __atomic_load_n(&shards[i].inside[p], __ATOMIC_SEQ_CST);
		if (!sum)
			return;
		arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
}

int ops_synchronize(void)
{
	static struct lock sync_lock;
	int round;

	if (inside)
		return -EDEADLK;
	lock_take(&sync_lock);
	for (round = 0; round < 2; round++)
		wait_for(__atomic_fetch_add(&phase, 1, __ATOMIC_SEQ_CST) & 1);
	lock_release(&sync_lock);
	return 0;
}

void ops_fork(void)
{
	memset(shards, 0, sizeof(shards));
	inside = 0;
	outside = 0;
}

struct ops *ops_find(void *program)
{
	uint32_t i;

	for (i = 0; i < OPS_MAX; i++)
		if (pool[i].program == program)
			return &pool[i];
	return NULL;
}

struct ops *ops_get(void *program)
{
	struct ops *o = ops_find(program);

	if (!o)
		o = ops_find(NULL);
	if (o)
		o->program = program;
	return o;
}

static void free_bits(uint64_t *bits, uint32_t n)
{
	if (bits)
		sys_munmap(bits, (size_t)n / 8 + 16);
}

void ops_put(struct ops *o)
{
	function_set_clear(&o->filter);
	function_set_clear(&o->notrace);
	free_bits(o->bits, o->nr_bits);
	o->bits = NULL;
	o->set = NULL;
	o->program = NULL;
}

int ops_any(void)
{
	return list->nr > 0;
}

uint32_t ops_wanting(uint32_t id)
{
	uint32_t i, n = 0;

	for (i = 0; i < list->nr; i++)
		n += (uint32_t)has(list->at[i].bits, list->at[i].nr_bits, id);
	return n;
}

int ops_set_next(uint32_t id, uint64_t next)
{
	uint32_t n = area->tables[AREA_FUNCTIONS].capacity;
	long p;

	if (!next_of) {
		/* room for every id there can be: memory comes with the first store */
		p = sys_mmap(NULL, (size_t)n * 8, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (sys_failed(p))
			return (int)p;
		store_release(&nr_next, n);
		store_release(&next_of, (uint64_t *)p);
	}
	if (id < n)
		store_relaxed(&next_of[id], next);
	return 0;
}

static int wants(const struct ops *o, uint32_t id)
{
	if (o->set)
		return (o->set->shown && !o->set->count) || function_set_has(o->set, id);
	return !function_set_has(&o->notrace, id) &&
	       (!o->filter.count || function_set_has(&o->filter, id));
}

static int is_on(const struct ops *o)
{
	return o->func || o->own;
}

/* A new set of what @o wants. Return: 0 or -ENOMEM; the old one in *@old. */
static int make_bits(struct ops *o, uint64_t **old, uint32_t *nr_old)
{
	uint32_t n = function_count(), id;
	long p = sys_mmap(NULL, (size_t)n / 8 + 16, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *bits = (uint64_t *)p;

	if (sys_failed(p))
		return -ENOMEM;
	for (id = 0; id < n; id++)
		if (wants(o, id))
			bits[id / 64] |= UINT64_C(1) << (id % 64);
	*old = o->bits;
	*nr_old = o->nr_bits;
	o->bits = bits;
	o->nr_bits = n;
	return 0;
}

/* Publish the callbacks; nobody reads the other list, because each change waits for all readers. */
static void publish(void)
{
	struct list *l = list == &lists[0] ? &lists[1] : &lists[0];
	uint32_t i;

	l->nr = 0;
	for (i = 0; i < OPS_MAX; i++) {
		if (!pool[i].program || !is_on(&pool[i]))
			continue;
		l->at[l->nr].func = pool[i].func;
		l->at[l->nr].own = pool[i].own;
		l->at[l->nr].program = pool[i].program;
		l->at[l->nr].bits = pool[i].bits;
		l->at[l->nr].nr_bits = pool[i].nr_bits;
		l->nr++;
	}
	__atomic_store_n(&list, l, __ATOMIC_SEQ_CST);
}

/* What @o wants has changed, or it has come or gone. */
static int change(struct ops *o, ops_func *func, ops_own_func *own)
{
	uint64_t *old;
	uint32_t nr_old;
	int before = is_on(o), err;

	if (inside)
		return -EDEADLK;
	err = make_bits(o, &old, &nr_old);
	if (err)
		return err;
	o->func = func;
	o->own = own;
	publish();
	err = ftrace_update();
	if (err && is_on(o) && !before) {
		o->func = NULL;
		o->own = NULL;
		publish();
		ftrace_update();
	}
	ops_synchronize();
	free_bits(old, nr_old);
	return err;
}

int ops_set_filter(struct ops *o, const char *text, size_t n, int reset, int notrace)
{
	struct function_set *set = notrace ? &o->notrace : &o->filter;
	size_t at = 0, bytes;
	const char *word;
	int err = 0, changed;

	if (inside)
		return -EDEADLK;
	if (reset)
		function_set_clear(set);
	while (!err && (word = function_word_next(text, n, &at, &bytes)))
		err = function_set_apply(set, word, bytes);
	changed = o->func ? change(o, o->func, NULL) : 0;
	return err ? err : changed;
}

int ops_register(struct ops *o, ops_func *func)
{
	return is_on(o) ? -EBUSY : change(o, func, NULL);
}

int ops_register_own(struct ops *o, ops_own_func *func, const struct function_set *set)
{
	o->set = set;
	return change(o, NULL, func);
}

int ops_unregister(struct ops *o)
{
	return is_on(o) ? change(o, NULL, NULL) : -EBUSY;
}
