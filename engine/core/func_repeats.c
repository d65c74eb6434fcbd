/* SPDX-License-Identifier: MIT */
/*
 * See func_repeats.h. The last call is stored in the thread's control block of the ring. A signal
 * handler that interrupts the comparison records all of its calls. As in the kernel, a count that
 * is pending when tracing ends is not recorded. fork: the child's blocks are zero. Tests:
 * tests/engine/fire/func_repeats.
 */
#include "engine/core/func_repeats.h"

#include "abi/record.h"
#include "engine/base/compiler.h"
#include "engine/process/area.h"
#include "engine/process/clock.h"
#include "engine/core/ftrace_formats.h"
#include "engine/core/function.h"
#include "engine/ring/ring_write.h"

#define RECORD_BYTES 32u
#define MAX_DELTA    ((UINT64_C(1) << 48) - 1)

static uint64_t ns_per_unit; /* << 32 */

int func_repeats_start(void)
{
	int err = ftrace_format_text(FTRACE_FUNC_REPEATS);

	if (!err)
		ns_per_unit = clock_unit_ns();
	return err;
}

/* Write a record with the number of repetitions of the last call. */
static void write_repeats(struct ring *r, const struct ring_ctl *ctl, uint64_t now)
{
	uint64_t delta = now - ctl->call_stamp;
	struct ring_slot slot;

	if (r->stamps != RING_STAMPS_COUNTER)
		delta = (uint64_t)((unsigned __int128)delta * ns_per_unit >> 32);
	if (delta > MAX_DELTA)
		delta = MAX_DELTA;
	if (!ring_reserve_as(r, &slot, RECORD_BYTES, 0, now))
		return;
	slot.words[1] = function_ip(ctl->call_id);
	slot.words[2] = ctl->call_parent;
	slot.words[3] = ctl->call_repeats | (delta >> 32) << 16 | (uint64_t)(uint32_t)delta << 32;
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_FUNC_REPEATS, RECORD_BYTES));
}

int func_repeats_take(struct ring *r, uint32_t id, uint64_t parent_ip, uint64_t now)
{
	struct ring_ctl *ctl = ring_block(r);
	int again;

	if (unlikely(ctl->tid <= 0)) {
		ring_ready(r, RECORD_BYTES);
		ctl = ring_block(r);
	}
	if (unlikely(ctl->tid <= 0 || ctl->call_busy))
		return 0;
	if (!now || r->stamps == RING_STAMPS_COUNTER)
		now = ring_now(r);
	ctl->call_busy = 1;
	barrier();
	again = ctl->call_parent == parent_ip && ctl->call_id == id &&
		ctl->call_repeats < UINT16_MAX;
	if (again) {
		ctl->call_repeats++;
		ctl->call_stamp = now;
	} else {
		if (ctl->call_repeats && area)
			write_repeats(r, ctl, now);
		ctl->call_repeats = 0;
		ctl->call_id = id;
		ctl->call_parent = parent_ip;
	}
	barrier();
	ctl->call_busy = 0;
	return again;
}
