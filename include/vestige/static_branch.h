/* SPDX-License-Identifier: MIT */
/*
 * Places in the code that are switched while the program runs: off, one is the instruction
 * `test $imm32, %eax`, which sets flags that nobody reads and whose immediate is where a jump would go;
 * one byte makes it that jump. Used by tracepoint.h and atrace.h. Without libvestige nothing ever is on.
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

/* What libvestige offers to objects with tracepoints; it only ever grows. */
struct vestige_events_api {
	size_t bytes;
	/* The object with @address in it is relocated: what it has may be read. */
	void (*object_ready)(const void *address);
};

extern const struct vestige_events_api vestige_events_1 __attribute__((weak));

#ifdef __cplusplus
}
#endif

/* clang-format off */

/* An ELF note, once in what is assembled: type @kind, where section @name begins and ends. */
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
 * A place in the code that jumps to the label `yes` while what it belongs to is on: a row in @section,
 * which a note of type @kind tells. The section is one of a group where its function is, so that both
 * go together.
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
 * What dlopen() brings is seen by libvestige before it is relocated, so it tells when it is. Objects
 * that are there from the start need not, and nothing happens without the library.
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
