/* SPDX-License-Identifier: MIT */
/*
 * Writes to text, see text_patch.h. Its only state is whether other threads may run: from
 * LIFECYCLE_LIVE on, or from the start if there are several. Text is written at its own addresses,
 * which are made writable for that time; pwrite() to /proc/self/mem does not guarantee a 2-byte
 * store. Text that may not become writable is written through a view (text_view.h). Constructor or
 * agent context, one caller at a time. fork: the child has the text as it is. Costs: bench
 * "switching". Tests: tests/engine/.
 */
#include "engine/core/text_patch.h"

#include <errno.h>
#include <linux/membarrier.h>

#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/core/text_view.h"
#include "engine/process/area.h"
#include "engine/process/object.h"
#include "engine/process/thread_list.h"

#define PAGE UINT64_C(4096)

static int live;
static int registered;

static int count_one(int tid, void *data)
{
	(void)tid;
	return ++*(int *)data > 1;
}

/* Without /proc, assume the usual case: the engine is loaded before main(). */
static int has_threads(void)
{
	int n = 0;

	return thread_list_each(count_one, &n) > 0;
}

static void start(const struct lifecycle_start *how)
{
	int err = sys_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);

	(void)how;
	registered = !err;
	/* an engine that dlopen() loads changes text that other threads execute */
	live = has_threads();
	if (err)
		area_status("no membarrier: functions cannot be switched while threads run", NULL,
			    0);
}

static void go_live(const struct lifecycle_start *how)
{
	(void)how;
	live = 1;
}

int text_is_live(void)
{
	return live;
}

static int is_code(const ElfW(Phdr) * p)
{
	return p->p_type == PT_LOAD && p->p_flags & PF_X;
}

/* The object that has code at @at; NULL: it is the engine's own memory. */
static const struct object *object_with(uint64_t at)
{
	uint32_t i, k;

	for (i = 0; i < object_count(); i++) {
		const struct object *o = object_at(i);

		for (k = 0; o->loaded && k < o->nr_phdr; k++) {
			uint64_t begin = (o->bias + o->phdr[k].p_vaddr) & ~(PAGE - 1);

			if (is_code(&o->phdr[k]) && at >= begin &&
			    at < o->bias + o->phdr[k].p_vaddr + o->phdr[k].p_memsz)
				return o;
		}
	}
	return NULL;
}

/*
 * The functions for pages have @keep: PROT_WRITE, if the pages are of a segment that the program
 * may write to (the linker's -N, a section "awx"); else 0. Such pages never have a view, which the
 * program could not write to.
 */
static int open_pages(uint64_t lo, uint64_t hi, int keep)
{
	int err = sys_mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC);

	return text_view_is_due(err) && !keep ? text_view_open(lo, hi) : err;
}

/* Pages with a view are executable, and were not made writable. */
static int close_pages(uint64_t lo, uint64_t hi, int keep)
{
	int err = text_view_close(lo, hi)
			  ? 0
			  : sys_mprotect((void *)lo, hi - lo, PROT_READ | PROT_EXEC | keep);

	if (!text_view_is_due(err) || keep)
		return err;
	err = text_view_open(lo, hi);
	text_view_close(lo, hi);
	return err;
}

typedef int pages_fn(uint64_t lo, uint64_t hi, int keep);

/* The pages that the loader makes read-only after relocation; they have no code. */
static void find_relro(const struct object *o, uint64_t *lo, uint64_t *hi)
{
	uint32_t k;

	*lo = *hi = 0;
	for (k = 0; k < o->nr_phdr; k++) {
		const ElfW(Phdr) *p = &o->phdr[k];

		if (p->p_type != PT_GNU_RELRO)
			continue;
		*lo = (o->bias + p->p_vaddr) & ~(PAGE - 1);
		*hi = (o->bias + p->p_vaddr + p->p_memsz) & ~(PAGE - 1);
	}
}

/* Call @fn for pages of a segment that the program may write to. */
static int each_writable(const struct object *o, uint64_t begin, uint64_t end, pages_fn *fn)
{
	uint64_t lo, hi, first, second;
	int err = 0;

	find_relro(o, &lo, &hi);
	first = end < lo ? end : lo;
	second = begin > hi ? begin : hi;
	if (begin < first)
		err = fn(begin, first, PROT_WRITE);
	if (!err && second < end)
		err = fn(second, end, PROT_WRITE);
	return err;
}

