/* SPDX-License-Identifier: MIT */
/*
 * Source names in the definition of a probe (`p:ev func fd path->next`). Their meaning is in the
 * program's DWARF, which the engine does not read. So the tools, when they write the definition,
 * add the meaning to the word. Without the blanks:
 *
 *	fd \1 $arg1:s32		PROBE_WORD_MEANS: the text behind \1 is fetched, the text before it
 *				is listed
 *	fx \2 b 0		PROBE_WORD_WRONG: enum probe_word_wrong, and the offset of the error
 *				in the word
 *
 * A name without either of them is refused.
 */
#ifndef VESTIGE_ABI_PROBE_WORD_H
#define VESTIGE_ABI_PROBE_WORD_H

#define PROBE_WORD_MEANS '\1'
#define PROBE_WORD_WRONG '\2'
#define PROBE_WORD_BYTES 63 /* maximum length of a meaning */

enum probe_word_wrong {
	PROBE_WRONG_NAME = 'a',
	PROBE_WRONG_ALL,	/* `$arg*` with a name, or within brackets */
	PROBE_WRONG_ALL_INSIDE, /* `$arg*` neither at a function's entry nor at its return */
	PROBE_WRONG_ALL_TWICE,
	PROBE_WRONG_NO_POINTER, /* `->` behind an expression that is not a pointer to a structure */
	PROBE_WRONG_STRUCTURE,	/* a whole structure where a number is needed */
	PROBE_WRONG_HYPHEN,
	PROBE_WRONG_MEMBER,
	PROBE_WRONG_STRING, /* `:string` behind something that is not a string */
	PROBE_WRONG_VOID,   /* `$retval` of a function that returns nothing */
	PROBE_WRONG_PLACE,  /* in no register or stack word: optimized out by the compiler */
	PROBE_WRONG_FLOAT,  /* floating point, which no probe can fetch */
	PROBE_WRONG_LENGTH,
	PROBE_WRONG_END
};

#endif
