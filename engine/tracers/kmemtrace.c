/* SPDX-License-Identifier: MIT */
/*
 * The kmemtrace tracer: a record for each allocation and release, and counts by call site. The call
 * site is the first frame outside of operator new, strdup() and their kind, and of the functions
 * that kmemtrace_allocators names. With kmemtrace_stacks, counts are by stack: of all blocks, or of
 * one block for each N bytes. Then no call makes a record, and the end of the program makes one
 * record for each stack that has live blocks. trace_stat/kmemtrace shows the counts,
 * trace_stat/kmemtrace_leaks the blocks that are not released. Counting goes on while the tracer is
 * current, whether tracing_on is set or not, and starts from 0 when the tracer becomes current.
 * Releases of older blocks are counted apart.
 *
 * Owns the rows: a hash table that is mapped once and stays. Any context, no lock. The top
 * instance's alone. fork: the child goes on with a copy. Costs: bench "kmemtrace". Tests:
 * tests/engine/tracers/kmemtrace.
 */
#include "engine/tracers/kmemtrace.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/hash.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/sort.h"
#include "engine/core/ftrace_formats.h"
#include "engine/core/stack.h"
#include "engine/core/symbol_names.h"
#include "engine/core/trace_stat.h"
#include "engine/core/tracer.h"
#include "engine/ring/ring_write.h"
#include "engine/sources/deputies.h"
#include "engine/sources/kmem.h"
#include "engine/sources/kmem_blocks.h"

#define NR_ROWS	   16384u /* a power of two */
#define MAX_PROBES 64u
#define MAX_FRAMES 16u
#define MAX_STACKS (UINT64_C(1) << 30)
#define LINE_BYTES 192u
#define GFP_ZERO   0x100u /* as kmem:kmalloc has it */

struct row {
	uint64_t key; /* the call site, or a hash of the stack; 0: free */
	uint64_t allocs, requested, usable;
	uint64_t frees, freed; /* freed: usable bytes */
	uint64_t peak;	       /* the greatest value of usable - freed */
	uint64_t temporary;    /* blocks that the thread released before it allocated another */
	uint32_t nr_frames, unused;
	uint64_t frames[MAX_FRAMES]; /* of a call site: the site alone */
};

struct alloc_record {
	uint64_t head, call_site, ptr, bytes_req, bytes_alloc;
	uint32_t gfp_flags;
	int32_t node;
};

struct free_record {
	uint64_t head, call_site, ptr;
};

struct leak_record {
	uint64_t head, bytes, blocks, age;
};

static struct row *rows;
/* Releases of blocks from before the tracer, and blocks for which there was no row. */
static struct {
	uint64_t frees, bytes, lost;
} older;
static uint64_t stack_bytes; /* kmemtrace_stacks */
static int is_current;

/* The calling thread's last block, and the bytes that it has allocated since a stack was taken. */
static __thread struct {
	const void *last;
	uint64_t bytes;
} mine __attribute__((tls_model("initial-exec")));

static void count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static struct row *find_row(uint64_t key, const uint64_t *frames, uint32_t nr)
{
	uint32_t i = (uint32_t)(hash_u64(key) >> 50), probe, k;

	for (probe = 0; probe < MAX_PROBES; probe++) {
		struct row *row = &rows[(i + probe) & (NR_ROWS - 1)];

		if (load_relaxed(&row->key) == key)
			return row;
		if (load_relaxed(&row->key) || !compare_and_store(&row->key, 0, key)) {
			if (load_relaxed(&row->key) == key)
				return row;
			continue;
		}
		for (k = 0; k < nr; k++)
			row->frames[k] = frames[k];
		store_release(&row->nr_frames, nr);
		return row;
	}
	return NULL;
}

/* The row of a stack. Frames inside of named allocators are left out. */
static struct row *find_stack(uint64_t site)
{
	uint64_t frames[MAX_FRAMES + 8], key = 0;
	uint32_t nr = stack_save(frames, MAX_FRAMES + 8), from, i;

