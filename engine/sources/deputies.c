/* SPDX-License-Identifier: MIT */
/*
 * See deputies.h. A name becomes the range from its symbol to the next symbol of its object. A call
 * site outside of all ranges, as most are, costs one comparison with each range. For a call site
 * inside a range the stack is unwound, which takes a microsecond. A table that was replaced is not
 * freed, since a thread may still read it. fork: the child has the same. Tests:
 * tests/engine/tracers/kmemtrace, events/lock_order.
 */
#include "engine/sources/deputies.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/glob.h"
#include "engine/base/mem.h"
#include "engine/core/stack.h"
#include "engine/process/elf_file.h"
#include "engine/process/heap.h"
#include "engine/process/object.h"

#define MAX_RANGES 256u

struct range {
	uint64_t lo, hi;
};

struct deputy_ranges {
	uint64_t lo, hi; /* bounds of all ranges together */
	uint32_t nr;
	struct range at[MAX_RANGES];
};

struct deputies allocators = {
	"g_malloc g_malloc0 g_malloc_n g_malloc0_n g_realloc g_realloc_n g_try_malloc "
	"g_try_malloc0 g_strdup g_strndup g_memdup g_memdup2 g_slice_alloc g_slice_alloc0 xmalloc "
	"xcalloc xzalloc xrealloc xstrdup xstrndup zmalloc zcalloc zrealloc zstrdup",
	NULL,
};

/*
 * C programs use these names; in C++ they are functions of their own unless the compiler inlines
 * them.
 */
struct deputies lockers = {
	"*mutex_init *mutex_new *mutex_create *mutex_alloc *MutexInit *MutexNew *MutexCreate "
	"*MutexAlloc *rwlock_init *rwlock_create *RWLockCreate *spin_init *lock_init mutex_lock "
	"*_mutex_lock *mutex_enter *MutexLock *MutexEnter *rwlock_rdlock *rwlock_wrlock "
	"*rwlock_reader_lock *rwlock_writer_lock *rdlock *wrlock spin_lock *_spin_lock "
	"*gthread_mutex_lock* *glibcxx_rwlock_* _ZNSt*mutex4lockEv _ZNSt*mutex11lock_sharedEv "
	"_ZNSt10lock_guard* _ZNSt11unique_lock* _ZNSt11shared_lock* _ZNSt11scoped_lock* "
	"_ZSt4lock*",
	NULL,
};

void deputies_show(const struct deputies *d, struct seq_buf *s)
{
	seq_puts(s, d->names);
	seq_putc(s, '\n');
}

static int is_named(const char *names, const char *name)
{
	size_t k;

	for (; *names; names += k + (names[k] == ' ')) {
		for (k = 0; names[k] && names[k] != ' '; k++)
			;
		if (glob_match(names, k, name))
			return 1;
	}
	return 0;
}

struct search {
	const char *names;
	struct deputy_ranges *ranges;
	uint32_t first; /* the object's first range */
	uint64_t bias, end;
};

static int take_start(void *arg, uint64_t value, const char *name)
{
	struct search *s = arg;
	struct deputy_ranges *r = s->ranges;

	if (r->nr < MAX_RANGES && is_named(s->names, name))
		r->at[r->nr++] = (struct range){s->bias + value, s->end};
	return 0;
}

static int take_end(void *arg, uint64_t value, const char *name)
{
	struct search *s = arg;
	uint64_t at = s->bias + value;
	uint32_t i;

	(void)name;
	for (i = s->first; i < s->ranges->nr; i++)
		if (at > s->ranges->at[i].lo && at < s->ranges->at[i].hi)
			s->ranges->at[i].hi = at;
	return 0;
}

int deputies_update(struct deputies *d)
{
	struct deputy_ranges *r = heap_alloc(sizeof(*r));
	struct elf_file f;
	uint32_t i;

	if (!r)
		return -ENOMEM;
	for (i = 0; d->names[0] && i < object_count(); i++) {
		const struct object *o = object_at(i);
		struct search s = {d->names, r, r->nr, object_row(o)->bias, object_row(o)->hi};

		if (!o->loaded || elf_file_open(&f, o))
			continue;
		elf_file_symbols(&f, take_start, &s);
		if (r->nr > s.first)
			elf_file_symbols(&f, take_end, &s);
		elf_file_close(&f);
	}
	r->lo = UINT64_MAX;
	for (i = 0; i < r->nr; i++) {
		r->lo = r->at[i].lo < r->lo ? r->at[i].lo : r->lo;
		r->hi = r->at[i].hi > r->hi ? r->at[i].hi : r->hi;
	}
	if (d->ranges && !memcmp(d->ranges, r, sizeof(*r)))
		heap_free(r);
	else
		store_release(&d->ranges, r);
	return 0;
}

int deputies_set(struct deputies *d, const char *text, size_t n)
{
	char *names = d->names;
	size_t i, k = 0;

	if (n >= sizeof(d->names))
		return -E2BIG;
	for (i = 0; i < n; i++) {
		int blank = text[i] == ' ' || text[i] == '\t' || text[i] == '\n';

		if (!blank)
			names[k++] = text[i];
		else if (k && names[k - 1] != ' ')
			names[k++] = ' ';
	}
	k -= k && names[k - 1] == ' ';
	names[k] = 0;
	return d->ranges ? deputies_update(d) : 0;
}

static int is_inside(const struct deputy_ranges *r, uint64_t site)
{
	uint32_t i;

	/*
	 * compare the byte before the return address: a call may be a function's last instruction
	 */
	if (site <= r->lo || site > r->hi)
		return 0;
	for (i = 0; i < r->nr; i++)
		if (site > r->at[i].lo && site <= r->at[i].hi)
			return 1;
	return 0;
}

struct walk {
	const struct deputy_ranges *ranges;
	uint64_t site, found;
	int inside; /* the walk has passed the call site */
};

static int step(void *arg, uint64_t ip, uint64_t sp)
{
	struct walk *w = arg;

	(void)sp;
	if (!w->inside) {
		w->inside = ip == w->site;
		return 0;
	}
	if (is_inside(w->ranges, ip))
		return 0;
	w->found = ip;
	return 1;
}

uint64_t deputies_caller(const struct deputies *d, uint64_t site)
{
	const struct deputy_ranges *r = load_acquire(&d->ranges);
	struct walk w = {.ranges = r, .site = site};

	if (!r || !is_inside(r, site))
		return site;
	stack_each_frame(step, &w);
	return w.found ? w.found : site;
}
