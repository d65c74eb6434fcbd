/* SPDX-License-Identifier: MIT */
/*
 * The transcript program: it does whatever makes wrapping a call difficult, prints what it sees,
 * and must print the same under every tracer. Each file is a section.
 *
 * Addresses are printed as object+offset, so that two runs of one build can be compared. What is
 * no function to be traced is NOTRACE; say() and its kind are traced as any other.
 */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include <stdint.h>

#define NOTRACE	 __attribute__((noinline, patchable_function_entry(0)))
#define NOINLINE __attribute__((noinline))
/* The optimizer does not know what the value is. */
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
/* Something to do after a call: it is no tail call. */
#define KEEP() __asm__ volatile("" ::: "memory")

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZED 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The stack as backtrace() and as _Unwind_Backtrace() see it. */
void say_stack(const char *what);
/* An address, as object+offset. */
void say_address(const char *what, const void *address);
/* Prints what is buffered; before fork and in the child of one, too. */
void say_flush(void);

void section_values(void);
void section_throws(void);
void section_forced(void);
void section_walks(void);
void section_jumps(void);
void section_stacks(void);
void section_coroutines(void);
void section_tails(void);

#ifdef __cplusplus
}
#endif

#endif
