/* SPDX-License-Identifier: MIT */
/*
 * Operations of a program on its stacks other than call and return: it throws, jumps, makes new
 * stacks, walks them. libc or the compiler's library does these. The functions here are called in
 * their place and call them, find out which wrapped calls were unwound, and hide the engine's
 * frames from the program. No state. fork: nothing to do. Tests: tests/engine/graph.
 */
#include <errno.h>
#include <execinfo.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unwind.h>

#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/process/area.h"
#include "engine/process/elf_dynamic.h"
#include "engine/process/libc.h"
#include "engine/process/object.h"
#include "engine/core/altstack.h"
#include "engine/core/interpose.h"
#include "engine/core/jump.h"
#include "engine/core/sandbox.h"
#include "engine/core/stack.h"
#include "engine/core/thread.h"
#include "engine/core/thread_unseen.h"
#include "engine/hook/graph/graph.h"
#include "engine/hook/graph/graph_stack.h"
#include "engine/ring/ring.h"

#define MAX_MAIN_STACK	(UINT64_C(1) << 30)
#define MAX_OTHER_STACK (UINT64_C(16) << 20) /* of a coroutine's stack */

typedef _Unwind_Reason_Code backtrace_fn(_Unwind_Trace_Fn, void *);

/* The functions of libc to which graph.S jumps. */
void (*graph_real_makecontext)(void);
void (*graph_real_make_fcontext)(void);
void (*graph_real_clone)(void);
static int (*real_sigaltstack)(const stack_t *, stack_t *);
static int (*real_backtrace)(void **, int);
static void (*real_longjmp)(struct __jmp_buf_tag *, int);
static void (*real_longjmp_chk)(struct __jmp_buf_tag *, int);
static void (*real_siglongjmp)(struct __jmp_buf_tag *, int);
static backtrace_fn *real_unwind_backtrace;
static _Unwind_Ptr (*unwind_get_ip)(struct _Unwind_Context *);
static _Unwind_Word (*unwind_get_cfa)(struct _Unwind_Context *);
static void *(*real_begin_catch)(void *);

static uint64_t library_lo, library_hi;

static int is_ours(uint64_t ip)
{
	return ip - library_lo < library_hi - library_lo;
}

static void find_unwinder(void)
{
	if (!real_unwind_backtrace)
		real_unwind_backtrace = (backtrace_fn *)libc_anywhere("_Unwind_Backtrace");
	if (!unwind_get_ip)
		unwind_get_ip =
			(_Unwind_Ptr(*)(struct _Unwind_Context *))libc_anywhere("_Unwind_GetIP");
	if (!unwind_get_cfa)
		unwind_get_cfa =
			(_Unwind_Word(*)(struct _Unwind_Context *))libc_anywhere("_Unwind_GetCFA");
}

static int can_walk(void)
{
	return real_unwind_backtrace && unwind_get_ip && unwind_get_cfa;
}

/* Functions that libc has: a lookup that fails takes memory from malloc(). */
static void find_all(void)
{
	graph_real_makecontext = (void (*)(void))libc_next("makecontext");
	graph_real_clone = (void (*)(void))libc_next("clone");
	real_sigaltstack = (int (*)(const stack_t *, stack_t *))libc_next("sigaltstack");
	real_backtrace = (int (*)(void **, int))libc_next("backtrace");
	real_longjmp = (void (*)(struct __jmp_buf_tag *, int))libc_next("longjmp");
	real_siglongjmp = (void (*)(struct __jmp_buf_tag *, int))libc_next("siglongjmp");
	real_longjmp_chk = (void (*)(struct __jmp_buf_tag *, int))libc_next("__longjmp_chk");
}

/* Whether an object has an unwinder; the engine only passes calls on. */
static int has_unwinder(void)
{
	uint32_t i;

	for (i = 0; i < object_count(); i++) {
		const struct object *o = object_at(i);

		if (library_lo - object_row(o)->lo >= object_row(o)->hi - object_row(o)->lo &&
		    dynamic_function(o, "_Unwind_Backtrace", NULL).address)
			return 1;
	}
	return 0;
}

