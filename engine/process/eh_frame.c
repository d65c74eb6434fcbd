/* SPDX-License-Identifier: MIT */
/*
 * See eh_frame.h. It knows the DWARF rules that compilers and libc use for the stack pointer, the
 * frame pointer and the return address; any other rule becomes EH_NONE. Tables are read where the
 * loader put them, each read within its object.
 *
 * Owns the cache. An entry holds the instruction's address mixed with its rule, so two threads that
 * write it at once cannot leave a wrong rule. dlclose() makes the whole cache invalid. A handler
 * may read the list of objects while dlopen() adds to it: the objects of its own frames are in the
 * list and stay. fork: the child has the same tables. Tests: tests/engine/tracers/sysprof.
 */
#include "engine/process/eh_frame.h"

#include "arch_barrier.h"
#include "arch_frame.h"
#include "engine/base/compiler.h"
#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/process/eh_table.h"
#include "engine/process/object.h"
#include "object/eh_read.h"

#define CACHE_ROWS   16384u
#define OFFSET_BITS  24
#define MAX_REMEMBER 8u
#define VALUE_MASK   ((UINT64_C(1) << OFFSET_BITS) - 1)

static struct {
	uint64_t key; /* address of the instruction ^ rule */
	uint64_t rule;
} cache[CACHE_ROWS] BIG_ZEROS;
static uint32_t generation;

/* A rule while it is computed. */
struct row {
	struct eh_rule r;
	uint64_t reg; /* register of the CFA; UINT64_MAX: an expression */
	int no_return;
};

struct run {
	struct row now, first;
	struct row kept[MAX_REMEMBER];
	uint32_t nr_kept;
	const struct eh_cie *cie;
	uint64_t at, ip;
	int unknown;
};

static void set_cfa(struct row *r, uint64_t reg, uint64_t offset)
{
	r->reg = reg;
	r->r.cfa = reg == ARCH_DWARF_SP ? EH_SP : reg == ARCH_DWARF_FP ? EH_FP : EH_NONE;
	r->r.cfa_offset = (int32_t)offset;
}

/* Expressions that compilers and linkers use: the word at the frame pointer + N, and a stub's. */
static void set_cfa_expression(struct row *r, struct eh_bytes e)
{
	uint32_t n = (uint32_t)(e.end - e.at);

	r->reg = UINT64_MAX;
	r->r.cfa = EH_NONE;
	r->r.cfa_offset = (int32_t)arch_stub_rule(e.at, n);
	if (r->r.cfa_offset) {
		r->r.cfa = EH_STUB;
		return;
	}
	if (eh_get(&e, 1) != 0x70 + ARCH_DWARF_FP)
		return;
	r->r.cfa_offset = (int32_t)eh_get_leb(&e, 1);
	if (eh_get(&e, 1) == 0x06 && !e.bad && e.at == e.end)
		r->r.cfa = EH_FP_DEREF;
}

static void set_saved(struct run *u, uint64_t reg, int64_t offset)
{
	if (reg == ARCH_DWARF_FP) {
		u->now.r.fp = EH_FP_AT_CFA;
		u->now.r.fp_offset = (int32_t)offset;
	} else if (reg == ARCH_DWARF_RETURN) {
		u->now.no_return = 0;
		u->unknown |= offset != -8;
	}
}

static void set_saved_expression(struct run *u, uint64_t reg, struct eh_bytes e)
{
	if (reg == ARCH_DWARF_FP) {
		u->now.r.fp = EH_FP_AT_FP;
		u->unknown |= eh_get(&e, 1) != 0x70 + ARCH_DWARF_FP;
		u->now.r.fp_offset = (int32_t)eh_get_leb(&e, 1);
		u->unknown |= e.bad || e.at != e.end;
	} else if (reg == ARCH_DWARF_RETURN) {
		u->unknown = 1;
	}
}

static void restore(struct run *u, uint64_t reg)
{
	if (reg == ARCH_DWARF_FP) {
		u->now.r.fp = u->first.r.fp;
		u->now.r.fp_offset = u->first.r.fp_offset;
	} else if (reg == ARCH_DWARF_RETURN) {
		u->now.no_return = u->first.no_return;
	}
}

