/* SPDX-License-Identifier: MIT */
/*
 * The state of a thread that the kernel saves when it calls a signal handler. Two steps need
 * assembler: to run a handler on a copy of that state on another stack, and to return from a fault.
 * Any context.
 */
#ifndef VESTIGE_ARCH_CONTEXT_H
#define VESTIGE_ARCH_CONTEXT_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#define ARCH_CONTEXT_REGS 23u /* in the order of ucontext's gregs */

/*
 * The registers of a handler's third argument: all ARCH_CONTEXT_REGS, and the instruction, stack
 * and frame pointer. The first two of these may be changed.
 */
const uint64_t *arch_context_regs(const void *context);
uint64_t *arch_context_ip(void *context);
uint64_t *arch_context_sp(void *context);
uint64_t arch_context_fp(const void *context);

/*
 * Whether the first of these words is the instruction pointer in a state that the kernel saved. A
 * heuristic for a search on a stack: the next two words must be valid flags and segments.
 */
#define ARCH_CONTEXT_IP_WORDS 3u
int arch_context_is_ip(const uint64_t words[ARCH_CONTEXT_IP_WORDS]);

/*
 * For an oops: the name of the @i-th register that it prints. *@number: its index in
 * arch_context_regs(). Return: NULL: there are no more.
 */
const char *arch_context_reg(uint32_t i, uint32_t *number);

/*
 * The kind of a page fault, from @regs: 0 a read, 1 a write, 2 an instruction fetch; -1: this is no
 * page fault. *@present: whether the page is mapped, so that the access violates its protection.
 */
int arch_fault_kind(const uint64_t *regs, int *present);

/*
 * arch_signal_copy() - copy to below @top what the kernel put on the stack for a handler, with the
 * state of floating point and vectors. @room: bytes below @top that may be used. @info, @context:
 * in: the handler's arguments; out: the same in the copy.
 * Return: where the copy begins, for arch_signal_run(); 0: its form is not known, or it needs more
 * than @room bytes.
 */
uint64_t arch_signal_copy(uint64_t top, size_t room, siginfo_t **info, void **context);

/*
 * arch_signal_run() - run the handler @fn in place of the calling one, on the copy, as if the
 * kernel had called it. Unwinders find the interrupted code as its caller. When @fn returns, the
 * signal ends. @frame: from arch_signal_copy().
 */
__attribute__((noreturn)) void arch_signal_run(uint64_t frame, void (*fn)(int, siginfo_t *, void *),
					       int sig, siginfo_t *info, void *context);

/*
 * arch_guarded() - call @fn(@arg), and return early if it faults. For this, the handler of the
 * fault calls arch_guard_leave() with its context and returns.
 * @guard: gets the stack pointer to return to; 0 again after the call.
 * Return: 0; -1: there was a fault.
 */
int arch_guarded(uint64_t *guard, void (*fn)(void *), void *arg);
void arch_guard_leave(uint64_t *guard, void *context);

/* Whether the instruction before @ip is a call; @code: the eight bytes before @ip. */
int arch_is_behind_call(const uint8_t *code);

#endif
