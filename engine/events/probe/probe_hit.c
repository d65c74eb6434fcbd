/* SPDX-License-Identifier: MIT */
/*
 * Dynamic probes that are on: the functions that their hits call, and the records. For a function's
 * entry, one callback of core/ops.h serves all probes, with the registers of the call. For a return
 * it is core/ops.h too, by a wrapped call as in the graph. For any other instruction it is
 * core/text_probe.h. The first two find a function's probes in chains that change only under the
 * tree lock. An unlinked probe is freed when no thread can be in it any more: after the grace
 * period in ftrace_unregister() and its kind, or after ring_synchronize().
 *
 * Hits come in any context: no lock, no libc; memory of the program is read by system calls
 * (fetch_run.c). fork: the child's hits go on. Tests: tests/engine/events/kprobe.
 */
#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/core/function.h"
#include "engine/core/ops.h"
#include "engine/events/probe/probe_entry_data.h"
#include "engine/events/probe/probe_event.h"
#include "engine/events/probe/tprobe.h"
#include "engine/ring/ring_write.h"

#define NR_CHAINS 256u

struct way {
	struct probe *chains[NR_CHAINS]; /* indexed by the function's id */
	struct function_set set;
};

static struct way entries BIG_ZEROS, returns BIG_ZEROS;

/* Measure the strings. Return: the size of the record with them. */
static uint32_t measure(const struct probe *p, struct fetch_regs *regs,
			struct fetch_string *strings)
{
	const struct probe_event *pe = p->event;
	uint32_t i, bytes = pe->fixed_bytes;

	for (i = 0; i < pe->nr_args; i++) {
		strings[i] = fetch_measure(&p->args[i], regs);
		if (strings[i].bytes > RING_MAX_RECORD - 64 - bytes)
			strings[i].bytes = (uint16_t)(RING_MAX_RECORD - 64 - bytes);
		bytes += strings[i].bytes;
	}
	return bytes;
}

static void fill(const struct probe *p, const struct fetch_regs *regs,
		 const struct fetch_string *strings, uint64_t return_ip, uint8_t *record)
{
	const struct probe_event *pe = p->event;
	uint64_t ip = pe->kind == DYN_PROBE_TPROBE ? regs->ip : p->at.address;
	uint32_t i, at = pe->fixed_bytes;

	if (pe->kind != DYN_PROBE_EPROBE)
		memcpy(record + 8, &ip, 8);
	if (pe->is_return)
		memcpy(record + 16, &return_ip, 8);
	for (i = 0; i < pe->nr_args; i++) {
		/* no room was left: an empty string at the record's end */
		if (p->args[i].type->is_string && !strings[i].bytes) {
			memset(record + p->args[i].offset, 0, 4);
			continue;
		}
		fetch_store(&p->args[i], regs, record, at, strings[i]);
		at += strings[i].bytes;
	}
}

void probe_hit(struct probe *p, struct fetch_regs *regs, uint64_t return_ip,
	       struct event_file *only)
{
	char kept[FETCH_KEPT];
	struct fetch_string *strings = __builtin_alloca((p->event->nr_args + 1) * sizeof(*strings));
	uint32_t bytes;
	uint64_t *scratch;
	struct vestige_event_slot slot;
	struct event_file *f;

	regs->tid = ring_ctl[0]->tid > 0 ? ring_ctl[0]->tid : sys_own_tid();
	regs->kept = kept;
	regs->nr_kept = 0;
	bytes = measure(p, regs, strings);
	scratch = __builtin_alloca((bytes + 7) & ~7u);
	__atomic_fetch_add(&p->nr_hits, 1, __ATOMIC_RELAXED);
	for (f = load_acquire(&p->event->event->files); f; f = f->next) {
		const struct vestige_event_ops *ops = load_acquire(&f->pub.ops);
		void *record;

		if (ops == &event_ops_none || (only && f != only))
			continue;
		slot.scratch = scratch;
		record = ops->reserve(f, &slot, bytes);
		if (!record)
			continue;
		fill(p, regs, strings, return_ip, record);
		ops->commit(f, &slot);
	}
}

static void entry_hit(uint32_t id, void *arg, const struct ops_frame *frame)
{
	const struct way *way = arg;
	struct probe *p;

	if (!area)
		return;
	for (p = load_acquire(&way->chains[id % NR_CHAINS]); p; p = load_acquire(&p->next_at)) {
		if (p->at.function != id)
			continue;
		if (frame) {
			struct fetch_regs regs = {.r = frame->regs.saved,
						  .ip = p->at.address,
						  .sp = (uint64_t)&frame->parent_ip};

			probe_hit(p, &regs, 0, NULL);
		} else {
			__atomic_fetch_add(&p->nr_missed, 1, __ATOMIC_RELAXED);
		}
	}
}

