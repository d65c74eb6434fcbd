/* SPDX-License-Identifier: MIT */
/*
 * See text_probe.h: the probes of each probe point, and which threads are in one. The hook
 * (hook/text_probe.c) knows how an instruction is made to lead here. fork: the child's places are
 * as they were. Tests: tests/engine/events/inner.
 */
#include "engine/core/text_probe.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/sort.h"
#include "engine/core/ops.h"

static const struct text_probe_hook *hook;
static const struct text_wrap_hook *wraps;
static text_claim *claims[4];
static uint32_t nr_claims;

void text_probe_register(const struct text_probe_hook *h)
{
	hook = h;
}

void text_wrap_register(const struct text_wrap_hook *h)
{
	wraps = h;
}

void text_probe_claim(text_claim *claim)
{
	if (nr_claims < ARRAY_SIZE(claims))
		claims[nr_claims++] = claim;
}

int text_is_claimed(uint64_t lo, uint64_t hi)
{
	uint32_t i;

	for (i = 0; i < nr_claims; i++)
		if (claims[i](lo, hi))
			return 1;
	return 0;
}

void text_probe_hit(const struct text_frame *frame, struct text_place *place)
{
	struct srcu_thread *inside;
	enum ops_entered entered = ops_enter(&inside);
	struct text_probe *p;
	int wrap = 0;

	for (p = load_acquire(&place->probes); p; p = load_acquire(&p->next)) {
		wrap |= p->wraps;
		p->hit(p, entered != OPS_MISSED ? frame : NULL);
	}
	/* once for all probes here: the call's registers are as they were, and it returns by a stub */
	if (wrap && entered != OPS_MISSED)
		wraps->wrap(frame, place->wrap_id);
	ops_leave(inside);
}

int text_probe_check(const struct object *o, uint64_t start, uint64_t address, const char **why)
{
	return hook->check(o, start, address, why);
}

int text_may_wrap(const struct dynamic_name *name)
{
	return wraps->may_wrap(name);
}

void text_read(uint64_t address, uint64_t hi, uint8_t *out, size_t n)
{
	hook->read(address, hi, out, n);
}

static void unlink_probe(struct text_probe *p)
{
	struct text_probe **at = &p->place->probes;

	while (*at && *at != p)
		at = &(*at)->next;
	if (*at)
		store_release(at, p->next);
	p->place = NULL;
}

int text_probe_on(struct text_probe *p, const char **why)
{
	struct text_place *place;
	int err = hook->get(p->address, &place, why);

	if (!err && p->wraps && !place->wrap_id)
		place->wrap_id = wraps->take();
	if (!err && p->wraps && !place->wrap_id) {
		*why = "no return probe: there are no stubs left";
		err = -ENOSPC;
	}
	if (err)
		return err;
	p->place = place;
	p->next = place->probes;
	store_release(&place->probes, p);
	if (!place->on)
		err = hook->arm(place, why);
	if (err) {
		unlink_probe(p);
		synchronize_srcu(SRCU_OPS);
	}
	return err;
}

int text_probe_off(struct text_probe *p)
{
	struct text_place *place = p->place;
	int err = 0, inside;

	if (!place)
		return 0;
	unlink_probe(p);
	if (!place->probes && place->on)
		err = hook->disarm(place);
	inside = synchronize_srcu(SRCU_OPS);
	return inside ? inside : err;
}

void text_place_gone(struct text_place *place)
{
	struct text_probe *p;

	for (p = place->probes; p; p = p->next)
		p->place = NULL;
	place->probes = NULL;
	place->on = place->armed = 0;
	place->gone = 1;
	if (place->wrap_id)
		wraps->give(place->wrap_id);
	place->wrap_id = 0;
}

/* The i-th start of .eh_frame_hdr's table, in its usual encoding; they are sorted. */
static uint64_t start_at(const uint8_t *hdr, uint32_t i)
{
	int32_t start;

	memcpy(&start, hdr + 12 + (uint64_t)i * 8, 4);
	return (uint64_t)hdr + (uint64_t)(int64_t)start;
}

static int find_start(const uint8_t *hdr, uint32_t count, uint64_t address, uint64_t *start,
		      uint64_t *end)
{
	uint32_t lo = LOWER_BOUND(i, 0, count, start_at(hdr, i) <= address);

	if (!lo)
		return -ENOENT;
	*start = start_at(hdr, lo - 1);
	if (lo < count)
		*end = start_at(hdr, lo);
	return 0;
}

int text_function_start(const struct object *o, uint64_t address, uint64_t *start, uint64_t *end)
{
	uint64_t bias = object_row(o)->bias;
	const uint8_t *hdr = NULL;
	uint32_t i, count = 0;

	*end = 0;
	for (i = 0; i < o->nr_phdr; i++) {
		const ElfW(Phdr) *ph = &o->phdr[i];

		if (ph->p_type == PT_GNU_EH_FRAME && ph->p_memsz >= 12)
			hdr = (const uint8_t *)(bias + ph->p_vaddr);
		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X &&
		    address - bias - ph->p_vaddr < ph->p_filesz)
			*end = bias + ph->p_vaddr + ph->p_filesz;
		if (hdr && ph->p_type == PT_GNU_EH_FRAME) {
			memcpy(&count, hdr + 8, 4);
			if (count > (ph->p_memsz - 12) / 8)
				count = (uint32_t)((ph->p_memsz - 12) / 8);
		}
	}
	/* version 1; eh_frame_ptr pcrel|sdata4, fde_count udata4, table datarel|sdata4 */
	if (!*end || !hdr || hdr[0] != 1 || hdr[1] != 0x1b || hdr[2] != 0x03 || hdr[3] != 0x3b)
		return -ENOENT;
	return find_start(hdr, count, address, start, end);
}
