/* SPDX-License-Identifier: MIT */
/*
 * See guard.h. Ten times a second the agent looks at up to 64 of the pages that were published
 * since the last time. It counts their records by thread and by function, and multiplies the counts
 * to allow for the pages that it skipped. Each record is taken as RECORD_NS of the thread's CPU
 * time. For the thread that is farthest above the budget, one function a turn is added to
 * set_ftrace_notrace: the one with the most calls that called no traced function. A line in the
 * trace and one in vestige_status report it. The function stays off until set_ftrace_notrace is
 * changed.
 *
 * In the top instance alone. Nothing in hot paths. In the agent; it switches functions off under
 * the tree lock. fork: the child's agent goes on. Costs: some 100 us a turn while it is on. Tests:
 * tests/engine/events/guard.
 */
#include "engine/control/guard.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/control/tree.h"
#include "engine/core/function.h"
#include "engine/core/options.h"
#include "engine/core/symbol_names.h"
#include "engine/core/trace_array.h"
#include "engine/process/area.h"
#include "engine/process/object.h"
#include "engine/ring/pool.h"

#define TURN_MS	    100
#define MAX_PAGES   64u
#define MAX_THREADS 64u
#define MAX_COUNTS  1024u /* a power of two */
#define RECORD_NS   12u	  /* of the bench's rows "calls" and "graph", for a record */

struct seen_thread {
	int32_t tid; /* 0: a free row */
	uint32_t records;
	uint32_t met; /* it had records in the last turn too; cpu_ns is its CPU time then */
	uint64_t cpu_ns;
};

struct call_count {
	uint32_t id; /* id + 1; 0: a free row */
	uint32_t leaves;
	int32_t tid;
};

static struct {
	struct seen_thread threads[MAX_THREADS];
	struct call_count counts[MAX_COUNTS];
	uint64_t page[PAGE_BYTES / 8]; /* a copy of a page */
} at BIG_ZEROS;

static uint32_t is_on;
static uint64_t budget = 5; /* percent */
static uint64_t last_seq;   /* published when the last turn ended; 0: there was no turn */

static struct seen_thread *thread_of(int32_t tid)
{
	struct seen_thread *free = NULL;
	uint32_t i;

	for (i = 0; i < MAX_THREADS; i++) {
		if (at.threads[i].tid == tid)
			return &at.threads[i];
		if (!at.threads[i].tid && !free)
			free = &at.threads[i];
	}
	if (free)
		*free = (struct seen_thread){.tid = tid};
	return free;
}

static void count_leaf(uint32_t id, int32_t tid)
{
	uint32_t i = (id * 2654435761u ^ (uint32_t)tid) & (MAX_COUNTS - 1), probe;

	for (probe = 0; probe < 16; probe++, i = (i + 1) & (MAX_COUNTS - 1)) {
		struct call_count *c = &at.counts[i];

		if (!c->id)
			*c = (struct call_count){.id = id + 1, .tid = tid};
		if (c->id == id + 1 && c->tid == tid) {
			c->leaves++;
			return;
		}
	}
}

/* The address of a function's first byte. 0: there is no such function. */
static uint64_t address_of(uint32_t id)
{
	const struct area_function *f;

	if (id >= function_count_known())
		return 0;
	f = area_function(id);
	return area_object(f->object)->bias + f->offset;
}

/* Whether @ip is in function @id. Functions of an object are sorted by address. */
static int is_in(uint64_t ip, uint32_t id)
{
	uint64_t from = address_of(id), next = address_of(id + 1);

	return from && ip > from && (next <= from || ip <= next);
}

static int is_call(enum record_kind kind)
{
	return kind == RECORD_FUNCTION || kind == RECORD_FUNCTION_ARGS || kind == RECORD_ENTRY ||
	       kind == RECORD_ENTRY_ARGS || kind == RECORD_TAIL;
}

static int is_exit(enum record_kind kind)
{
	return kind == RECORD_EXIT || kind == RECORD_EXIT_VALUE;
}

