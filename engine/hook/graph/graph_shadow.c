/* SPDX-License-Identifier: MIT */
/*
 * See graph_shadow.h. Owns the table of mapped blocks: a byte for each block, in leaves for 1 GiB
 * of stack each, which are mapped on demand. A byte is changed by compare-and-swap. Signals are
 * blocked around mmap() and munmap(): otherwise a handler that leaves by longjmp() could leave a
 * block in the middle of a change.
 *
 * A block is unmapped after its stack has been unmapped: each new block examines SWEEP others. A
 * thread needs a shadow while it runs on the stack. So the order is: mark the block CLOSING, check
 * again whether the stack is mapped, unmap the block only if it is still CLOSING.
 *
 * Before threads give up system calls, the shadow of the address ranges in which their stacks may
 * be is mapped in advance, and kept.
 *
 * fork: the child has the parent's shadow and table, both private. Costs an mmap() for 64 KiB of a
 * stack, once. Tests: tests/engine/graph/rounds, tests/engine/fire/sandbox.
 */
#include "engine/hook/graph/graph_shadow.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/hook/graph/graph.h"
#include "engine/hook/graph/graph_rows.h"
#include "engine/ring/ring.h"

#define BLOCK_SHIFT 18				       /* of shadow, in a block */
#define STACK_BYTES (UINT64_C(1) << (BLOCK_SHIFT - 2)) /* of stack, whose shadow a block is */
#define LEAF_BLOCKS 16384u
#define NR_LEAVES   8192u /* 2^43 bytes of addresses */
#define SWEEP	    4u
#define SWEEP_MIN   256u /* with fewer blocks no block is examined */
#define SWEEP_LOOKS 4096u
#define NR_TRIES    200u
#define WAIT_NS	    20000
#define PAGE	    4096u
#define NR_KEPT	    8u
#define KEPT_BLOCKS 32u /* blocks of a kept range that become accessible at once: see use_kept() */

/* Upper bits of a byte: bits 43..46 of the stack; SHARED: stacks that differ in them. */
enum state { NONE, PENDING, MAPPED, REFUSED, CLOSING, UNMAPPING, STATE_MASK = 7, SHARED = 0x80 };
#define WHICH_SHIFT 3
#define WHICH_MASK  0x78u

static struct table {
	uint8_t *leaves[NR_LEAVES];
	uint32_t used[NR_LEAVES]; /* the first nr_leaves: indices of mapped leaves, + 1 */
	uint32_t nr_leaves;
	uint32_t nr_mapped;
	uint32_t hand; /* next block to examine: leaf * LEAF_BLOCKS + block */
	uint32_t nr_kept, nr_claimed, keeping;
	struct {
		uint64_t lo, hi; /* bounds, as slots */
	} kept[NR_KEPT]; /* nr_kept are mapped; blocks of the first nr_claimed stay mapped */
} * table;

int graph_shadow_start(void)
{
	return sys_map_table_once(&table, sizeof(*table));
}

/* Blocks are numbered from the block of slot 0. */
static uint64_t first_block(void)
{
	return GRAPH_SHADOW >> BLOCK_SHIFT;
}

static uint64_t block_of(uint64_t slot)
{
	return ((uint64_t)graph_shadow(slot) >> BLOCK_SHIFT) - first_block();
}

static void *block_at(uint64_t block)
{
	return (void *)((block + first_block()) << BLOCK_SHIFT);
}

uint64_t graph_shadow_first(uint64_t slot)
{
	uint64_t into = (uint64_t)graph_shadow(slot) & ((UINT64_C(1) << BLOCK_SHIFT) - 1);

	return into / 4 < slot ? slot - into / 4 : 0;
}

static uint8_t which_of(uint64_t slot)
{
	return slot >> 47 ? SHARED : (uint8_t)(slot >> 43 << WHICH_SHIFT);
}

/* The lowest slot of a block whose byte is @byte. */
static uint64_t slot_of(uint64_t block, uint8_t byte)
{
	uint64_t shadow = (uint64_t)block_at(block);
	uint64_t low = shadow > GRAPH_SHADOW ? (shadow - GRAPH_SHADOW) / 4 : 0;

	return low | (uint64_t)(byte & WHICH_MASK) >> WHICH_SHIFT << 43;
}

/* The byte of a block; NULL: no memory. */
static uint8_t *byte_of(uint64_t block)
{
	uint8_t **leaf = &table->leaves[block / LEAF_BLOCKS % NR_LEAVES],
		*there = load_acquire(leaf);

	if (there)
		return there + block % LEAF_BLOCKS;
	if (sys_is_forbidden())
		return NULL;
	there = sys_map_table(LEAF_BLOCKS);
	if (!there)
		return NULL;
	if (compare_and_store(leaf, NULL, there))
		store_release(&table->used[fetch_add(&table->nr_leaves, 1)],
			      (uint32_t)(block / LEAF_BLOCKS % NR_LEAVES) + 1);
	else
		sys_munmap(there, LEAF_BLOCKS);
	return load_acquire(leaf) + block % LEAF_BLOCKS;
}

