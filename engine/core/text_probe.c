/* SPDX-License-Identifier: MIT */
/*
 * See text_probe.h: the probes of each probe point, and which threads are in one. The hook
 * (hook/text/) knows how to make an instruction lead here. fork: the child's probe points are as in
 * the parent. Tests: tests/engine/events/inner.
 */
#include "engine/core/text_probe.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/ops.h"
#include "engine/process/eh_table.h"

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
	/* once for all probes here: the registers are the call's, and it returns to a stub */
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
		/*
		 * The probe point may have been armed for a moment. If a thread does not leave in
		 * time, the caller sees the first error all the same: it waits again before it
		 * frees the probe.
		 */
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

int text_function_start(const struct object *o, uint64_t address, uint64_t *start, uint64_t *end)
{
	uint64_t bias = object_row(o)->bias;
	uint64_t bytes;
	const uint8_t *head = object_eh_header(o, &bytes);
	struct eh_table t = {0};
	uint32_t i, above;

	*end = 0;
	for (i = 0; i < o->nr_phdr; i++) {
		const ElfW(Phdr) *ph = &o->phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X &&
		    address - bias - ph->p_vaddr < ph->p_filesz)
			*end = bias + ph->p_vaddr + ph->p_filesz;
	}
	if (head)
		eh_table_open(&t, head, bytes);
	above = *end ? eh_table_above(&t, address) : 0;
	if (!above)
		return -ENOENT;
	*start = eh_table_begin(&t, above - 1);
	if (above < t.nr)
		*end = eh_table_begin(&t, above);
	return 0;
}