/* The register has its old value, or (@undefined) none. */
static void set_kept(struct run *u, uint64_t reg, int undefined)
{
	if (reg == ARCH_DWARF_FP)
		u->now.r.fp = EH_FP_SAME;
	else if (reg == ARCH_DWARF_RETURN)
		u->now.no_return = undefined;
}

/* Run an operation with an opcode of its own. Return: whether it was known. */
static int run_other(struct run *u, struct eh_bytes *b, uint8_t op)
{
	const int64_t align = u->cie->data_align;
	uint64_t reg;

	switch (op) {
	case 0x00: /* nop */
		return 1;
	case 0x05: /* offset_extended */
		reg = eh_get_leb(b, 0);
		set_saved(u, reg, (int64_t)eh_get_leb(b, 0) * align);
		return 1;
	case 0x06: /* restore_extended */
		restore(u, eh_get_leb(b, 0));
		return 1;
	case 0x07: /* undefined */
		set_kept(u, eh_get_leb(b, 0), 1);
		return 1;
	case 0x08: /* same_value */
		set_kept(u, eh_get_leb(b, 0), 0);
		return 1;
	case 0x0a: /* remember_state */
		if (u->nr_kept == MAX_REMEMBER)
			return 0;
		u->kept[u->nr_kept++] = u->now;
		return 1;
	case 0x0b: /* restore_state */
		if (!u->nr_kept)
			return 0;
		u->now = u->kept[--u->nr_kept];
		return 1;
	case 0x0c: /* def_cfa */
		reg = eh_get_leb(b, 0);
		set_cfa(&u->now, reg, eh_get_leb(b, 0));
		return 1;
	case 0x0d: /* def_cfa_register */
		set_cfa(&u->now, eh_get_leb(b, 0), (uint64_t)u->now.r.cfa_offset);
		return 1;
	case 0x0e: /* def_cfa_offset */
		set_cfa(&u->now, u->now.reg, eh_get_leb(b, 0));
		return 1;
	case 0x0f: /* def_cfa_expression */
		set_cfa_expression(&u->now, eh_get_block(b));
		return 1;
	case 0x10: /* expression */
		reg = eh_get_leb(b, 0);
		set_saved_expression(u, reg, eh_get_block(b));
		return 1;
	case 0x11: /* offset_extended_sf */
		reg = eh_get_leb(b, 0);
		set_saved(u, reg, (int64_t)eh_get_leb(b, 1) * align);
		return 1;
	case 0x12: /* def_cfa_sf */
		reg = eh_get_leb(b, 0);
		set_cfa(&u->now, reg, eh_get_leb(b, 1) * (uint64_t)align);
		return 1;
	case 0x13: /* def_cfa_offset_sf */
		set_cfa(&u->now, u->now.reg, eh_get_leb(b, 1) * (uint64_t)align);
		return 1;
	case 0x2e: /* GNU_args_size */
		eh_get_leb(b, 0);
		return 1;
	default:
		return 0;
	}
}

/* Run the rules up to the instruction. */
static void run_rows(struct run *u, struct eh_bytes b)
{
	while (!b.bad && b.at < b.end && !u->unknown) {
		uint8_t op = (uint8_t)eh_get(&b, 1), low = op & 0x3f;
		uint64_t step = 0, reg;

		if (op >> 6 == 1) {
			step = low;
		} else if (op >> 6 == 2) {
			reg = low;
			set_saved(u, reg, (int64_t)eh_get_leb(&b, 0) * u->cie->data_align);
		} else if (op >> 6 == 3) {
			restore(u, low);
		} else if (op >= 0x02 && op <= 0x04) {
			step = eh_get(&b, 1u << (op - 2));
		} else if (!run_other(u, &b, op)) {
			u->unknown = 1;
		}
		u->at += step * u->cie->code_align;
		if (u->at > u->ip)
			return;
	}
	u->unknown |= b.bad;
}

/* The entry at @at, without its length; bad if it is not in the object. */
static struct eh_bytes entry(const uint8_t *at, const struct area_object *o)
{
	struct eh_bytes b = {at, (const uint8_t *)o->hi, (uint64_t)at, 0};

