/* SPDX-License-Identifier: MIT */
/*
 * See redirect_live.h. A jump replaces several instructions, so no thread may be between two of
 * them: neither with its next instruction, nor with an address to which it will return. A return
 * address is behind a call, and only the last instruction of a window can be a call. But a signal
 * handler may return to any instruction. So each word of a stopped thread's stack, from its red
 * zone to the end of the mapping, is compared, together with the words behind it: flags and
 * segments, if the kernel has saved it for a handler.
 *
 * A context that was saved in a signal handler, on a stack on which no thread runs now, is not
 * seen. A jump that replaces exactly one instruction, by one store, is written while threads run
 * only if they cannot be stopped.
 *
 * No state. Runs in stop_machine()'s child: only system calls and memory. Each write is one store,
 * so the text is complete whenever the child is killed. Tests: tests/cli/test_attach_functions.py.
 */
#include "engine/hook/redirect_live.h"

#include <errno.h>

#include "arch_context.h"
#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/sort.h"
#include "engine/core/text_patch.h"
#include "engine/hook/text/text_island.h"
#include "engine/process/stop_machine.h"

#define RED_ZONE  128u
#define PAGE	  4096u
#define MAX_STACK (UINT64_C(64) << 20) /* of it are searched, if it is in a larger mapping */
#define PAUSE_NS  2000000
#define MS	  UINT64_C(1000000)

/*
 * Time limits in ms until the last thread has stopped, one for each try. A busy machine needs more.
 */
static const uint8_t within_ms[] = {5, 5, 5, 5, 5, 5, 5, 5, 20, 20, 100, 200};

/* Tries after which a busy window is given up. */
#define MAX_BUSY 50u

struct batch {
	struct redirect_window *windows;
	uint32_t nr, nr_busy;
	const struct redirect_lead *leads;
	uint32_t nr_leads;
	uint64_t own_sp; /* stack pointer of the calling thread */
};

/* The window that contains @at, its first byte excluded; NULL: none. */
static struct redirect_window *window_around(const struct batch *b, uint64_t at)
{
	uint32_t lo = LOWER_BOUND(i, 0, b->nr, b->windows[i].from < at);

	return lo && at - b->windows[lo - 1].from < b->windows[lo - 1].bytes ? &b->windows[lo - 1]
									     : NULL;
}

static void mark(const struct batch *b, uint64_t at)
{
	struct redirect_window *w = window_around(b, at);

	if (w)
		w->busy = 1;
}

/*
 * A word of a stack. A probe, a handler or an unwinder may have left it there long ago, on a part
 * of the stack that the thread does not use. So it counts only if it belongs to what the kernel has
 * saved for a handler.
 */
static void mark_word(const struct batch *b, uint64_t word, uint64_t where)
{
	struct redirect_window *w = window_around(b, word);
	uint64_t around[ARCH_CONTEXT_IP_WORDS];

	if (!w || w->busy)
		return;
	if (stopped_read(where, around, sizeof(around)) != (long)sizeof(around) ||
	    arch_context_is_ip(around))
		w->busy = 1;
}

/* Search the addresses to which a thread will return, on its stack. */
static void mark_stack(struct batch *b, uint64_t sp)
{
	uint64_t first = b->windows[0].from, last = b->windows[b->nr - 1].from + PAGE;
	uint64_t words[PAGE / 8], at = (sp - RED_ZONE) & ~UINT64_C(7), end = at + MAX_STACK;
	long i, bytes = (long)(PAGE - (at & (PAGE - 1)));

	/* page by page: a read beyond the mapping may give nothing */
	for (; at < end && stopped_read(at, words, (size_t)bytes) == bytes; bytes = PAGE) {
		for (i = 0; i < bytes / 8; i++)
			if (unlikely(words[i] - first < last - first))
				mark_word(b, words[i], at + 8 * (uint64_t)i);
		at += (uint64_t)bytes;
	}
}

static void store(uint64_t at, const uint8_t *bytes, uint32_t n)
{
	uint64_t word, to = at;

	/* the page behind it may not be mapped */
	if ((at & (PAGE - 1)) > PAGE - 8 && (at & (PAGE - 1)) + n <= PAGE)
		to = (at | (PAGE - 1)) - 7;
	memcpy(&word, (const void *)to, 8);
	memcpy((uint8_t *)&word + (at - to), bytes, n);
	*(volatile uint64_t *)text_at((void *)to) = word;
}

/* How many bytes at the function's first instruction its jump replaces. */
static uint32_t jump_bytes(const struct redirect_window *w)
{
	uint64_t where = w->from + (uint64_t)(int64_t)w->padding;
	uint8_t jump[REDIRECT_MAX_WRITTEN];

	return w->padding ? redirect_short_jump_make(w->from, where, jump)
			  : redirect_jump_make(where, w->island, jump);
}

