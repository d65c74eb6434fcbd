/* SPDX-License-Identifier: MIT */
/*
 * The state of a thread that the kernel saved when it called a signal handler, and the steps with
 * it that need assembler: to go on with a copy of it on another stack, and to go back from a fault.
 * Any context.
 */
#ifndef VESTIGE_ARCH_CONTEXT_H
#define VESTIGE_ARCH_CONTEXT_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#define ARCH_CONTEXT_REGS 23u /* in the order of ucontext's gregs */

/*
 * The registers of a handler's third argument; its instruction, stack and frame pointer, the first
 * two also to be set.
 */
const uint64_t *arch_context_regs(const void *context);
uint64_t *arch_context_ip(void *context);
uint64_t *arch_context_sp(void *context);
uint64_t arch_context_fp(const void *context);

/*
 * Whether the first of these words is the instruction in what the kernel has saved, by the two
 * behind it there: flags and segments.
 */
#define ARCH_CONTEXT_IP_WORDS 3u
int arch_context_is_ip(const uint64_t words[ARCH_CONTEXT_IP_WORDS]);

/*
 * How registers are printed: the name of the @i-th in the order of an oops, and its number among
 * the registers. NULL: there is no more.
 */
const char *arch_context_reg(uint32_t i, uint32_t *number);

/* Of a page fault, from @regs: 0 it read, 1 it wrote, 2 it executed; -1: this is no page fault. */
int arch_fault_kind(const uint64_t *regs, int *present);

/*
 * arch_signal_copy() - copy what the kernel put on the stack for a handler, with the state of
 * floating point and vectors, to below @top. @sig, @info, @context: as the handler got them; @info
 * and @context then point into the copy.
 * Return: where the copy begins, for arch_signal_run(); 0: it has a form that is not known, or
 * needs more than @room bytes.
 */
uint64_t arch_signal_copy(uint64_t top, size_t room, siginfo_t **info, void **context);

/*
 * arch_signal_run() - call @fn as the kernel would have, in place of the calling handler, on the
 * copy: unwinders find the interrupted code behind it, and its return ends the signal.
 */
__attribute__((noreturn)) void arch_signal_run(uint64_t frame, void (*fn)(int, siginfo_t *, void *),
					       int sig, siginfo_t *info, void *context);

/*
 * arch_guarded() - call @fn(@arg); a fault in it ends it if the handler of the fault calls
 * arch_guard_leave() with the handler's context, and returns then.
 * @guard: where to go back to; not 0 while the call runs. Return: 0; -1: there was a fault.
 */
int arch_guarded(uint64_t *guard, void (*fn)(void *), void *arg);
void arch_guard_leave(uint64_t *guard, void *context);

/* Whether the instruction before @ip is a call; @code: the eight bytes before @ip. */
int arch_is_behind_call(const uint8_t *code);

#endif