/* How many arguments the probes of a function need at its return. */
static uint32_t wanted_begun(uint32_t id)
{
	const struct probe *p;
	uint32_t n = 0;

	for (p = load_acquire(&returns.chains[id % NR_CHAINS]); p; p = load_acquire(&p->next_at))
		if (p->at.function == id && p->nr_begun > n)
			n = p->nr_begun;
	return n;
}

static void call_begun(uint32_t id, uint64_t call, uint64_t stack, const struct arch_args *args)
{
	uint32_t n = wanted_begun(id);

	if (n)
		probe_entry_data_keep(call, stack, args, n);
}

static void return_hit(uint32_t id, uint64_t call, uint64_t retval, uint64_t ip)
{
	struct fetch_regs regs = {.ip = ip, .sp = (call & ~OPS_TAIL) + 8, .retval = retval};
	struct probe *p;

	regs.begun = probe_entry_data_find(call, &regs.nr_begun);
	for (p = load_acquire(&returns.chains[id % NR_CHAINS]); p && area;
	     p = load_acquire(&p->next_at)) {
		if (p->return_id != id)
			continue;
		if (p->nr_begun <= regs.nr_begun)
			probe_hit(p, &regs, ip, NULL);
		else
			__atomic_fetch_add(&p->nr_missed, 1, __ATOMIC_RELAXED);
	}
	if (regs.begun)
		probe_entry_data_drop(call);
}

static void return_missed(uint32_t id)
{
	struct probe *p;

	for (p = load_acquire(&returns.chains[id % NR_CHAINS]); p; p = load_acquire(&p->next_at))
		if (p->return_id == id)
			__atomic_fetch_add(&p->nr_missed, 1, __ATOMIC_RELAXED);
}

/* Until a probe needs entry data, only the ends of calls are reported. */
static const struct ops_return_funcs on_return = {.returned = return_hit, .missed = return_missed};
static const struct ops_return_funcs on_return_begun = {.begun = call_begun,
							.returned = return_hit,
							.missed = return_missed,
							.unwound = probe_entry_data_drop};

static struct call_ops entry_ops = {
	.kind = OPS_ENTRY,
	.how = OPS_C | OPS_SAVE_ALL,
	.named_only = 1,
	.filter = &entries.set,
	.entry = entry_hit,
	.arg = &entries,
};
static struct call_ops return_ops = {
	.kind = OPS_RETURN,
	.how = OPS_C | OPS_GRAPH,
	.named_only = 1,
	.filter = &returns.set,
	.returns = &on_return,
};

static void text_hit(struct text_probe *t, const struct text_frame *frame)
{
	struct probe *p = (struct probe *)((char *)t - offsetof(struct probe, text));

	if (!area || (p->text.wraps && frame))
		return;
	if (frame) {
		struct fetch_regs regs = {
			.r = frame->regs.saved, .ip = p->at.address, .sp = text_frame_sp(frame)};

		probe_hit(p, &regs, 0, NULL);
	} else {
		__atomic_fetch_add(&p->nr_missed, 1, __ATOMIC_RELAXED);
	}
}

static int update_entries(void)
{
	int err = ftrace_follow(&entry_ops);

	/* on a timeout the probe stays while a thread may be in it: probe_free() */
	return err == -ETIMEDOUT ? 0 : err;
}

static const struct ops_return_funcs *returns_funcs(void)
{
	return probe_entry_data_is_on() ? &on_return_begun : &on_return;
}

static int update_returns(void)
{
	return_ops.returns = returns_funcs();
	return ftrace_follow(&return_ops);
}

static int update(const struct probe *p)
{
	return p->event->is_return ? update_returns() : update_entries();
}

static int others_there(const struct way *way, const struct probe *p)
{
	const struct probe *q;

	for (q = way->chains[p->at.function % NR_CHAINS]; q; q = q->next_at)
		if (q != p && q->at.function == p->at.function)
			return 1;
	return 0;
}

/* Unlink a probe from its chain. A reader that is at it still finds the next one. */
static void unlink_at(struct probe **at, struct probe *p)
{
	while (*at && *at != p)
		at = &(*at)->next_at;
	if (*at)
		store_release(at, p->next_at);
}

static int disarm(struct way *way, struct probe *p)
{
	int err;

	unlink_at(&way->chains[p->at.function % NR_CHAINS], p);
	p->armed = 0;
	if (!others_there(way, p))
		function_set_put(&way->set, p->at.function, 0);
	err = update(p);
	if (p->event->is_return)
		err = ring_synchronize();
	return err;
}

