/* SPDX-License-Identifier: MIT */
/*
 * An engine that dlopen() brings is behind libc in the order in which names are looked up, so the
 * program does not call the functions that libvestige.so exports under libc's names (vestige.map).
 * So the words of the loader's tables are made to lead there, while the engine is awake, as the
 * order of objects does for a preloaded engine. And the program's weak references to the engine's own
 * tables, which led nowhere when it started, lead there.
 *
 * Owns a row for each name. Constructor context, under the loader's lock. fork: the child has the
 * same words. An engine that another library comes before (a sanitizer's, which has some of these
 * names itself) is left as it is. Tests: tests/engine/graph/transcript gcc-late, tests/cli/attach.
 */
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/core/interpose.h"
#include "engine/core/rest.h"
#include "engine/core/tree_lock.h"
#include "engine/process/area.h"
#include "engine/process/libc.h"

/* Their types do not matter here. */
#define NAMES(X)                                                                                   \
	X(pthread_create)                                                                          \
	X(thrd_create)                                                                             \
	X(pthread_setname_np)                                                                      \
	X(prctl)                                                                                   \
	X(syscall)                                                                                 \
	X(_exit)                                                                                   \
	X(_Exit)                                                                                   \
	X(longjmp)                                                                                 \
	X(_longjmp)                                                                                \
	X(siglongjmp)                                                                              \
	X(__longjmp_chk)                                                                           \
	X(__cxa_begin_catch)                                                                       \
	X(makecontext)                                                                             \
	X(make_fcontext)                                                                           \
	X(sigaltstack)                                                                             \
	X(clone)                                                                                   \
	X(backtrace)                                                                               \
	X(_Unwind_Backtrace)                                                                       \
	X(_dl_find_object)

/* The engine's own, which the headers of include/vestige name weakly. */
#define TABLES(X)                                                                                  \
	X(vestige_api_1)                                                                           \
	X(vestige_events_1)

#define DECLARE(name) extern const char late_##name[] __asm__(#name);
NAMES(DECLARE)
TABLES(DECLARE)

#define ROW(fn) {.name = #fn, .wrapper = late_##fn},
static struct interposed rows[] = {NAMES(ROW)};

static int taken;

static void take(void)
{
	int err = interpose_register(rows, ARRAY_SIZE(rows));

	taken = !err;
	if (err)
		area_status("calls of libc about threads and jumps are not seen", NULL, err);
}

static void rest(int asleep)
{
	if (!taken)
		return;
	if (asleep)
		interpose_unregister(rows, ARRAY_SIZE(rows));
	else
		take();
}

REST(rest);

static void start(const struct lifecycle_start *how)
{
	(void)how;
	if (!libc_is_late() || tree_lock_take())
		return;
	take();
	tree_lock_release();
}

#define FILL(name) interpose_weak(#name, late_##name);

/* The program's threads run, and may call what is in the tables at once: the engine is ready by now. */
static void start_tables(const struct lifecycle_start *how)
{
	(void)how;
	if (!libc_is_late() || tree_lock_take())
		return;
	TABLES(FILL)
	tree_lock_release();
}

LIFECYCLE(LIFECYCLE_CORE, start, NULL, NULL);
LIFECYCLE(LIFECYCLE_AGENT_2, start_tables, NULL, NULL);
