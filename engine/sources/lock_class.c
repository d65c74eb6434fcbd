/* SPDX-License-Identifier: MIT */
/*
 * See lock_class.h. Two tables of fixed size, mapped once, which stay: classes, and locks by
 * address in sets of eight. If a set is full, a new lock replaces another one. From then on an
 * unknown lock gets no class from the line that takes it, as it may have been initialised. A lock
 * is forgotten when it is destroyed, when it is initialised again, and when the block or the object
 * in which it lies is released, as another lock may be there next. The class of an unloaded object
 * is not used again, and its slot stays: a plug-in that is loaded again and again uses them up.
 *
 * Any context, no lock. fork: the child goes on with a copy; without an area it knows no lock.
 * Costs: bench "lock_order". Tests: tests/engine/events/lock_order.
 */
#include "engine/sources/lock_class.h"

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/hash.h"
#include "engine/process/object.h"
#include "engine/sources/deputies.h"
#include "engine/sources/kmem.h"

#define NR_CLASSES  4096u
#define MAX_CLASSES 3072u
#define NR_SETS	    16384u
#define SET_BYTES   256u /* locks in the same SET_BYTES of memory share a set */
#define WAYS	    8u
#define MANY_SETS   64u /* for a block with more sets, the whole table is searched */
#define BUSY	    ((const void *)1)

struct known_lock {
	const void *lock; /* NULL: a free row; BUSY: a thread is filling it in */
	uint64_t serial;
	uint32_t class, unused;
};

struct tables {
	struct lock_class classes[NR_CLASSES]; /* class 0 is not used */
	struct known_lock locks[NR_SETS][WAYS];
};

static struct tables *tables;
static uint64_t serials, lost;
static uint32_t nr_classes;
static uint32_t evicted; /* 1: a lock's row was given to another lock */
static uint32_t nr_heap; /* not 0: free() may end locks */
static __thread char near_thread_pointer __attribute__((tls_model("initial-exec")));

static uint32_t set_of(uint64_t address)
{
	return (uint32_t)(hash_u64(address / SET_BYTES) >> 50);
}

/* The number of a class, which is made if it is new. 0: no room. */
static uint32_t class_of(uint64_t address, enum lock_class_by by)
{
	uint64_t key = address << 2 | by;
	uint32_t i = (uint32_t)(hash_u64(key) >> 52), probe;

	for (probe = 0; probe < NR_CLASSES; probe++, i = (i + 1) & (NR_CLASSES - 1)) {
		struct lock_class *c = &tables->classes[i];
		uint64_t was = load_acquire(&c->key);

		if (!i)
			continue;
		if (!was) {
			if (load_relaxed(&nr_classes) >= MAX_CLASSES)
				break;
			if (compare_and_store(&c->key, 0, key)) {
				fetch_add(&nr_classes, 1);
				return i;
			}
			was = load_acquire(&c->key);
		}
		if (was == key)
			return i;
	}
	fetch_add(&lost, 1);
	return 0;
}

const struct lock_class *lock_class_at(uint32_t class)
{
	return tables && class && class < NR_CLASSES ? &tables->classes[class] : NULL;
}

static struct known_lock *find(const void *lock)
{
	struct known_lock *set = tables->locks[set_of((uint64_t)lock)];
	uint32_t i;

	for (i = 0; i < WAYS; i++)
		if (load_acquire(&set[i].lock) == lock)
			return &set[i];
	return NULL;
}

static void forget(const void *lock)
{
	struct known_lock *k = find(lock);

	if (k)
		compare_and_store(&k->lock, lock, NULL);
}

static struct lock_known add(const void *lock, uint32_t class)
{
	struct lock_known known = {__atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED), class};
	struct known_lock *set = tables->locks[set_of((uint64_t)lock)], *to = NULL;
	uint32_t i;

	for (i = 0; i < WAYS && !to; i++)
		if (compare_and_store(&set[i].lock, NULL, BUSY))
			to = &set[i];
	if (!to) {
		to = &set[known.serial % WAYS];
		if (load_relaxed(&to->lock) == BUSY ||
		    !compare_and_store(&to->lock, load_relaxed(&to->lock), BUSY))
			return known;
		store_relaxed(&evicted, 1);
		fetch_add(&lost, 1);
	}
	to->serial = known.serial;
	to->class = class;
	store_release(&to->lock, lock);
	return known;
}

/* Whether the lock is in memory of a loaded object: it is a variable. */
static int is_static(const void *lock)
{
	uint32_t i, n = object_count();

	for (i = 0; i < n; i++) {
		const struct object *o = object_at(i);

		if (o->loaded &&
		    (uint64_t)lock - object_row(o)->lo < object_row(o)->hi - object_row(o)->lo)
			return 1;
	}
	return 0;
}

/*
 * Whether the lock is a local variable of the thread: later another lock will have its address, and
 * no call reports that.
 */