/* Look the place up again: the named object may have been loaded since. */
static int find_target(struct probe *p)
{
	uint64_t address;
	int err;

	if (p->is_fixed)
		return 0;
	p->at.why = "no probe there: nothing of that name is loaded";
	p->at.is_return = p->event->is_return;
	if (p->path) {
		err = probe_file_address(p->path, p->file_offset, &address);
		if (!err)
			err = probe_place_address(address, &p->at);
	} else {
		err = probe_place_again(p->place, &p->at);
	}
	if (!err && p->nr_begun && p->at.function == PROBE_NO_FUNCTION) {
		p->at.why = "no return probe: a call's arguments are not kept at a stub";
		err = -EINVAL;
	}
	if (err == -EILSEQ)
		p->at.why = "no probe amid an instruction";
	return err;
}

#define MAX_NAMED 8u /* places of an event whose reasons vestige_status lists one by one */

static void say_why(const struct probe *p, const char *why, int err)
{
	if (p->event->nr_refused < MAX_NAMED)
		area_status(why, p->place, err);
}

static void link_return(struct probe *p, uint32_t id)
{
	struct probe **at = &returns.chains[id % NR_CHAINS];

	p->return_id = id;
	p->next_at = *at;
	store_release(at, p);
}

/* Arm the return of calls through a stub. Calls that are open already are missed. */
static int arm_stub(struct probe *p, const char **why)
{
	int err;

	ops_set_returns(returns_funcs());
	err = ops_wrap_stubs(1);
	*why = "no return probe: calls cannot be wrapped";
	if (err)
		return err;
	err = text_probe_on(&p->text, why);
	if (err)
		ops_wrap_stubs(-1);
	else
		link_return(p, p->text.place->wrap_id);
	return err;
}

static int disarm_stub(struct probe *p)
{
	unlink_at(&returns.chains[p->return_id % NR_CHAINS], p);
	ops_wrap_stubs(-1);
	return ring_synchronize();
}

static int arm_text(struct probe *p)
{
	const char *why;
	int err;

	p->text.address = p->at.address + p->at.skip;
	p->text.hit = text_hit;
	p->text.wraps = p->event->is_return;
	err = p->text.wraps ? arm_stub(p, &why) : text_probe_on(&p->text, &why);
	if (err && p->at.skip) {
		p->text.address = p->at.address;
		err = text_probe_on(&p->text, &why);
	}
	if (err)
		say_why(p, why, err);
	p->armed = !err;
	if (p->armed && p->semaphore)
		__atomic_fetch_add(p->semaphore, 1, __ATOMIC_SEQ_CST);
	return err ? -EINVAL : 0;
}

static int disarm_text(struct probe *p)
{
	int err, was_armed = (int)p->armed;

	/* the object may be unloaded, and its semaphore with it */
	if (p->armed && p->semaphore && p->text.place)
		__atomic_fetch_sub(p->semaphore, 1, __ATOMIC_SEQ_CST);
	err = text_probe_off(&p->text);
	p->armed = 0;
	if (was_armed && p->text.wraps && !err)
		err = disarm_stub(p);
	if (err == -EBUSY)
		area_status("a probe's place is not as we left it, and stays", p->place, err);
	return err == -EBUSY ? 0 : err;
}

int probe_arm(struct probe *p, int on)
{
	struct way *way = p->event->is_return ? &returns : &entries;
	struct probe **at;
	int err;

	if (p->event->kind == DYN_PROBE_TPROBE)
		return tprobe_arm(p, on);
	if (!on)
		return p->at.function == PROBE_NO_FUNCTION ? disarm_text(p) : disarm(way, p);
	err = find_target(p);
	if ((err == -ENOENT || err == -ENXIO) && p->may_come)
		return 0;
	if (err) {
		say_why(p, p->at.why, 0);
		return -EINVAL;
	}
	if (p->at.function == PROBE_NO_FUNCTION)
		return arm_text(p);
	err = p->nr_begun ? probe_entry_data_start() : 0;
	if (!err)
		err = function_set_put(&way->set, p->at.function, 1);
	if (err)
		return err;
	at = &way->chains[p->at.function % NR_CHAINS];
	p->return_id = p->at.function;
	p->next_at = *at;
	store_release(at, p);
	p->armed = 1;
	err = update(p);
	if (!err && p->event->is_return && !(ops_next(p->at.function) & ~(uint64_t)OPS_RECORD)) {
		say_why(p, probe_place_no_return(p->at.address), 0);
		err = -EINVAL;
	}
	if (err)
		disarm(way, p);
	return err;
}