/*
 * The unwinder's and the C++ runtime's functions, ahead of time. Else they are found when they are
 * first called.
 */
static void find_runtime(void)
{
	if (!libc_is_static && !has_unwinder())
		return;
	real_begin_catch = (void *(*)(void *))libc_next("__cxa_begin_catch");
	real_unwind_backtrace = (backtrace_fn *)libc_next("_Unwind_Backtrace");
	unwind_get_ip = (_Unwind_Ptr(*)(struct _Unwind_Context *))libc_symbol("_Unwind_GetIP");
	unwind_get_cfa = (_Unwind_Word(*)(struct _Unwind_Context *))libc_symbol("_Unwind_GetCFA");
}

struct frames {
	stack_each *each;
	void *arg;
};

static _Unwind_Reason_Code give_frame(struct _Unwind_Context *context, void *arg)
{
	const struct frames *f = arg;
	uint64_t ip = unwind_get_ip(context);

	if (is_ours(ip))
		return _URC_NO_REASON;
	/* the CFA of a stub's frame is no stack pointer; the word that contains it is */
	if (!ip || f->each(f->arg, ip, unwind_get_cfa(context) & ~UINT64_C(7)))
		return _URC_END_OF_STACK;
	return _URC_NO_REASON;
}

/*
 * Walk with libgcc's unwinder: its tables are looked up without a lock, and it allocates nothing.
 */
static void walk(stack_each *each, void *arg)
{
	struct frames f = {each, arg};

	real_unwind_backtrace(give_frame, &f);
}

static int stop(void *arg, uint64_t ip, uint64_t sp)
{
	(void)arg;
	(void)ip;
	(void)sp;
	return 1;
}

/*
 * Does libgcc know the tables of this code? It aborts if not. A static program has no table of its
 * tables (PT_GNU_EH_FRAME) as a rule: its first constructor tells libgcc, after the engine's start.
 */
static int has_tables(void)
{
	typedef const void *find_fn(void *pc, void *bases);
	find_fn *find = libc_is_static ? (find_fn *)libc_symbol("_Unwind_Find_FDE") : NULL;
	void *bases[3];

	return !find || find((void *)(uintptr_t)has_tables, bases);
}

/* A C program has no unwinder until libc loads one for backtrace(). */
static int prepare_walk(void)
{
	void *one[1];

	if (!has_tables())
		return -ENOSYS;
	if (!can_walk())
		find_unwinder();
	if (!can_walk() && real_backtrace) {
		real_backtrace(one, 1);
		find_unwinder();
	}
	if (!can_walk())
		return -ENOSYS;
	/* the first walk sets up what the unwinder needs */
	walk(stop, NULL);
	return 0;
}

/* The caller of a call of the main thread, from its slot. */
static uint64_t caller_of(const uint64_t *slot)
{
	return graph_shadow((uint64_t)slot)->return_address;
}

/*
 * The bytes of the main thread's stack above @top: arguments and environment, which count towards
 * its limit. The program's name is the last string, with one word behind it (execve() of Linux).
 */
static uint64_t bytes_above(uint64_t top)
{
	const char *last = (const char *)getauxval(AT_EXECFN);
	uint64_t end = last ? ((uint64_t)last + strlen(last) + 1 + 8 + 4095) & ~UINT64_C(4095) : 0;

	return end > top ? end - top : 0;
}