static int is_on_own_stack(const void *lock)
{
	uint64_t at = (uint64_t)lock, sp = (uint64_t)__builtin_frame_address(0),
		 top = (uint64_t)&near_thread_pointer;

	return at > sp && (top < sp || at < top);
}

struct lock_known lock_class_of(const void *lock, uint64_t site)
{
	const struct known_lock *k;
	uint32_t class = 0;

	/* a fork's child may have no area */
	if (!tables || !area)
		return (struct lock_known){0};
	k = find(lock);
	if (k)
		return (struct lock_known){k->serial, k->class};
	if (is_static(lock)) {
		class = class_of((uint64_t)lock, LOCK_BY_VARIABLE);
	} else if (is_on_own_stack(lock)) {
		return (struct lock_known){0};
	} else {
		store_relaxed(&nr_heap, 1);
		if (!load_relaxed(&evicted))
			class = class_of(deputies_caller(&lockers, site), LOCK_BY_FIRST);
	}
	return add(lock, class);
}

static void note_init(const struct lock_call *c)
{
	forget(c->lock);
	store_relaxed(&nr_heap, 1);
	add(c->lock, class_of(deputies_caller(&lockers, c->site), LOCK_BY_INIT));
}

static void note_destroy(const struct lock_call *c)
{
	forget(c->lock);
}

static void note_free(uint64_t site, const void *p)
{
	uint64_t from = (uint64_t)p, bytes, at;
	uint32_t set, i, all;

	(void)site;
	if (!p || !load_relaxed(&nr_heap))
		return;
	bytes = kmem_usable((void *)(uintptr_t)p, 0);
	all = bytes / SET_BYTES >= MANY_SETS;
	for (set = 0, at = from & ~(uint64_t)(SET_BYTES - 1);
	     all ? set < NR_SETS : at < from + bytes; set++, at += SET_BYTES) {
		struct known_lock *k = tables->locks[all ? set : set_of(at)];

		for (i = 0; i < WAYS; i++) {
			const void *lock = load_relaxed(&k[i].lock);

			if ((uint64_t)lock - from < bytes)
				compare_and_store(&k[i].lock, lock, NULL);
		}
	}
}

static struct lock_listener on_init = {.call = note_init}, on_destroy = {.call = note_destroy};
static struct kmem_free_listener on_free = {.call = note_free};

int lock_class_start(void)
{
	int err = interpose_possible() ? 0 : -ENODEV;

	if (err)
		return err;
	tables = sys_empty_table(tables, sizeof(*tables));
	if (!tables)
		return -ENOMEM;
	serials = lost = 0;
	nr_classes = evicted = nr_heap = 0;
	err = deputies_update(&lockers);
	if (!err)
		err = source_listen(&lock_sources[LOCK_INIT], &on_init.link);
	if (!err)
		err = source_listen(&lock_sources[LOCK_DESTROY], &on_destroy.link);
	if (!err)
		err = source_listen(&kmem_frees, &on_free.link);
	if (err)
		lock_class_stop();
	return err;
}

void lock_class_stop(void)
{
	source_ignore(&kmem_frees, &on_free.link);
	source_ignore(&lock_sources[LOCK_DESTROY], &on_destroy.link);
	source_ignore(&lock_sources[LOCK_INIT], &on_init.link);
}

/* An object was unloaded: another one may be at its addresses next. */
static void end_object(uint64_t lo, uint64_t hi)
{
	uint32_t i, k;

	for (i = 0; i < NR_SETS; i++)
		for (k = 0; k < WAYS; k++) {
			struct known_lock *l = &tables->locks[i][k];
			const void *lock = load_relaxed(&l->lock);

			if ((uint64_t)lock - lo < hi - lo)
				compare_and_store(&l->lock, lock, NULL);
		}
	for (i = 1; i < NR_CLASSES; i++) {
		uint64_t key = load_relaxed(&tables->classes[i].key);

		if ((key >> 2) - lo < hi - lo)
			store_relaxed(&tables->classes[i].key, key | LOCK_CLASS_GONE);
	}
}

static void follow(void)
{
	static uint64_t ended[OBJECT_MAX / 64];
	uint32_t i;

	for (i = 0; i < object_count(); i++) {
		const struct object *o = object_at(i);

		if (o->loaded || bitmap_has(ended, i))
			continue;
		bitmap_set(ended, i);
		if (tables && area) /* a fork's child may have no area */
			end_object(object_row(o)->lo, object_row(o)->hi);
	}
}

OBJECT_FOLLOWER(OBJECT_FOLLOW_FUNCTIONS, follow);

struct lock_class_counts lock_class_count(void)
{
	return (struct lock_class_counts){load_relaxed(&nr_classes), load_relaxed(&serials),
					  load_relaxed(&lost)};
}