/* Call @fn for the segments of code in the range: between two there may be other pages, or none. */
static int each_part(uint64_t lo, uint64_t hi, pages_fn *fn)
{
	const struct object *o = object_with(lo);
	uint32_t k;
	int err = 0;

	if (!o)
		return fn(lo, hi, 0);
	for (k = 0; k < o->nr_phdr && !err; k++) {
		uint64_t begin = o->bias + o->phdr[k].p_vaddr;
		uint64_t end = (begin + o->phdr[k].p_memsz + PAGE - 1) & ~(PAGE - 1);

		begin &= ~(PAGE - 1);
		begin = begin < lo ? lo : begin;
		end = end > hi ? hi : end;
		if (!is_code(&o->phdr[k]) || begin >= end)
			continue;
		err = o->phdr[k].p_flags & PF_W ? each_writable(o, begin, end, fn)
						: fn(begin, end, 0);
	}
	return err;
}

int text_open(uint64_t lo, uint64_t hi)
{
	int err;

	if (live && !registered)
		return -ENOTSUP;
	err = each_part(lo, hi, open_pages);
	if (err)
		text_close(lo, hi);
	return err;
}

void text_close(uint64_t lo, uint64_t hi)
{
	each_part(lo, hi, close_pages);
}

void text_back(uint64_t lo, uint64_t hi)
{
	/* a view has memory already; before Linux 5.14 each store would allocate it */
	if (text_view_of(lo) == lo)
		sys_back((void *)lo, hi - lo);
}

int text_seal(void *p, size_t bytes)
{
	return close_pages((uint64_t)p, ((uint64_t)p + bytes + PAGE - 1) & ~(PAGE - 1), 0);
}

void *text_at(void *p)
{
	return (void *)text_view_of((uint64_t)p);
}

static int try_pages(uint64_t lo, uint64_t hi, int keep)
{
	int err = sys_mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC);

	if (!err)
		err = sys_mprotect((void *)lo, hi - lo, PROT_READ | PROT_EXEC | keep);
	return text_view_is_due(err) && !keep ? text_view_try() : err;
}

int text_try(uint64_t lo, uint64_t hi)
{
	return each_part(lo, hi, try_pages);
}

void text_switch(uint8_t *at, const uint8_t *bytes, uint32_t n)
{
	at = text_at(at);
	if (n == ARCH_SITE_MIN)
		*(volatile uint8_t *)at = bytes[0];
	else
		/* one store, aligned or not: x86 does it at once within a cache line */
		*(volatile uint16_t *)at = (uint16_t)(bytes[0] | bytes[1] << 8);
}

void text_store(uint8_t *at, const uint8_t *bytes, uint32_t n)
{
	uint64_t word;
	uint8_t *end, *to;

	at = text_at(at);
	end = (uint8_t *)(((uintptr_t)at | (TEXT_LINE_BYTES - 1)) + 1);
	to = end - at < 8 ? end - 8 : at;
	memcpy(&word, to, 8);
	memcpy((uint8_t *)&word + (at - to), bytes, n);
	*(volatile uint64_t *)to = word;
}

int text_sync(void)
{
	if (!live)
		return 0;
	return sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}

int text_switch_branch(uint8_t *code, int on, int *changed)
{
	uint64_t lo = (uint64_t)code & ~UINT64_C(4095);
	uint64_t hi = ((uint64_t)code + ARCH_JUMP_BYTES + 4095) & ~UINT64_C(4095);
	int err;

	if (arch_branch_is(code, on))
		return 0;
	if (!arch_branch_is(code, !on))
		return -EBUSY;
	err = text_open(lo, hi);
	if (err)
		return err;
	arch_branch_set(text_at(code), on);
	text_close(lo, hi);
	*changed = 1;
	return 0;
}

LIFECYCLE(LIFECYCLE_PROCESS, start, NULL, NULL);
LIFECYCLE(LIFECYCLE_LIVE, go_live, NULL, NULL);
