/* SPDX-License-Identifier: MIT */
/*
 * See graph_unwind.h. An exception that passes a stub calls its personality routine, as it would any
 * frame's; the functions below are ours in place of libc's and call them. Nothing is owned. fork:
 * nothing to do. Tests: tests/engine/graph.
 */
#include "engine/hook/graph_unwind.h"

#include <execinfo.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unwind.h>

#include "arch_regs.h"
#include "engine/base/compiler.h"
#include "engine/core/area.h"
#include "engine/core/libc.h"
#include "engine/core/thread.h"
#include "engine/hook/graph.h"
#include "engine/hook/graph_stack.h"
#include "engine/ring/ring.h"

#define MAX_MAIN_STACK (UINT64_C(1) << 30)

typedef _Unwind_Reason_Code backtrace_fn(_Unwind_Trace_Fn, void *);

/* What graph.S goes on to. */
void (*graph_real_makecontext)(void);
void (*graph_real_clone)(void);
static int (*real_sigaltstack)(const stack_t *, stack_t *);
static int (*real_backtrace)(void **, int);
static void (*real_longjmp)(struct __jmp_buf_tag *, int);
static void (*real_longjmp_chk)(struct __jmp_buf_tag *, int);
static void (*real_siglongjmp)(struct __jmp_buf_tag *, int);
static backtrace_fn *real_unwind_backtrace;
static _Unwind_Ptr (*unwind_get_ip)(struct _Unwind_Context *);
static _Unwind_Word (*unwind_get_cfa)(struct _Unwind_Context *);

static uint64_t library_lo, library_hi;

void graph_unwind_find(void)
{
	if (!real_unwind_backtrace)
		real_unwind_backtrace = (backtrace_fn *)libc_next("_Unwind_Backtrace");
	if (!unwind_get_ip)
		unwind_get_ip =
			(_Unwind_Ptr(*)(struct _Unwind_Context *))libc_symbol("_Unwind_GetIP");
	if (!unwind_get_cfa)
		unwind_get_cfa =
			(_Unwind_Word(*)(struct _Unwind_Context *))libc_symbol("_Unwind_GetCFA");
}

static void find_all(void)
{
	graph_real_makecontext = (void (*)(void))libc_next("makecontext");
	graph_real_clone = (void (*)(void))libc_next("clone");
	real_sigaltstack = (int (*)(const stack_t *, stack_t *))libc_next("sigaltstack");
	real_backtrace = (int (*)(void **, int))libc_next("backtrace");
	real_longjmp = (void (*)(struct __jmp_buf_tag *, int))libc_next("longjmp");
	real_siglongjmp = (void (*)(struct __jmp_buf_tag *, int))libc_next("siglongjmp");
	real_longjmp_chk = (void (*)(struct __jmp_buf_tag *, int))libc_next("__longjmp_chk");
	graph_unwind_find();
}

void graph_unwind_start(void)
{
	const uint64_t *const *stack_end = libc_symbol("__libc_stack_end");
	uint64_t bytes = MAX_MAIN_STACK;
	struct rlimit limit;

	libc_own_text(&library_lo, &library_hi);
	if (library_hi < (uint64_t)graph_stubs + (uint64_t)GRAPH_STUBS * GRAPH_STUB_BYTES)
		library_hi = (uint64_t)graph_stubs + (uint64_t)GRAPH_STUBS * GRAPH_STUB_BYTES;
	find_all();
	if (graph_stacks_start())
		return;
	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < bytes)
		bytes = limit.rlim_cur;
	if (stack_end && *stack_end)
		graph_thread_start((uint64_t)*stack_end, bytes);
	threads_on_start(graph_thread_start, graph_thread_end);
}

/* The stub's frame is passed by an exception, a cancellation or pthread_exit(). */
_Unwind_Reason_Code graph_personality(int version, _Unwind_Action actions,
				      _Unwind_Exception_Class class, struct _Unwind_Exception *e,
				      struct _Unwind_Context *context);

_Unwind_Reason_Code graph_personality(int version, _Unwind_Action actions,
				      _Unwind_Exception_Class class, struct _Unwind_Exception *e,
				      struct _Unwind_Context *context)
{
	(void)version;
	(void)class;
	(void)e;
	/* the stack pointer in a stub is 8 above the call's slot */
	if (actions & _UA_CLEANUP_PHASE)
		graph_stack_drop(unwind_get_cfa ? unwind_get_cfa(context) : graph_tls.open + 8);
	return _URC_CONTINUE_UNWIND;
}

/* Where longjmp() will leave the stack pointer. */
static void note_jump(const struct __jmp_buf_tag *env)
{
	graph_stack_drop(arch_jump_sp((const uint64_t *)env->__jmpbuf));
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

/* makecontext() takes any number of arguments: graph.S calls this, then goes on to libc's. */
void graph_note_context(const ucontext_t *context);

void graph_note_context(const ucontext_t *context)
{
	if (!graph_real_makecontext)
		find_all();
	graph_stack_known((uint64_t)context->uc_stack.ss_sp, context->uc_stack.ss_size);
}

/*
 * A thread without thread-local memory of its own would write through the caller's control block, at
 * the same time as the caller. Neither can be told from the other, so neither is recorded.
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
	ret = real_sigaltstack(stack, old);
	if (!ret && stack && !(stack->ss_flags & SS_DISABLE))
		graph_stack_known((uint64_t)stack->ss_sp, stack->ss_size);
	return ret;
}

static int is_ours(uint64_t ip)
{
	return ip - library_lo < library_hi - library_lo;
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
		graph_unwind_find();
	if (!real_unwind_backtrace)
		return _URC_FATAL_PHASE1_ERROR;
	return real_unwind_backtrace(walk_step, &w);
}
