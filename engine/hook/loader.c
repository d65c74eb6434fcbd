/* SPDX-License-Identifier: MIT */
/*
 * Follows dlopen() and dlclose(). At each change of its list the loader calls an empty function,
 * r_debug.r_brk, for debuggers to put a breakpoint there. The engine puts a jump there, once, while
 * only one thread runs. dlopen() itself cannot be interposed: it looks up its caller (RUNPATH,
 * namespace), and new code might run before the engine has seen it.
 *
 * The function must be a `ret` with padding behind it. If anything else is there, such as a
 * debugger's breakpoint, it is left alone, and vestige_status reports that objects are not
 * followed. fork: the child has the same jump. Tests: tests/engine/fire/dlopen.
 */
#include "engine/hook/loader.h"

#include <errno.h>
#include <link.h>

#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/core/text_patch.h"
#include "engine/process/libc.h"
#include "engine/hook/text/near_map.h"

static struct r_debug *debug;
static void (*before)(void);
static void (*callback)(void);

/* Called instead of the loader's empty function. */
static void loader_changed(void)
{
	if (debug->r_state == RT_DELETE)
		before();
	else if (debug->r_state == RT_CONSISTENT)
		callback();
}

int loader_follow(void (*removing)(void), void (*changed)(void))
{
	uint64_t target = (uint64_t)loader_changed;
	uint8_t *at, *island;
	uint64_t lo, hi;
	int err;

	debug = libc_symbol("_r_debug");
	if (!debug || !debug->r_brk)
		return -ENOENT;
	at = (uint8_t *)debug->r_brk;
	if (arch_is_marker(at, ARCH_MARKER_BYTES))
		at += ARCH_MARKER_BYTES;
	if (!arch_is_padded_return(at))
		return -EBUSY;
	lo = (uint64_t)at & ~UINT64_C(4095);
	hi = ((uint64_t)at + ARCH_JUMP_BYTES + 4095) & ~UINT64_C(4095);
	island = near_map(lo, hi, 4096);
	if (!island)
		return -ENOMEM;
	before = removing;
	callback = changed;
	memcpy(island + 16, &target, sizeof(target));
	arch_make_island(island, 16 - 6, 0);
	err = text_seal(island, 4096);
	if (!err)
		err = text_open(lo, hi);
	if (err)
		return err;
	arch_make_jump(text_at(at), (int32_t)(island - (at + ARCH_JUMP_BYTES)));
	text_close(lo, hi);
	return 0;
}