/* Count the records of the copied page. */
static void count_page(struct seen_thread *t)
{
	const struct page_head *head = (const struct page_head *)at.page;
	uint64_t end = head->commit < PAGE_BYTES ? head->commit : PAGE_BYTES, pos;
	enum record_kind last_kind = RECORD_VOID;
	uint32_t last = 0;

	for (pos = PAGE_HEAD_BYTES; pos + 8 <= end;) {
		uint64_t word = at.page[pos / 8];
		enum record_kind kind = record_word_kind(word);
		uint32_t bytes = record_word_bytes(word), id = record_word_id(word);
		int plain = kind == RECORD_FUNCTION || kind == RECORD_FUNCTION_ARGS;

		if (!bytes || bytes > end - pos)
			return;
		if (is_call(kind) || is_exit(kind)) {
			t->records++;
			/* a call that has no traced call within it */
			if (is_exit(kind) ? is_call(last_kind) && last == id
					  : plain && is_call(last_kind) &&
						    !is_in(at.page[pos / 8 + 1], last))
				count_leaf(last, t->tid);
			last_kind = kind;
			last = id;
		}
		pos += bytes;
	}
}

/* Copy page @index, published as @seq. Return: whether it was still there after the copy. */
static int copy_page(const struct ring *r, uint32_t index, uint64_t seq)
{
	const volatile uint64_t *page = (const volatile uint64_t *)pool_page(r, index);
	uint32_t i, state;

	for (i = 0; i < PAGE_BYTES / 8; i++)
		at.page[i] = page[i];
	barrier();
	state = load_acquire(&r->descs[index].state);
	return (state == PAGE_PUBLISHED || state == PAGE_FREE) &&
	       load_relaxed(&r->descs[index].seq) == seq;
}

/*
 * Count the pages published after @from, up to @to, that are not overwritten. Return: N, if one
 * page in every N was looked at.
 */
static uint64_t look(const struct ring *r, uint64_t from, uint64_t to)
{
	uint64_t all = to - from, each, room = 0;
	uint32_t cpu, i, n = 0;

	for (cpu = 0; cpu < r->nr_cpus; cpu++)
		room += load_relaxed(&r->cpus[cpu].nr_backed);
	/* one busy thread has the share of one CPU */
	room /= 2 * r->nr_cpus;
	if (all > room)
		from = to - room;
	each = (to - from) / MAX_PAGES + 1;

	for (i = 0; i < MAX_THREADS; i++)
		at.threads[i].records = 0;
	memset(at.counts, 0, sizeof(at.counts));
	for (cpu = 0; cpu < r->nr_cpus; cpu++) {
		const struct area_cpu *row = &r->cpus[cpu];

		for (i = row->first_page; i < row->first_page + load_relaxed(&row->nr_backed);
		     i++) {
			uint64_t seq = load_relaxed(&r->descs[i].seq);
			struct seen_thread *t;

			if (seq <= from || seq > to || seq % each || !copy_page(r, i, seq))
				continue;
			t = thread_of(((const struct page_head *)at.page)->tid);
			n++;
			if (t)
				count_page(t);
		}
	}
	return n ? all / n : 0;
}

static uint64_t cpu_ns_of(int32_t tid)
{
	int64_t time[2];

	if (arch_syscall(SYS_clock_gettime, sys_thread_clock(tid), (long)time, 0, 0, 0, 0))
		return 0;
	return (uint64_t)time[0] * 1000000000 + (uint64_t)time[1];
}

/* The thread in which tracing takes the greatest share of CPU time; *@share: that, in percent. */
static struct seen_thread *worst_thread(uint64_t each, uint64_t *share)
{
	struct seen_thread *worst = NULL;
	uint32_t i;

	*share = 0;
	for (i = 0; i < MAX_THREADS; i++) {
		struct seen_thread *t = &at.threads[i];
		uint64_t now, used, percent;

		if (!t->tid)
			continue;
		now = cpu_ns_of(t->tid);
		used = now - t->cpu_ns;
		if (t->met && now > t->cpu_ns && t->records) {
			percent = t->records * each * RECORD_NS * 100 / used;
			if (percent > *share) {
				*share = percent > 99 ? 99 : percent;
				worst = t;
			}
		}
		if (!now)
			t->tid = 0; /* it has ended */
		t->cpu_ns = now;
		t->met = 1;
	}
	return worst;
}