	/* frames of the wrapper and of the allocators may come before the call site */
	for (from = 0; from < nr && frames[from] != site; from++)
		;
	if (from == nr)
		from = 0;
	if (!nr)
		frames[nr++] = site;
	nr = nr - from > MAX_FRAMES ? MAX_FRAMES : nr - from;
	for (i = 0; i < nr; i++)
		key = hash_u64(key ^ frames[from + i]);
	return find_row(key | 1, frames + from, nr);
}

static void record_alloc(uint64_t site, const void *p, size_t bytes, size_t usable, int zeroed)
{
	struct alloc_record *r;
	struct ring_slot slot;

	if (!ring_reserve(global_trace.ring, &slot, sizeof(*r)))
		return;
	r = (struct alloc_record *)slot.words;
	r->call_site = site;
	r->ptr = (uint64_t)p;
	r->bytes_req = bytes;
	r->bytes_alloc = usable;
	r->gfp_flags = zeroed ? GFP_ZERO : 0;
	r->node = -1;
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_KMEM_ALLOC, sizeof(*r)));
}

/* How many blocks one kept block represents. */
static uint64_t times_of(uint64_t bytes)
{
	return bytes && bytes < stack_bytes ? stack_bytes / bytes : 1;
}

/* Whether the stack of this block is to be taken. */
static int is_sampled(size_t bytes)
{
	uint64_t every = stack_bytes;

	if (every <= 1)
		return 1;
	mine.bytes += bytes;
	if (mine.bytes < every)
		return 0;
	mine.bytes %= every;
	return 1;
}

static void note_alloc(uint64_t site, void *p, size_t bytes, int zeroed)
{
	struct kmem_block b = {.bytes = bytes};
	uint64_t usable, live, times;
	struct row *row;

	if (!p)
		return;
	usable = kmem_usable(p, bytes);
	site = deputies_caller(&allocators, site);
	mine.last = p;
	if (!stack_bytes && ring_is_on(global_trace.ring))
		record_alloc(site, p, bytes, usable, zeroed);
	if (!is_sampled(bytes))
		return;
	times = times_of(bytes);
	row = stack_bytes ? find_stack(site) : find_row(site, &site, 1);
	if (!row) {
		count(&older.lost, 1);
		return;
	}
	b.waste = usable - bytes < 1u << 24 ? (uint32_t)(usable - bytes) : (1u << 24) - 1;
	b.owner = (uint32_t)(row - rows);
	b.moment = kmem_blocks_now();
	if (!kmem_block_add(p, &b)) {
		count(&older.lost, 1);
		return;
	}
	count(&row->allocs, times);
	count(&row->requested, bytes * times);
	live = __atomic_add_fetch(&row->usable, usable * times, __ATOMIC_RELAXED) -
	       load_relaxed(&row->freed);
	if ((int64_t)live > 0)
		store_greater(&row->peak, live);
}

static void note_free(uint64_t site, const void *p)
{
	struct free_record *r;
	struct ring_slot slot;
	struct kmem_block b;
	uint64_t times;
	struct row *row;

	if (!p)
		return;
	if (!stack_bytes && ring_is_on(global_trace.ring) &&
	    ring_reserve(global_trace.ring, &slot, sizeof(*r))) {
		r = (struct free_record *)slot.words;
		r->call_site = site;
		r->ptr = (uint64_t)p;
		ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_KMEM_FREE, sizeof(*r)));
	}
	if (!kmem_block_take(p, &b)) {
		/* where only some blocks are kept, an unknown block is no error */
		if (stack_bytes <= 1) {
			count(&older.frees, 1);
			count(&older.bytes, kmem_usable((void *)(uintptr_t)p, 0));
		}
		return;
	}
	row = &rows[b.owner & (NR_ROWS - 1)];
	times = times_of(b.bytes);
	count(&row->frees, times);
	count(&row->freed, (b.bytes + b.waste) * times);
	if (mine.last == p) {
		count(&row->temporary, times);
		mine.last = NULL;
	}
}

