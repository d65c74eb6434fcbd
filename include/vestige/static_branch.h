/* SPDX-License-Identifier: MIT */
/*
 * Sites in the code that are switched while the program runs, for tracepoint.h, atrace.h and
 * branch.h. A site that is off is the instruction `test $imm32, %eax`, whose result is not used.
 * The immediate is the distance to the jump's destination. So a change of the first byte alone
 * makes the instruction a jump. Without libvestige all sites are off.
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

/* The functions of libvestige for objects with tracepoints. New ones are added at the end alone. */
struct vestige_events_api {
	size_t bytes; /* of this struct */
	/* The object that contains @address has been relocated: its arrays may be read. */
	void (*object_ready)(const void *address);
	/* A condition of branch.h ran while its site was on. */
	void (*branch)(struct vestige_branch *b, int value, int constant);
};

extern const struct vestige_events_api vestige_events_1 __attribute__((weak));

#ifdef __cplusplus
}
#endif

/* clang-format off */

/* An ELF note of type @kind with the begin and end of section @name. One in each assembled file. */
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
 * A site. While its tracepoint, tag or tracer is on, it jumps to the label `yes`. The site gets a
 * row in @section, which a note of type @kind names. If the function is in a section group, the row
 * is in the same group: the linker keeps or drops both.
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
 * libvestige sees an object that dlopen() loads before the object is relocated. So the object
 * itself reports when that is done. For objects that are loaded at start, and without the library,
 * the report has no effect.
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