static void say(const char *name, uint64_t share, int32_t tid)
{
	char text[160];
	struct seq_buf s;

	area_status("the guard switched off a function, as tracing took too much time", name, 0);
	seq_init(&s, text, sizeof(text));
	seq_puts(&s, "guard: ");
	seq_puts(&s, name);
	seq_puts(&s, " is switched off: tracing took ");
	seq_putu(&s, share);
	seq_puts(&s, "% of thread ");
	seq_putu(&s, (uint64_t)tid);
	tree_write("trace_marker", text, s.len, 0);
}

/* Put the function's name; without a symbol OBJECT+0xOFFSET, as the tools do. */
static void put_name(struct seq_buf *s, uint32_t id)
{
	struct symbol_name name = {.address = address_of(id) + 1};
	const struct area_function *f = area_function(id);
	uint32_t i = 0;

	symbol_names(&name, 1);
	while (i < object_count() && object_row(object_at(i)) != area_object(f->object))
		i++;
	if (i < object_count() && name.start &&
	    function_at(object_at(i), name.start - area_object(f->object)->bias) == id) {
		seq_puts(s, name.name);
		return;
	}
	seq_puts(s, i < object_count() ? object_at(i)->name : "");
	seq_puts(s, "+0x");
	seq_putx(s, f->offset);
}

/* Switch a function off by its id: several functions, or none, may have its name. */
static void switch_off_hottest(int32_t tid, uint64_t share)
{
	const struct call_count *hottest = NULL;
	char name[64] = "", number[24];
	struct seq_buf s;
	uint32_t i;

	for (i = 0; i < MAX_COUNTS; i++)
		if (at.counts[i].id && at.counts[i].tid == tid &&
		    (!hottest || at.counts[i].leaves > hottest->leaves))
			hottest = &at.counts[i];
	if (!hottest || tree_enter())
		return;
	seq_init(&s, name, sizeof(name) - 1);
	if (hottest->id <= function_count_known())
		put_name(&s, hottest->id - 1);
	tree_lock_release();
	seq_init(&s, number, sizeof(number));
	seq_putu(&s, hottest->id);
	if (*name && !tree_write("set_ftrace_notrace", number, s.len, 0))
		say(name, share, tid);
}

int guard_work(int timeout_ms)
{
	static uint64_t looked_ms;
	const struct ring *r = global_trace.ring;
	uint64_t now_ms, to, share, each;
	struct seen_thread *t;

	if (!load_relaxed(&is_on))
		return timeout_ms;
	now_ms = sys_now_ns() / 1000000;
	if (now_ms - looked_ms >= TURN_MS) {
		looked_ms = now_ms;
		to = load_relaxed(&r->buffer->publish_seq);
		each = look(r, last_seq && last_seq < to ? last_seq : to, to);
		t = worst_thread(each, &share);
		if (t && share > budget)
			switch_off_hottest(t->tid, share);
		last_seq = to;
	}
	return timeout_ms < 0 || timeout_ms > TURN_MS ? TURN_MS : timeout_ms;
}

static int set_guard(struct trace_array *tr, int on)
{
	if (!trace_array_is_top(tr))
		return -EINVAL;
	memset(at.threads, 0, sizeof(at.threads));
	last_seq = 0;
	store_release(&is_on, (uint32_t)on);
	return 0;
}

static const struct option_owner guard_option = {AREA_OPTION_GUARD, set_guard};
OPTION_OWNER_REGISTER(guard_option);

static uint64_t guard_budget_get(const struct tree_at *where)
{
	(void)where;
	return budget;
}

static int guard_budget_set(const struct tree_at *where, uint64_t percent)
{
	(void)where;
	if (percent < 1 || percent > 100)
		return -EINVAL;
	budget = percent;
	return 0;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"guard_budget", 0644, .scope = TREE_GLOBAL, .get = guard_budget_get, .set = guard_budget_set,
	 .help = "the share of a thread's CPU time, in percent, that the option guard leaves to tracing"},
};
/* clang-format on */
TREE_FILES(rows);