static struct kmem_alloc_listener on_alloc = {.call = note_alloc};
static struct kmem_free_listener on_free = {.call = note_free};

static uint64_t site_of(uint32_t owner)
{
	return rows[owner & (NR_ROWS - 1)].frames[0];
}

static int make_rows(void)
{
	rows = sys_empty_table(rows, NR_ROWS * sizeof(*rows));
	older.frees = older.bytes = older.lost = 0;
	return rows ? kmem_blocks_start(site_of) : -ENOMEM;
}

static int kmemtrace_init(struct trace_array *tr)
{
	int err = interpose_possible() ? make_rows() : -ENODEV;

	(void)tr;
	if (!err)
		err = ftrace_format_text(FTRACE_KMEM_ALLOC);
	if (!err)
		err = ftrace_format_text(FTRACE_KMEM_FREE);
	if (!err)
		err = ftrace_format_text(FTRACE_KMEM_LEAK);
	if (!err)
		err = deputies_update(&allocators);
	/*
	 * releases are listened to first; otherwise a block that is allocated and released in
	 * between would stay
	 */
	if (!err)
		err = source_listen(&kmem_frees, &on_free.link);
	if (!err && (err = source_listen(&kmem_allocs, &on_alloc.link)))
		source_ignore(&kmem_frees, &on_free.link);
	is_current = !err;
	return err;
}

static void kmemtrace_reset(struct trace_array *tr)
{
	(void)tr;
	source_ignore(&kmem_allocs, &on_alloc.link);
	source_ignore(&kmem_frees, &on_free.link);
	kmem_blocks_stop();
	is_current = 0;
}

int kmemtrace_set_stacks(uint64_t bytes)
{
	int err = bytes > MAX_STACKS ? -EINVAL : is_current ? -EBUSY : 0;

	if (!err && bytes)
		err = stack_start();
	if (!err)
		stack_bytes = bytes;
	return err;
}

uint64_t kmemtrace_stacks(void)
{
	return stack_bytes;
}

static const struct tracer kmemtrace_tracer = {
	.name = "kmemtrace",
	.init = kmemtrace_init,
	.reset = kmemtrace_reset,
};
TRACER_REGISTER(kmemtrace_tracer);

/* The contents of a table: rows in its order, and the names of their frames. */
struct table {
	struct row **at;
	struct symbol_name *names;
	uint32_t nr, nr_names;
	size_t bytes;
};

static int address_before(const void *a, const void *b)
{
	return ((const struct symbol_name *)a)->address < ((const struct symbol_name *)b)->address;
}

static void end_table(struct table *t)
{
	sys_munmap(t->at, t->bytes);
}

static int live_only(const struct row *row)
{
	return row->allocs > row->frees;
}

static int any(const struct row *row)
{
	return row->allocs != 0;
}

/* @wanted: whether a row is in the table. @frames: how many frames of each row get names. */
static int make_table(struct table *t, int (*wanted)(const struct row *), uint32_t frames,
		      int (*before)(const void *a, const void *b))
{
	size_t list = NR_ROWS * sizeof(*t->at);
	uint32_t i, k, n;

	*t = (struct table){.bytes = list + (size_t)NR_ROWS * frames * sizeof(struct symbol_name)};
	t->at = sys_map_table(t->bytes);
	if (!t->at)
		return -ENOMEM;
	t->names = (struct symbol_name *)((uint8_t *)t->at + list);
	for (i = 0; rows && i < NR_ROWS; i++)
		if (load_relaxed(&rows[i].key) && wanted(&rows[i]))
			t->at[t->nr++] = &rows[i];
	sort(t->at, t->nr, sizeof(*t->at), before);
	for (i = 0; i < t->nr; i++) {
		n = load_acquire(&t->at[i]->nr_frames);
		for (k = 0; k < n && k < frames; k++)
			t->names[t->nr_names++].address = t->at[i]->frames[k];
	}
	sort(t->names, t->nr_names, sizeof(*t->names), address_before);
	for (i = n = 0; i < t->nr_names; i++)
		if (!n || t->names[i].address != t->names[n - 1].address)
			t->names[n++].address = t->names[i].address;
	t->nr_names = n;
	symbol_names(t->names, n);
	return 0;
}

