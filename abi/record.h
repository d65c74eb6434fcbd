/* SPDX-License-Identifier: MIT */
/*
 * One record in a page of the ring, as the engine writes it and the tools read it.
 *
 * A record begins with a 64-bit head word:
 *
 *	bits  0..31  stamp: clock units since the page's base_stamp
 *	bits 32..59  id: the function's index, or as enum record_kind says
 *	bits 60..63  kind, enum record_kind
 *
 * and may be followed by 64-bit payload words. A head word of zero means that nothing was written
 * in these eight bytes: a page is zeroed before it is used, and the head word is always stored
 * last. A reader steps over a zero word eight bytes at a time.
 */
#ifndef VESTIGE_ABI_RECORD_H
#define VESTIGE_ABI_RECORD_H

#include <stdint.h>

enum record_kind {
	RECORD_VOID = 0,     /* not written */
	RECORD_FUNCTION = 1, /* id: function; payload: u64 return address into the caller */
	RECORD_ENTRY = 2,    /* id: function; graph kinds 2..6 are 8 bytes */
	RECORD_TAIL = 3,     /* id: function, entered by a tail call */
	RECORD_EXIT = 4,     /* id: function */
	RECORD_UNWOUND = 5,  /* id: number of unwound calls (throw, longjmp, cancel), or with
				RECORD_UNWOUND_RETURNED of calls that have returned */
	RECORD_STACK = 6,    /* id: the stack of the records behind this one */
	RECORD_CONTEXT =
		7, /* id: the kernel's common_flags, common_preempt_count above them, of the
			       records behind this one in the page; they are 0 before the first */
	RECORD_PRINT =
		8, /* id: bytes of the record; payload: u64 ip of the caller, text, NULs up to
			       a multiple of 8. ip 0: a mark, as by the kernel's trace_marker;
			       below RECORD_MAX_TID: one of that thread, of another process */
	RECORD_RETURN = 9, /* id: function; a call that has no RECORD_ENTRY and took long
			      (tracing_thresh) returns; payload: bits 0..47 its duration in clock
			      units, bits 48..63 the number of calls that were open around it */
	RECORD_EVENT =
		10, /* id: bits 0..15 the event's id, bits 16..24 the record's size in words, head
			      word included, bit 25 (since 1.7) its last 4 bytes are padding;
			      payload: the event's fields, at the offsets of its format, which
			      begin at 8: the head word takes the place of the common fields */
	RECORD_ENTRY_ARGS = 11,	   /* as RECORD_ENTRY; payload: rdi rsi rdx rcx r8 r9 at the call */
	RECORD_FUNCTION_ARGS = 12, /* as RECORD_FUNCTION; payload: its payload, then the same six */
	RECORD_EXIT_VALUE = 13,	   /* as RECORD_EXIT; payload: rax at the return */
	RECORD_CALL =
		14, /* a call of a function that has no id, such as libc's; payload: its address,
			     the return address into the caller; since 1.5 */
	RECORD_UNCOMMITTED =
		15, /* id: bytes reserved, head word included; its writer has not committed it yet,
		       or was ended. With stamp RECORD_GIVEN_UP (since 1.9) it never becomes one */
};

#define RECORD_GIVEN_UP 1u /* see RECORD_UNCOMMITTED */

/*
 * In the id of a RECORD_UNWOUND (since 1.10): the calls have returned some time before, and their
 * exits were not recorded: recording was off, or there was no room.
 */
#define RECORD_UNWOUND_RETURNED (1u << 27)

#define RECORD_KIND_SHIFT 60
#define RECORD_ID_SHIFT	  32
#define RECORD_ID_BITS	  28
#define RECORD_ID_MAX	  ((1u << RECORD_ID_BITS) - 1)

#define RECORD_FUNCTION_BYTES 16u
#define RECORD_GRAPH_BYTES    8u
#define RECORD_RETURN_BYTES   16u
#define RECORD_CALL_BYTES     24u

#define RECORD_RETURN_DEPTH_SHIFT 48

/* Above all thread ids, and below all addresses of code. */
#define RECORD_MAX_TID (1u << 22)

#define RECORD_EVENT_WORDS_SHIFT 16
#define RECORD_EVENT_WORDS	 0x1ffu
#define RECORD_EVENT_HALF	 (1u << 25)

/* For the head word of an event: its id and the record's size, a multiple of 8. */
#define RECORD_EVENT_ID(id, bytes)                                                                 \
	((uint32_t)(id) | ((uint32_t)(bytes) / 8) << RECORD_EVENT_WORDS_SHIFT)
/* The registers in which the System V ABI passes integers and pointers. */
#define RECORD_NR_ARGS		   6u
#define RECORD_VALUE_BYTES	   16u
#define RECORD_ENTRY_ARGS_BYTES	   (RECORD_GRAPH_BYTES + 8u * RECORD_NR_ARGS)
#define RECORD_FUNCTION_ARGS_BYTES (RECORD_FUNCTION_BYTES + 8u * RECORD_NR_ARGS)

static inline enum record_kind record_word_kind(uint64_t word)
{
	return (enum record_kind)(word >> RECORD_KIND_SHIFT);
}

static inline uint32_t record_word_id(uint64_t word)
{
	return (uint32_t)(word >> RECORD_ID_SHIFT) & RECORD_ID_MAX;
}

static inline uint32_t record_word_stamp(uint64_t word)
{
	return (uint32_t)word;
}

/*
 * Bytes of the record that starts with @word, head word included: 8 for a void word, 0 for a word
 * that no writer makes. The result is not checked against the end of the page.
 */
static inline uint32_t record_word_bytes(uint64_t word)
{
	switch (record_word_kind(word)) {
	case RECORD_VOID:
		return word ? 0 : 8;
	case RECORD_FUNCTION:
		return RECORD_FUNCTION_BYTES;
	case RECORD_RETURN:
		return RECORD_RETURN_BYTES;
	case RECORD_EXIT_VALUE:
		return RECORD_VALUE_BYTES;
	case RECORD_CALL:
		return RECORD_CALL_BYTES;
	case RECORD_ENTRY_ARGS:
		return RECORD_ENTRY_ARGS_BYTES;
	case RECORD_FUNCTION_ARGS:
		return RECORD_FUNCTION_ARGS_BYTES;
	case RECORD_ENTRY:
	case RECORD_TAIL:
	case RECORD_EXIT:
	case RECORD_UNWOUND:
	case RECORD_STACK:
	case RECORD_CONTEXT:
		return RECORD_GRAPH_BYTES;
	case RECORD_EVENT:
		return (record_word_id(word) >> RECORD_EVENT_WORDS_SHIFT & RECORD_EVENT_WORDS) << 3;
	case RECORD_PRINT:
	case RECORD_UNCOMMITTED:
		return record_word_id(word) & 7 ? 0 : record_word_id(word);
	default:
		return 0;
	}
}

#endif
