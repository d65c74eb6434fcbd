/* SPDX-License-Identifier: MIT */
/*
 * Sites in the code that are switched while the program runs. Off, a site is the instruction `test
 * $imm32, %eax`, whose result is not used. Its immediate is where a jump would go: one byte makes
 * it that jump. Used by tracepoint.h, atrace.h and branch.h. Without libvestige they are always
 * off.
 */
#ifndef VESTIGE_STATIC_BRANCH_H
#define VESTIGE_STATIC_BRANCH_H
#pragma GCC system_header

#include <stddef.h>

#if !defined(__x86_64__) || !defined(__ELF__)
#error "vestige's tracepoints are for x86-64 and ELF"
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct vestige_branch;

/* The functions of libvestige for objects with tracepoints. The table only ever grows. */
struct vestige_events_api {
	size_t bytes;
	/*
	 * Reports to libvestige that the object with @address in it is relocated: its arrays may be
	 * read.
	 */
	void (*object_ready)(const void *address);
	/* A place of branch.h ran while it was on. */
	void (*branch)(struct vestige_branch *b, int value, int constant);
};

extern const struct vestige_events_api vestige_events_1 __attribute__((weak));

#ifdef __cplusplus
}
#endif

/* clang-format off */

/* An ELF note, once in each assembled file: type @kind, with the begin and end of section @name. */
#define VESTIGE_NOTE_(name, kind)                                                                  \
	".ifndef .L" name "_note\n"                                                                \
	".set .L" name "_note, 1\n"                                                                \
	".pushsection .note.vestige, \"a\", @note\n"                                               \
	"	.balign 4\n"                                                                       \
	"	.long	8, 16, " kind "\n"                                                         \
	"	.asciz	\"vestige\"\n"                                                             \
	"	.quad	__start_" name " - .\n"                                                    \
	"	.quad	__stop_" name " - .\n"                                                     \
	".popsection\n"                                                                            \
	".hidden __start_" name "\n"                                                               \
	".hidden __stop_" name "\n"                                                                \
	".endif\n"

/*
 * A place in the code that jumps to the label `yes` while its tracepoint, tag or tracer is on: a
 * row in @section, which a note of type @kind names. The section is one of a group where its
 * function is, so that both go together.
 */
#define VESTIGE_PLACE_(section, kind, what)                                                        \
	"1:	.byte	0xa9\n"                                                                    \
	"	.long	%l[yes] - 2f\n"                                                            \
	"2:\n"                                                                                     \
	".pushsection " section ", \"aw?\", @progbits\n"                                           \
	"	.balign 8\n"                                                                       \
	"	.quad	1b\n"                                                                      \
	"	.quad	" what "\n"                                                                \
	".popsection\n"                                                                            \
	VESTIGE_NOTE_(section, kind)

#define VESTIGE_NOTRACE_ __attribute__((no_instrument_function, unused, patchable_function_entry(0)))
/*
 * libvestige sees an object that dlopen() loads before it is relocated. So the object reports when
 * it has been. Objects that are loaded at start need not, and nothing happens without the library.
 */
__attribute__((constructor(101))) static VESTIGE_NOTRACE_ void vestige_object_ready_(void)
{
	const struct vestige_events_api *api;

	__asm__(".weak vestige_events_1\n\tmovq vestige_events_1@GOTPCREL(%%rip), %0" : "=r"(api));
	if (api)
		api->object_ready((const void *)vestige_object_ready_);
}

/* clang-format on */
#endif