static uint64_t live_bytes(const struct row *row)
{
	return row->usable > row->freed ? row->usable - row->freed : 0;
}

/* Order: the most live bytes first, then the most requested bytes. */
static int larger(const void *x, const void *y)
{
	const struct row *a = *(struct row *const *)x, *b = *(struct row *const *)y;

	if (live_bytes(a) != live_bytes(b))
		return live_bytes(a) > live_bytes(b);
	return a->requested != b->requested ? a->requested > b->requested : a < b;
}

static void put_frame(struct seq_buf *s, const struct table *t, uint64_t address)
{
	const struct symbol_name *name = symbol_names_find(t->names, t->nr_names, address);

	if (name)
		symbol_name_put(s, name);
}

static int kmemtrace_show(struct seq_buf *s)
{
	struct table t;
	uint32_t i;
	int err = make_table(&t, any, 1, larger);

	if (err)
		return err;
	seq_puts(s, "#  allocs  requested     usable      waste     live live bytes       peak "
		    "temporary  call site\n");
	for (i = 0; i < t.nr && s->bytes - s->len > 2 * LINE_BYTES; i++) {
		const struct row *row = t.at[i];

		seq_putu_right(s, row->allocs, 9);
		seq_putu_right(s, row->requested, 11);
		seq_putu_right(s, row->usable, 11);
		seq_putu_right(s, row->usable - row->requested, 11);
		seq_putu_right(s, row->allocs - row->frees, 9);
		seq_putu_right(s, live_bytes(row), 11);
		seq_putu_right(s, row->peak, 11);
		seq_putu_right(s, row->temporary, 10);
		seq_puts(s, "  ");
		put_frame(s, &t, row->frames[0]);
		seq_putc(s, '\n');
	}
	seq_puts(s, "# older blocks released: ");
	seq_putu(s, load_relaxed(&older.frees));
	seq_puts(s, ", ");
	seq_putu(s, load_relaxed(&older.bytes));
	seq_puts(s, " bytes; not counted for want of room: ");
	seq_putu(s, load_relaxed(&older.lost));
	seq_putc(s, '\n');
	end_table(&t);
	return 0;
}

/* The live blocks of a row. */
struct leak {
	uint64_t bytes, blocks, oldest; /* oldest: the moment of the oldest block, + 1 */
	const struct row *row;
};

static void see_block(void *arg, const struct kmem_block *b)
{
	struct leak *l = (struct leak *)arg + (b->owner & (NR_ROWS - 1));
	uint64_t times = times_of(b->bytes);

	l->bytes += b->bytes * times;
	l->blocks += times;
	if (b->moment + 1 < l->oldest || !l->oldest)
		l->oldest = b->moment + 1;
}

static int more_bytes(const void *x, const void *y)
{
	const struct leak *a = x, *b = y;

	return a->bytes != b->bytes ? a->bytes > b->bytes : a->row < b->row;
}

/* Find the rows that have live blocks, the most bytes first. Return: how many, or -ENOMEM. */
static long find_leaks(struct leak **leaks)
{
	struct leak *l = sys_map_table(NR_ROWS * sizeof(*l));
	uint32_t i, n;

	*leaks = l;
	if (!l)
		return -ENOMEM;
	kmem_blocks_each(see_block, l);
	for (i = n = 0; rows && i < NR_ROWS; i++)
		if (l[i].blocks) {
			l[n] = l[i];
			l[n++].row = &rows[i];
		}
	sort(l, n, sizeof(*l), more_bytes);
	return n;
}

