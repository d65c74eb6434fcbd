/* SPDX-License-Identifier: MIT */
/*
 * Names in the definition of a probe (`p:ev func fd path->next`). What they mean stands in the program's
 * DWARF, which the engine does not read. So who writes the definition says it with the word:
 *
 *	fd \1 $arg1:s32		PROBE_WORD_MEANS: what is fetched; listed and named is what stands before
 *	fx \2 b 0		PROBE_WORD_WRONG: which of probe_word_wrong it is, and at which byte of the word
 *
 * without the blanks. A name that comes without either is refused.
 */
#ifndef VESTIGE_ABI_PROBE_WORD_H
#define VESTIGE_ABI_PROBE_WORD_H

#define PROBE_WORD_MEANS '\1'
#define PROBE_WORD_WRONG '\2'
#define PROBE_WORD_BYTES 63 /* of what a word may mean */

enum probe_word_wrong {
	PROBE_WRONG_NAME = 'a',
	PROBE_WRONG_ALL,	/* `$arg*` with a name, or within brackets */
	PROBE_WRONG_ALL_INSIDE, /* `$arg*` at no function's entry or return */
	PROBE_WRONG_ALL_TWICE,
	PROBE_WRONG_NO_POINTER, /* `->` of what is none, or of one to no structure */
	PROBE_WRONG_STRUCTURE,	/* all of it, where a number is needed */
	PROBE_WRONG_HYPHEN,
	PROBE_WRONG_MEMBER,
	PROBE_WRONG_STRING, /* `:string` of what is none */
	PROBE_WRONG_VOID,   /* `$retval` of a function that has none */
	PROBE_WRONG_PLACE,  /* in no register or word of the stack: left out by the compiler */
	PROBE_WRONG_FLOAT,  /* floating point, which no probe can fetch */
	PROBE_WRONG_LENGTH,
	PROBE_WRONG_END
};

#endif