	if ((uint64_t)at < o->lo || (uint64_t)at >= o->hi)
		return (struct eh_bytes){.bad = 1};
	return eh_get_entry(&b);
}

static struct eh_rule read_rule(const uint8_t *fde, uint64_t begin, uint64_t ip,
				const struct area_object *o)
{
	static const struct eh_rule none;
	struct eh_bytes b = entry(fde, o);
	const uint8_t *link = b.at;
	struct run u = {.ip = ip, .at = begin};
	struct eh_cie c;

	if (b.bad || eh_read_cie(&c, entry(link - eh_get(&b, 4), o)) || !c.is_known ||
	    c.return_column != ARCH_DWARF_RETURN)
		return none;
	eh_get_pointer(&b, c.pointers);
	if (ip - begin >= eh_get_pointer(&b, c.pointers & 0x0f))
		return none;
	if (c.has_data)
		eh_get_block(&b);
	if (c.is_signal)
		return (struct eh_rule){.cfa = EH_SIGNAL};
	u.cie = &c;
	u.at = 0;
	u.ip = UINT64_MAX;
	run_rows(&u, c.rules);
	u.first = u.now;
	u.at = begin;
	u.ip = ip;
	run_rows(&u, b);
	if (u.unknown || b.bad)
		return none;
	if (u.now.no_return)
		return (struct eh_rule){.cfa = EH_END};
	return u.now.r;
}

static struct eh_rule look_up(const uint8_t *head, uint64_t ip, const struct area_object *o)
{
	static const struct eh_rule none;
	struct eh_table t;
	uint32_t above;

	if (!head || eh_table_open(&t, head, o->hi - (uint64_t)head))
		return none;
	above = eh_table_above(&t, ip);
	return above ? read_rule(eh_table_entry(&t, above - 1), eh_table_begin(&t, above - 1), ip,
				 o)
		     : none;
}

static struct eh_rule find(uint64_t ip)
{
	static const struct eh_rule none;
	uint64_t bytes;
	uint32_t i;

	/* a fork's child without an area: the objects' rows were in its parent's */
	if (!area)
		return none;
	for (i = 0; i < object_count(); i++) {
		const struct object *o = object_at(i);
		const struct area_object *row = object_row(o);

		if (o->loaded && ip >= row->lo && ip < row->hi)
			return look_up(object_eh_header(o, &bytes), ip, row);
	}
	return none;
}

static int32_t signed_bits(uint64_t v)
{
	return (int32_t)((uint32_t)(v & VALUE_MASK) << (32 - OFFSET_BITS)) >> (32 - OFFSET_BITS);
}

struct eh_rule eh_frame_rule(uint64_t ip)
{
	const uint64_t key = ip ^ (uint64_t)load_relaxed(&generation) << 48;
	const uint32_t i = (uint32_t)(hash_u64(ip) >> 32) % CACHE_ROWS;
	uint64_t rule = load_relaxed(&cache[i].rule);
	struct eh_rule r;

	if ((load_relaxed(&cache[i].key) ^ rule) == key)
		return (struct eh_rule){.cfa = (enum eh_cfa)(rule & 7),
					.fp = (enum eh_fp)(rule >> 3 & 3),
					.cfa_offset = signed_bits(rule >> 5),
					.fp_offset = signed_bits(rule >> (5 + OFFSET_BITS))};
	r = find(ip);
	if (r.cfa_offset != signed_bits((uint64_t)r.cfa_offset) ||
	    r.fp_offset != signed_bits((uint64_t)r.fp_offset))
		r = (struct eh_rule){.cfa = EH_NONE};
	rule = (uint64_t)r.cfa | (uint64_t)r.fp << 3 | ((uint64_t)r.cfa_offset & VALUE_MASK) << 5 |
	       ((uint64_t)r.fp_offset & VALUE_MASK) << (5 + OFFSET_BITS);
	store_relaxed(&cache[i].key, key ^ rule);
	store_relaxed(&cache[i].rule, rule);
	return r;
}

/* Empty the cache: another object may be at the same addresses now. */
static void follow(void)
{
	store_release(&generation, generation + 1);
}

OBJECT_FOLLOWER(OBJECT_FOLLOW_FUNCTIONS, follow);