static void start(const struct lifecycle_start *how)
{
	const uint64_t *const *stack_end = libc_symbol("__libc_stack_end");
	uint64_t bytes = MAX_MAIN_STACK;
	struct rlimit limit;

	(void)how;
	libc_own_text(&library_lo, &library_hi);
	if (library_hi < (uint64_t)graph_stubs + (uint64_t)GRAPH_STUBS * GRAPH_STUB_BYTES)
		library_hi = (uint64_t)graph_stubs + (uint64_t)GRAPH_STUBS * GRAPH_STUB_BYTES;
	return_stubs = (struct return_stubs){(uint64_t)graph_stubs,
					     (uint64_t)GRAPH_STUBS * GRAPH_STUB_BYTES, caller_of};
	find_all();
	find_runtime();
	stack_register(walk, prepare_walk);
	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < bytes)
		bytes = limit.rlim_cur;
	if (stack_end && *stack_end)
		thread_stack = (struct thread_stack){(uint64_t)*stack_end, bytes};
	if (bytes < MAX_MAIN_STACK && bytes_above(thread_stack.top) < bytes / 2)
		thread_stack.bytes -= bytes_above(thread_stack.top);
	main_stack = thread_stack;
	if (graph_stacks_start())
		return;
	if (libc_is_late())
		threads_unseen_stacks(graph_stack_known);
	if (thread_stack.top && sys_gettid() != sys_getpid()) {
		graph_stack_known(thread_stack.top - bytes, bytes);
		thread_stack = (struct thread_stack){0};
	}
	if (thread_stack.top)
		graph_thread_start(thread_stack.top, bytes);
	threads_on_start(graph_thread_start, graph_thread_end);
	sandbox_on_enter(graph_thread_ahead);
}

/*
 * All frames up to @sp are about to be unwound, and their sections of srcu end. On the thread's own
 * stack and on its signal stack, these are all frames below @sp; on another stack they are the
 * frames between here and @sp.
 */
static void leave_sections(uint64_t here, uint64_t sp)
{
	uint64_t lo = thread_stack.top - thread_stack.bytes;
	stack_t alt = {.ss_flags = SS_DISABLE};

	if (likely(!srcu_any()))
		return;
	if (sp - lo <= thread_stack.bytes)
		srcu_jump(lo, sp);
	else if (here < sp && sp - here < MAX_OTHER_STACK)
		srcu_jump(here, sp);
	/* a handler jumps to the stack that it interrupted */
	if (!sys_is_forbidden() && real_sigaltstack && !real_sigaltstack(NULL, &alt) &&
	    alt.ss_flags & SS_ONSTACK && sp - (uint64_t)alt.ss_sp > alt.ss_size)
		srcu_jump(here, (uint64_t)alt.ss_sp + alt.ss_size);
}

/*
 * An exception was caught: the calls below the frame that catches it were unwound. A personality
 * routine of the stubs would see each of them, but LLVM's unwinder ends the process if a stub is
 * next to the frame that catches.
 */
void *__cxa_begin_catch(void *exception);

VESTIGE_EXPORT void *__cxa_begin_catch(void *exception)
{
	const uint64_t here = (uint64_t)__builtin_frame_address(0), sp = here + 16;

	leave_sections(here, sp);
	graph_stack_drop(sp);
	if (!real_begin_catch)
		real_begin_catch = (void *(*)(void *))libc_anywhere("__cxa_begin_catch");
	return real_begin_catch(exception);
}

/* Drop the calls that longjmp() unwinds: those below its stack pointer. */
static void note_jump(const struct __jmp_buf_tag *env)
{
	uint64_t sp = arch_jump_sp((const uint64_t *)env->__jmpbuf);
	jump_listener *listener;

	leave_sections((uint64_t)__builtin_frame_address(0), sp);
	ring_jump(sp);
	graph_stack_drop(sp);
	listener = load_acquire(&jump_listening);
	if (listener)
		listener(sp, env->__mask_was_saved ? (const uint64_t *)&env->__saved_mask : NULL);
}

VESTIGE_EXPORT void longjmp(struct __jmp_buf_tag env[1], int value)
{
	note_jump(env);
	if (!real_longjmp)
		find_all();
	real_longjmp(env, value);
	__builtin_unreachable();
}

VESTIGE_EXPORT void _longjmp(struct __jmp_buf_tag env[1], int value)
{
	longjmp(env, value);
}