/* ---- blocks that are unmapped ---- */

/* Whether nothing of @lo .. @hi is mapped. */
static int is_unmapped(uint64_t lo, uint64_t hi)
{
	uint8_t state[STACK_BYTES / PAGE + 1];
	uint64_t at = lo & ~(uint64_t)(PAGE - 1);

	if (sys_mincore((void *)at, hi - at, state) != -ENOMEM)
		return 0;
	for (; at < hi; at += PAGE)
		if (sys_mincore((void *)at, PAGE, state) != -ENOMEM)
			return 0;
	return 1;
}

/* Whether one of the first @nr kept ranges contains @lo .. @hi. */
static int kept_by(uint32_t nr, uint64_t lo, uint64_t hi)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (lo >= table->kept[i].lo && hi <= table->kept[i].hi)
			return 1;
	return 0;
}

static int is_kept(uint64_t lo, uint64_t hi)
{
	return kept_by(load_acquire(&table->nr_kept), lo, hi);
}

static void unmap_if_gone(uint8_t *at, uint64_t block)
{
	uint8_t byte = load_acquire(at), closing, unmapping;
	uint64_t lo = slot_of(block, byte), mask;

	if ((byte & STATE_MASK) != MAPPED || byte & SHARED ||
	    kept_by(load_acquire(&table->nr_claimed), lo, lo + STACK_BYTES) ||
	    !is_unmapped(lo, lo + STACK_BYTES) || !graph_rows_leave(lo, lo + STACK_BYTES))
		return;
	closing = (byte & WHICH_MASK) | CLOSING;
	unmapping = (byte & WHICH_MASK) | UNMAPPING;
	if (!compare_and_store(at, byte, closing))
		return;
	if (!is_unmapped(lo, lo + STACK_BYTES)) {
		compare_and_store(at, closing, byte);
		return;
	}
	mask = sys_set_signals(UINT64_MAX);
	if (compare_and_store(at, closing, unmapping)) {
		sys_munmap(block_at(block), (size_t)1 << BLOCK_SHIFT);
		fetch_add(&table->nr_mapped, UINT32_MAX);
		compare_and_store(at, unmapping, NONE);
	}
	sys_set_signals(mask);
}

/* Examine the next few blocks. */
static void sweep(void)
{
	uint32_t nr = load_acquire(&table->nr_leaves), looks, n = 0;

	if (load_relaxed(&table->nr_mapped) < SWEEP_MIN)
		return;
	for (looks = 0; looks < SWEEP_LOOKS && n < SWEEP; looks++) {
		uint32_t hand = fetch_add(&table->hand, 1), leaf;

		leaf = load_acquire(&table->used[hand / LEAF_BLOCKS % nr]);
		if (!leaf)
			continue;
		hand %= LEAF_BLOCKS;
		if ((load_relaxed(&table->leaves[leaf - 1][hand]) & STATE_MASK) != MAPPED)
			continue;
		n++;
		unmap_if_gone(&table->leaves[leaf - 1][hand],
			      (uint64_t)(leaf - 1) * LEAF_BLOCKS + hand);
	}
}

/* ---- blocks that are mapped ---- */

