/* SPDX-License-Identifier: MIT */
/*
 * If dlopen() loads the engine, it comes after libc in the order of symbol lookup, so the program
 * does not call the functions that libvestige.so exports under libc's names (vestige.map). So while
 * the engine is active, the words of the loader's tables are made to lead to them, as the lookup
 * order does for a preloaded engine. The program's weak references to the engine's own tables,
 * which had no target when the program started, are made to lead there, too.
 *
 * Owns a row for each name. Constructor context, under the loader's lock. fork: the child has the
 * same words. If another library comes before the engine (a sanitizer's, which has some of these
 * names), it is left as it is. Tests: tests/engine/graph/transcript gcc-late, tests/cli/attach.
 */
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/core/interpose.h"
#include "engine/core/rest.h"
#include "engine/core/tree_lock.h"
#include "engine/process/area.h"
#include "engine/process/libc.h"

/* Functions; their types do not matter here. */
#define NAMES(X)                                                                                   \
	X(pthread_create)                                                                          \
	X(thrd_create)                                                                             \
	X(pthread_setname_np)                                                                      \
	X(prctl)                                                                                   \
	X(capset)                                                                                  \
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

/* The engine's own tables, to which the headers of include/vestige have weak references. */
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

/* The program's threads run, and may use the tables at once, so the engine must be ready. */
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
