/* SPDX-License-Identifier: MIT */
/*
 * prove_locking and trace_stat/lockdep: cycles in the order of locks (sources/lock_order.h), as
 * text. Under the tree lock; fork: the child goes on. Tests: tests/engine/events/lock_order.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/sort.h"
#include "engine/control/tree.h"
#include "engine/core/stack.h"
#include "engine/core/symbol_names.h"
#include "engine/core/trace_stat.h"
#include "engine/sources/deputies.h"
#include "engine/sources/lock_order.h"

#define CYCLE_BYTES (LOCK_ORDER_LOCKS * (LOCK_ORDER_FRAMES + 4) * 96u)
#define MAX_NAMES   (LOCK_ORDER_REPORTS * LOCK_ORDER_LOCKS * (LOCK_ORDER_FRAMES + 5))

static struct lock_cycle_listener
	listener; /* registered so that cycles are kept; its call does nothing */
static uint64_t proves;

static void ignore(const struct lock_cycle *c)
{
	(void)c;
}

static uint64_t prove_locking_get(const struct tree_at *at)
{
	(void)at;
	return proves;
}

static int prove_locking_set(const struct tree_at *at, uint64_t on)
{
	int err;

	(void)at;
	if (on == proves)
		return 0;
	if (on)
		stack_start(); /* a program without an unwinder has no stacks */
	listener.call = ignore;
	err = source_switch(&lock_cycles, &listener.link, (int)on);
	if (!err)
		proves = on;
	return err;
}

static int lockdep_lockers_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	deputies_show(&lockers, s);
	return 0;
}

static int lockdep_lockers_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)at;
	(void)truncate;
	return deputies_set(&lockers, text, n);
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"prove_locking", 0644, .scope = TREE_GLOBAL, .type = TREE_BOOL,
	 .get = prove_locking_get, .set = prove_locking_set,
	 .help = "1: find cycles in the order of locks, see trace_stat/lockdep"},
	{"lockdep_lockers", 0644, .scope = TREE_GLOBAL,
	 .show = lockdep_lockers_show, .store = lockdep_lockers_store,
	 .help = "functions that make or take locks for their callers, for prove_locking"},
};
/* clang-format on */
TREE_FILES(rows);

struct names {
	struct symbol_name *at;
	uint32_t nr;
};

static void add_name(struct names *n, uint64_t address)
{
	if (address)
		n->at[n->nr++].address = address;
}

static uint64_t class_address(uint32_t class)
{
	const struct lock_class *c = lock_class_at(class);

	/* a variable's lookup uses an address behind its first byte */
	return c ? lock_class_address(c) + (lock_class_by(c) == LOCK_BY_VARIABLE) : 0;
}

static int before(const void *a, const void *b)
{
	return ((const struct symbol_name *)a)->address < ((const struct symbol_name *)b)->address;
}

static void find_names(struct names *n)
{
	const struct lock_cycle *c;
	uint32_t i, k, f;

	for (i = 0; (c = lock_order_cycle(i)); i++)
		for (k = 0; k < c->nr && k < LOCK_ORDER_LOCKS; k++) {
			const struct lock_dependency *d = &c->at[k];

			add_name(n, (uint64_t)d->held + 1);
			add_name(n, (uint64_t)d->taken + 1);
			add_name(n, d->held_site);
			add_name(n, class_address(d->held_class));
			add_name(n, class_address(d->taken_class));
			for (f = 0; f < d->nr_frames; f++)
				add_name(n, d->frames[f]);
		}
	sort(n->at, n->nr, sizeof(*n->at), before);
	for (i = k = 0; i < n->nr; i++)
		if (!k || n->at[i].address != n->at[k - 1].address)
			n->at[k++].address = n->at[i].address;
	n->nr = k;
	symbol_names_all(n->at, k);
}

static void put_code(struct seq_buf *s, const struct names *n, uint64_t address)
{
	const struct symbol_name *name = symbol_names_find(n->at, n->nr, address);

	if (name)
		symbol_name_put(s, name);
}

static void put_variable(struct seq_buf *s, const struct names *n, uint64_t lock)
{
	const struct symbol_name *name = symbol_names_find(n->at, n->nr, lock + 1);

	if (!name || !name->start)
		return;
	seq_putc(s, ' ');
	seq_puts(s, name->name);
	if (name->start != lock) {
		seq_puts(s, "+0x");
		seq_putx(s, lock - name->start);
	}
}

/* Put `0x12 big_lock (initialised at main+0x12)`. */
static void put_lock(struct seq_buf *s, const struct names *n, const void *lock, uint32_t class)
{
	const struct lock_class *c = lock_class_at(class);

	seq_puts(s, "0x");
	seq_putx(s, (uint64_t)lock);
	put_variable(s, n, (uint64_t)lock);
	if (!c || lock_class_by(c) == LOCK_BY_VARIABLE)
		return;
	seq_puts(s, lock_class_by(c) == LOCK_BY_INIT ? " (initialised at " : " (first taken at ");
	put_code(s, n, class_address(class));
	seq_putc(s, ')');
}

static void put_dependency(struct seq_buf *s, const struct names *n,
			   const struct lock_dependency *d)
{
	uint32_t i;

	seq_puts(s, d->comm);
	seq_putc(s, '-');
	seq_putu(s, (uint64_t)d->tid);
	seq_puts(s, d->taken_shared ? " takes as reader " : " takes ");
	put_lock(s, n, d->taken, d->taken_class);
	seq_puts(s, d->held_shared ? "\n  and holds as reader " : "\n  and holds ");
	put_lock(s, n, d->held, d->held_class);
	seq_puts(s, ", taken at ");
	put_code(s, n, d->held_site);
	seq_putc(s, '\n');
	for (i = 0; i < d->nr_frames; i++) {
		seq_puts(s, " => ");
		put_code(s, n, d->frames[i]);
		seq_putc(s, '\n');
	}
}

static void put_cycle(struct seq_buf *s, const struct names *n, const struct lock_cycle *c)
{
	uint32_t i;

	seq_puts(s, "\npossible circular locking dependency ");
	seq_putu(s, c->number);
	seq_puts(s, ", of ");
	seq_putu(s, c->nr);
	seq_puts(s, " locks:\n");
	for (i = 0; i < c->nr && i < LOCK_ORDER_LOCKS; i++)
		put_dependency(s, n, &c->at[i]);
}

static int lockdep_show(struct seq_buf *s)
{
	size_t bytes = MAX_NAMES * sizeof(struct symbol_name);
	struct names n = {.at = sys_map_table(bytes)};
	struct lock_order_counts order = lock_order_count();
	struct lock_class_counts classes = lock_class_count();
	const struct lock_cycle *c;
	uint32_t i;

	if (!n.at)
		return -ENOMEM;
	find_names(&n);
	seq_puts(s, "# cycles: ");
	seq_putu(s, order.cycles);
	seq_puts(s, ", dependencies: ");
	seq_putu(s, order.dependencies);
	seq_puts(s, ", classes: ");
	seq_putu(s, classes.classes);
	seq_puts(s, ", locks: ");
	seq_putu(s, classes.locks);
	seq_puts(s, ", without room: ");
	seq_putu(s, order.lost + classes.lost);
	seq_putc(s, '\n');
	for (i = 0; (c = lock_order_cycle(i)) && s->bytes - s->len > CYCLE_BYTES; i++)
		put_cycle(s, &n, c);
	sys_munmap(n.at, bytes);
	return 0;
}

static const struct trace_stat lockdep = {"lockdep", lockdep_show};
TRACE_STAT_REGISTER(lockdep);