/* Map a block. Return: 0 or -errno. */
static int mmap_block(uint64_t block)
{
	size_t bytes = (size_t)1 << BLOCK_SHIFT;
	long p = sys_mmap(block_at(block), bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (sys_failed(p))
		return (int)p;
	if ((void *)p == block_at(block))
		return 0;
	sys_munmap((void *)p, bytes); /* a kernel before 4.17 takes the address as a hint */
	return -EEXIST;
}

/*
 * Map a block whose byte becomes PENDING, or was PENDING (@found): then another thread has not
 * finished, and in a fork's child it never will.
 */
static void map_pending(uint8_t *at, uint64_t block, uint8_t pending, int found)
{
	uint64_t mask = sys_set_signals(UINT64_MAX);
	uint8_t which = pending & (uint8_t)~STATE_MASK;
	int err;

	if (found || compare_and_store(at, NONE, pending)) {
		err = mmap_block(block);
		if (!err) {
			store_release(at, which | MAPPED);
			fetch_add(&table->nr_mapped, 1);
		} else {
			compare_and_store(at, pending, err == -EEXIST ? which | REFUSED : NONE);
		}
	}
	sys_set_signals(mask);
}

/* Map the shadow of @slot. Return: whether it is mapped. */
static int map_block(uint64_t slot)
{
	uint64_t block = block_of(slot);
	uint8_t *at = byte_of(block), which = which_of(slot), byte, tried = 0;
	uint32_t i;

	for (i = 0; at && i < NR_TRIES; i++) {
		byte = load_acquire(at);
		switch (byte & STATE_MASK) {
		case MAPPED:
			if ((byte & (WHICH_MASK | SHARED)) == which || byte & SHARED ||
			    compare_and_store(at, byte, SHARED | MAPPED))
				return 1;
			break;
		case CLOSING:
			compare_and_store(at, byte, (byte & WHICH_MASK) | MAPPED);
			break;
		case PENDING:
		case UNMAPPING:
			/* another thread is in mmap() or munmap() */
			sys_sleep_ns(WAIT_NS);
			break;
		case REFUSED:
			return 0;
		default:
			if (tried || sys_is_forbidden())
				return 0;
			tried = 1;
			sweep();
			map_pending(at, block, which | PENDING, 0);
		}
	}
	if (at && (load_acquire(at) & STATE_MASK) == PENDING && !sys_is_forbidden())
		map_pending(at, block, load_acquire(at), 1);
	return at && (load_acquire(at) & STATE_MASK) == MAPPED;
}

int graph_shadow_is_taken(uint64_t slot)
{
	const uint8_t *at = byte_of(block_of(slot));

	return at && (load_acquire(at) & STATE_MASK) == REFUSED;
}

int graph_shadow_map(uint64_t lo, uint64_t hi)
{
	uint64_t slot;

	/*
	 * graph.S relies on a shadow in one piece, and a stack across a multiple of 2^43 has none
	 */
	if ((lo ^ hi) >> 43)
		return 0;
	for (slot = lo; slot <= hi; slot = graph_shadow_first(slot) + STACK_BYTES)
		if (!is_kept(slot, slot + 8) && !map_block(slot))
			return 0;
	return 1;
}

/* ---- kept ranges ---- */

/*
 * Make part of a kept range accessible. mlockall() must not fill a kept range. The range consists
 * of many mappings, so that a core file has only those parts that were used: neighbouring mappings
 * differ in their read-ahead advice, which has no effect here. No huge pages: only parts of a
 * stack's shadow are used.
 */
static int use_kept(char *at, size_t bytes)
{
	const size_t each = (size_t)KEPT_BLOCKS << BLOCK_SHIFT;
	size_t done;
	long p = sys_mmap(at, bytes, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (sys_failed(p))
		return (int)p;
	arch_syscall(SYS_munlock, p, (long)bytes, 0, 0, 0, 0);
	sys_madvise((char *)p, bytes, MADV_NOHUGEPAGE);
	if ((char *)p != at || sys_mprotect((char *)p, bytes, PROT_READ | PROT_WRITE)) {
		sys_munmap((char *)p, bytes);
		return -ENOMEM;
	}
	for (done = 0; done < bytes; done += each)
		if (((uint64_t)(at + done) >> BLOCK_SHIFT) / KEPT_BLOCKS & 1)
			sys_madvise(at + done, bytes - done < each ? bytes - done : each,
				    MADV_RANDOM);
	return 0;
}

/* Whether a block's shadow is mapped, or is about to be. */
static int is_mapped(uint64_t block)
{
	const uint8_t *leaf = load_acquire(&table->leaves[block / LEAF_BLOCKS % NR_LEAVES]);

	return leaf && (load_acquire(&leaf[block % LEAF_BLOCKS]) & STATE_MASK) != NONE;
}

static int map_kept(uint64_t first, uint64_t end)
{
	uint64_t at, to;
	int err = 0;

	for (at = first; at < end && !err; at = to) {
		to = at + 1;
		if (is_mapped(at))
			continue;
		while (to < end && !is_mapped(to))
			to++;
		err = use_kept(block_at(at), (size_t)(to - at) << BLOCK_SHIFT);
	}
	return err;
}

int graph_shadow_keep(uint64_t lo, uint64_t hi)
{
	uint32_t n;
	int err = 0;

	if (lo >> 43 != hi >> 43)
		lo = hi >> 43 << 43;
	lo = graph_shadow_first(lo) + STACK_BYTES;
	hi = graph_shadow_first(hi);
	if (lo >= hi || is_kept(lo, hi))
		return 0;
	if (!compare_and_store(&table->keeping, 0, 1))
		return -EBUSY;
	n = table->nr_kept;
	if (n < NR_KEPT) {
		table->kept[n].lo = lo;
		table->kept[n].hi = hi;
		store_release(&table->nr_claimed, n + 1);
		err = map_kept(block_of(lo), block_of(hi));
		store_release(err ? &table->nr_claimed : &table->nr_kept, err ? n : n + 1);
	}
	store_release(&table->keeping, 0);
	return n < NR_KEPT ? err : -ENOSPC;
}
