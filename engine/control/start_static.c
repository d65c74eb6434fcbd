/* SPDX-License-Identifier: MIT */
/*
 * Starts libvestige.a in a program that is linked with it: an entry of .preinit_array, which runs
 * before every constructor. A note shows `vestige record` that the engine is inside, and at which
 * address it has started. `-u vestige_inside` links all of it into the program.
 *
 *	note	name "vestige", type 1; 64 bits: engine_ready() - the address of these bits
 *
 * Tests: tests/engine/targets (static-*).
 */
#include "engine/base/compiler.h"
#include "engine/control/boot.h"

__asm__(".pushsection .note.vestige, \"a\", @note\n"
	"	.balign 4\n"
	"	.long	8, 8, 1\n"
	"	.asciz	\"vestige\"\n"
	"	.quad	engine_ready - .\n"
	"	.popsection\n");

VESTIGE_EXPORT const int vestige_inside = 1;

__attribute__((section(".preinit_array"), used)) static void (*const start)(int, char **,
									    char **) = engine_start;