/*
 * Write the long jump first: it has no effect until the short jump leads to it. It stays in the
 * padding when the short one is removed.
 */
static void write_one(struct redirect_window *w)
{
	uint64_t where = w->from + (uint64_t)(int64_t)w->padding;
	uint8_t jump[REDIRECT_MAX_WRITTEN];
	uint32_t n;

	if (w->to_go_back) {
		store(w->from, w->text, jump_bytes(w));
		w->written = 1;
		return;
	}
	n = redirect_jump_make(where, w->island, jump);
	store(where, jump, n);
	if (w->padding) {
		barrier();
		n = redirect_short_jump_make(w->from, where, jump);
		store(w->from, jump, n);
	}
	w->written = 1;
}

/* Threads on islands of probes must continue where the instructions run from now on. */
static void lead_probes(const struct batch *b, uint32_t window)
{
	uint32_t i;

	for (i = 0; i < b->nr_leads; i++)
		if (b->leads[i].window == window)
			text_island_lead(b->leads[i].jump, b->leads[i].to);
}

/* Runs in the child, while all threads are stopped. */
static void write_all(const struct stopped_thread *threads, uint32_t nr, void *arg)
{
	struct batch *b = arg;
	uint32_t i;

	for (i = 0; i < b->nr; i++)
		b->windows[i].busy = 0;
	/* no thread can be behind the first byte of a jump */
	for (i = 0; i < nr && !b->windows[0].to_go_back; i++) {
		if (!threads[i].sp)
			continue;
		mark(b, threads[i].ip);
		mark(b, threads[i].before);
		mark_stack(b, threads[i].sp);
	}
	/*
	 * the calling thread's own stack: a signal handler that led here may have interrupted the
	 * function
	 */
	if (!b->windows[0].to_go_back)
		mark_stack(b, b->own_sp);
	b->nr_busy = 0;
	for (i = 0; i < b->nr; i++) {
		if (b->windows[i].written)
			continue;
		if (b->windows[i].busy) {
			b->nr_busy++;
			continue;
		}
		lead_probes(b, i);
		write_one(&b->windows[i]);
	}
}

static int in_line(uint64_t at, uint32_t n)
{
	return at / TEXT_LINE_BYTES == (at + n - 1) / TEXT_LINE_BYTES;
}

/*
 * Write while threads run: one instruction is replaced, and a CPU executes the old one or the new
 * one.
 */
static void write_alone(struct redirect_window *w)
{
	uint64_t where = w->from + (uint64_t)(int64_t)w->padding;
	uint8_t jump[REDIRECT_MAX_WRITTEN];
	uint32_t n;
	int movable;

	if (w->to_go_back) {
		n = jump_bytes(w);
		if (in_line(w->from, n)) {
			text_store((uint8_t *)w->from, w->text, n);
			w->written = 1;
		}
		return;
	}
	if (text_insn_bytes(w->text, w->bytes, &movable) != w->bytes)
		return;
	n = redirect_jump_make(where, w->island, jump);
	if (!w->padding) {
		if (!in_line(where, n))
			return;
		text_store((uint8_t *)where, jump, n);
		w->written = 1;
		return;
	}
	if (!text_pair_in_line((const void *)w->from))
		return;
	memcpy(text_at((void *)where), jump, n);
	if (text_sync())
		return;
	redirect_short_jump_make(w->from, where, jump);
	text_switch((uint8_t *)w->from, jump, ARCH_SITE_FULL);
	w->written = 1;
}

int redirect_write_live(struct redirect_window *windows, uint32_t nr,
			const struct redirect_lead *leads, uint32_t nr_leads, int *tid)
{
	struct batch b = {.windows = windows,
			  .nr = nr,
			  .nr_busy = nr,
			  .leads = leads,
			  .nr_leads = nr_leads,
			  .own_sp = (uint64_t)__builtin_frame_address(0)};
	uint32_t late = 0, busy, i;
	int err = 0;

	*tid = 0;
	for (busy = 0; b.nr_busy && busy < MAX_BUSY; busy++) {
		err = stop_machine(write_all, &b, within_ms[late] * MS, tid);
		if (err && err != -EAGAIN && err != -ECHILD)
			break;
		if (err && ++late == ARRAY_SIZE(within_ms))
			break;
		if (err || b.nr_busy)
			sys_sleep_ns(PAUSE_NS);
	}
	for (i = 0; err && i < nr; i++)
		if (!windows[i].written)
			write_alone(&windows[i]);
	return err;
}
