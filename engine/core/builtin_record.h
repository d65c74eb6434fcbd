/* SPDX-License-Identifier: MIT */
/*
 * A record that the engine builds in C, and the table of its fields: for built-in events, and for
 * the kernel's records in our format.
 */
#ifndef VESTIGE_CORE_BUILTIN_RECORD_H
#define VESTIGE_CORE_BUILTIN_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "vestige/tracepoint.h"

/* The common fields; a record's struct begins with it. */
struct builtin_record {
	uint64_t common;
};

/*
 * A field: a member of a record's struct, the text of its type, whether it is signed.
 * BUILTIN_FIELD_AS: with another name.
 */
#define BUILTIN_FIELD(record, member, type, is_signed)                                             \
	BUILTIN_FIELD_AS(record, member, #member, type, is_signed)
#define BUILTIN_FIELD_AS(record, member, text, type, is_signed)                                    \
	{                                                                                          \
		(type), (text), sizeof(((record *)0)->member), offsetof(record, member),           \
			(is_signed), FILTER_OTHER, 0                                               \
	}
#define BUILTIN_FIELDS_END                                                                         \
	{                                                                                          \
		0                                                                                  \
	}

/*
 * The value of a string's `__data_loc char[]`. @offset: from the record's beginning. @bytes: with
 * the NUL.
 */
#define BUILTIN_DATA_LOC(offset, bytes) ((uint32_t)(offset) | (uint32_t)(bytes) << 16)

#endif