VESTIGE_EXPORT void siglongjmp(struct __jmp_buf_tag env[1], int value)
{
	note_jump(env);
	if (!real_siglongjmp)
		find_all();
	real_siglongjmp(env, value);
	__builtin_unreachable();
}

void __longjmp_chk(struct __jmp_buf_tag env[1], int value);

VESTIGE_EXPORT void __longjmp_chk(struct __jmp_buf_tag env[1], int value)
{
	note_jump(env);
	if (!real_longjmp_chk)
		find_all();
	real_longjmp_chk(env, value);
	__builtin_unreachable();
}

/* makecontext() has any number of arguments: graph.S calls this, then jumps to libc's function. */
void graph_note_context(const ucontext_t *context);

void graph_note_context(const ucontext_t *context)
{
	if (!graph_real_makecontext)
		find_all();
	graph_stack_known((uint64_t)context->uc_stack.ss_sp, context->uc_stack.ss_size);
}

/*
 * Boost.Context makes each of its stacks by make_fcontext(), which may be in a library that only
 * some objects see. @top: the stack's upper end. @bytes: its size.
 */
void graph_note_fcontext(uint64_t top, size_t bytes);

void graph_note_fcontext(uint64_t top, size_t bytes)
{
	if (!graph_real_make_fcontext)
		graph_real_make_fcontext = (void (*)(void))libc_anywhere("make_fcontext");
	if (bytes < top)
		graph_stack_known(top - bytes, bytes);
}

/*
 * A thread without thread-local memory of its own would write through the caller's control block,
 * at the same time as the caller. The engine cannot distinguish them, so it records neither.
 */
void graph_note_clone(int (*fn)(void *), void *stack, int flags);

void graph_note_clone(int (*fn)(void *), void *stack, int flags)
{
	(void)fn;
	(void)stack;
	if (!graph_real_clone)
		find_all();
	if ((flags & (CLONE_VM | CLONE_SETTLS | CLONE_VFORK)) != CLONE_VM)
		return;
	ring_thread_forbid();
	graph_thread_forbid();
	if (area)
		area_status(
			"a thread is no longer traced: it made one that shares its thread-local "
			"memory, by clone()",
			NULL, 0);
}

VESTIGE_EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
	int ret;

	if (!real_sigaltstack)
		find_all();
	ret = altstack_set(real_sigaltstack, stack, old);
	if (!ret && stack && !altstack_is_ours())
		graph_stack_signals((uint64_t)stack->ss_sp,
				    stack->ss_flags & SS_DISABLE ? 0 : stack->ss_size);
	return ret;
}

VESTIGE_EXPORT int backtrace(void **buffer, int size)
{
	void *all[512];
	int room = size * 2 + 4, n, i, kept = 0;
	void **from = all;

	if (!real_backtrace)
		find_all();
	if (size <= 0)
		return real_backtrace(buffer, size);
	if (room > 512) {
		if (size > 512)
			from = buffer;
		room = size > 512 ? size : 512;
	}
	n = real_backtrace(from, room);
	for (i = 0; i < n && kept < size; i++)
		if (!is_ours((uint64_t)from[i]))
			buffer[kept++] = from[i];
	return kept;
}

struct walk {
	_Unwind_Trace_Fn each;
	void *arg;
};

static _Unwind_Reason_Code walk_step(struct _Unwind_Context *context, void *arg)
{
	const struct walk *w = arg;

	if (unwind_get_ip && is_ours(unwind_get_ip(context)))
		return _URC_NO_REASON;
	return w->each(context, w->arg);
}

VESTIGE_EXPORT _Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn each, void *arg)
{
	struct walk w = {each, arg};

	if (!real_unwind_backtrace)
		find_unwinder();
	if (!real_unwind_backtrace)
		return _URC_FATAL_PHASE1_ERROR;
	return real_unwind_backtrace(walk_step, &w);
}

LIFECYCLE(LIFECYCLE_HOOK, start, NULL, NULL);