static uint64_t age_ns(const struct leak *l, uint64_t now)
{
	return (now + 1 - l->oldest) * KMEM_BLOCK_TICK_NS;
}

static void put_seconds(struct seq_buf *s, uint64_t ns)
{
	uint64_t ms = ns / 1000000;

	seq_putu(s, ms / 1000);
	seq_putc(s, '.');
	seq_putc(s, (char)('0' + ms / 100 % 10));
	seq_putc(s, (char)('0' + ms / 10 % 10));
	seq_putc(s, (char)('0' + ms % 10));
}

static void put_leak(struct seq_buf *s, const struct table *t, const struct leak *l, uint64_t now)
{
	uint32_t i;

	seq_putu(s, l->bytes);
	seq_puts(s, " bytes in ");
	seq_putu(s, l->blocks);
	seq_puts(s, " blocks, the oldest ");
	put_seconds(s, age_ns(l, now));
	seq_puts(s, " s\n");
	for (i = 0; i < l->row->nr_frames; i++) {
		seq_puts(s, " => ");
		put_frame(s, t, l->row->frames[i]);
		seq_putc(s, '\n');
	}
}

static int leaks_show(struct seq_buf *s)
{
	uint64_t bytes = 0, blocks = 0, now = rows ? kmem_blocks_now() : 0;
	struct leak *leaks;
	struct table t;
	long nr = find_leaks(&leaks), i;
	int err = nr < 0 ? (int)nr : make_table(&t, live_only, MAX_FRAMES, larger);

	for (i = 0; i < nr; i++) {
		bytes += leaks[i].bytes;
		blocks += leaks[i].blocks;
	}
	if (!err) {
		seq_puts(s, "# not released: ");
		seq_putu(s, bytes);
		seq_puts(s, " bytes in ");
		seq_putu(s, blocks);
		seq_puts(s, stack_bytes > 1 ? " blocks, estimated\n" : " blocks\n");
		for (i = 0; i < nr && s->bytes - s->len > (MAX_FRAMES + 1) * LINE_BYTES; i++)
			put_leak(s, &t, &leaks[i], now);
		end_table(&t);
	}
	if (leaks)
		sys_munmap(leaks, NR_ROWS * sizeof(*leaks));
	return err;
}

/* Write a record of a row with its stack, as event:stacktrace has it. */
static void record_leak(const struct leak *l, uint64_t now)
{
	struct leak_record *r;
	struct ring_slot slot;

	if (!ring_reserve(global_trace.ring, &slot, sizeof(*r)))
		return;
	r = (struct leak_record *)slot.words;
	r->bytes = l->bytes;
	r->blocks = l->blocks;
	r->age = age_ns(l, now);
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_KMEM_LEAK, sizeof(*r)));
	stack_put(global_trace.ring, l->row->frames, l->row->nr_frames);
}

/* With stacks, the end of the program writes a record for the blocks that are left. */
static void report_at_exit(void)
{
	uint64_t now;
	struct leak *leaks;
	long nr, i;

	if (!is_current || !stack_bytes)
		return;
	now = kmem_blocks_now();
	nr = find_leaks(&leaks);
	for (i = 0; i < nr; i++)
		record_leak(&leaks[i], now);
	if (leaks)
		sys_munmap(leaks, NR_ROWS * sizeof(*leaks));
}

LIFECYCLE(LIFECYCLE_SYSTEM, NULL, NULL, report_at_exit);

static const struct trace_stat table_stat = {"kmemtrace", kmemtrace_show};
static const struct trace_stat leaks_stat = {"kmemtrace_leaks", leaks_show};
TRACE_STAT_REGISTER(table_stat);
TRACE_STAT_REGISTER(leaks_stat);
