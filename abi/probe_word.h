/* SPDX-License-Identifier: MIT */
/*
 * Names of the source in the definition of a probe (`p:ev func fd path->next`). Their meaning is in
 * the program's DWARF, which the engine does not read. So the tools that write the definition add
 * it to the word:
 *
 *	fd \1 $arg1:s32		PROBE_WORD_MEANS: what is fetched; listed is the text before it
 *	fx \2 b 0		PROBE_WORD_WRONG: a probe_word_wrong, and the byte of the word
 *
 * without the blanks. A name without either of them is refused.
 */
#ifndef VESTIGE_ABI_PROBE_WORD_H
#define VESTIGE_ABI_PROBE_WORD_H

#define PROBE_WORD_MEANS '\1'
#define PROBE_WORD_WRONG '\2'
#define PROBE_WORD_BYTES 63 /* longest meaning of a word */

enum probe_word_wrong {
	PROBE_WRONG_NAME = 'a',
	PROBE_WRONG_ALL,	/* `$arg*` with a name, or within brackets */
	PROBE_WRONG_ALL_INSIDE, /* `$arg*` at no function's entry or return */
	PROBE_WRONG_ALL_TWICE,
	PROBE_WRONG_NO_POINTER, /* `->` behind an expression that is no pointer to a structure */
	PROBE_WRONG_STRUCTURE,	/* a whole structure where a number is needed */
	PROBE_WRONG_HYPHEN,
	PROBE_WRONG_MEMBER,
	PROBE_WRONG_STRING, /* `:string` behind something that is no string */
	PROBE_WRONG_VOID,   /* `$retval` of a function that has none */
	PROBE_WRONG_PLACE,  /* in no register or word of the stack: left out by the compiler */
	PROBE_WRONG_FLOAT,  /* floating point, which no probe can fetch */
	PROBE_WRONG_LENGTH,
	PROBE_WRONG_END
};

#endif
