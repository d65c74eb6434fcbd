/* SPDX-License-Identifier: MIT */
/*
 * Sections, counters and asynchronous sections as in Android's atrace: marks in the trace that
 * Perfetto, systrace and catapult show as tracks. Each call has a tag, which is a word that the
 * program chooses (gfx, input, db ...); it needs no declaration. Tags are switched at run time:
 *
 *	vestige_begin(gfx, "frame");	B|PID|frame	while `gfx` is in atrace_tags
 *	vestige_end(gfx);		E|PID
 *
 * A call whose tag is off is one instruction that does nothing; its arguments are not computed. The
 * program links nothing. Any context, signal handlers included.
 */
#ifndef VESTIGE_ATRACE_H
#define VESTIGE_ATRACE_H

#include <stdint.h>
#include <vestige/static_branch.h>
#include <vestige/vestige.h>

/**
 * vestige_tag_enabled() - whether the tag is on: 1 or 0. For arguments that are expensive to
 * compute.
 * @tag: a word of letters, digits and `_`, at most 63 bytes; the same in all macros below.
 */
#define vestige_tag_enabled(tag) VESTIGE_TAG_ON_(#tag)

/**
 * vestige_begin() - begin a section in the calling thread. Sections nest.
 * vestige_end() - end the innermost section of the calling thread.
 * @name: name of the section, NUL-terminated; at most 900 bytes are kept.
 */
#define vestige_begin(tag, name) VESTIGE_ATRACE_(#tag, 'B', name, 0)
#define vestige_end(tag)	 VESTIGE_ATRACE_(#tag, 'E', "", 0)

/** vestige_counter() - the counter @name of the process has a new @value, an int64_t. */
#define vestige_counter(tag, name, value) VESTIGE_ATRACE_(#tag, 'C', name, value)

/**
 * vestige_async_begin(), vestige_async_end() - begin or end a section that may end in another
 * thread than it began in.
 * @name:   name of the section.
 * @cookie: an int64_t that distinguishes open sections of the same name.
 */
#define vestige_async_begin(tag, name, cookie) VESTIGE_ATRACE_(#tag, 'S', name, cookie)
#define vestige_async_end(tag, name, cookie)   VESTIGE_ATRACE_(#tag, 'F', name, cookie)

/* clang-format off */

#define VESTIGE_TAG_PLACE_(tag)                                                                    \
	".pushsection .rodata.vestige_tags, \"a?\", @progbits\n"                                    \
	"3:	.asciz	\"" tag "\"\n"                                                            \
	".popsection\n"                                                                            \
	VESTIGE_PLACE_("vestige_tags", "5", "3b")

#define VESTIGE_TAG_ON_(tag)                                                                       \
	__extension__({                                                                            \
		__label__ yes, end;                                                                \
		int vestige_on_;                                                                   \
		__asm__ goto(VESTIGE_TAG_PLACE_(tag) : : : "cc" : yes);                            \
		vestige_on_ = 0;                                                                   \
		goto end;                                                                          \
	yes:                                                                                       \
		vestige_on_ = 1;                                                                   \
	end:                                                                                       \
		vestige_on_;                                                                       \
	})

#define VESTIGE_ATRACE_(tag, kind, name, value)                                                    \
	do {                                                                                       \
		if (__builtin_expect(VESTIGE_TAG_ON_(tag), 0))                                     \
			vestige_atrace_(kind, name, value);                                        \
	} while (0)

/* clang-format on */

__attribute__((noinline, cold)) static VESTIGE_NOTRACE_ void
vestige_atrace_(int kind, const char *name, int64_t value)
{
	if (vestige_call_(atrace))
		vestige_api_()->atrace(kind, name, value);
}

#endif
