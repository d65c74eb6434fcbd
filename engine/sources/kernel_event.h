/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint of the kernel: its number, and the conversion of its records into our format. Both
 * have the same fields; their offsets may differ.
 */
#ifndef VESTIGE_SOURCES_KERNEL_EVENT_H
#define VESTIGE_SOURCES_KERNEL_EVENT_H

#include "engine/core/builtin_record.h"

#define KERNEL_EVENT_FIELDS 8u

/* The kernel's name of it, and the fields of our format. */
struct kernel_tracepoint {
	const char *system;
	const char *name;
	const struct vestige_event_field *fields; /* ended by a field without a type */
};

/* Where each of an event's fields is in the kernel's record. */
struct kernel_event_places {
	uint16_t at[KERNEL_EVENT_FIELDS];
	uint8_t is_loc[KERNEL_EVENT_FIELDS]; /* the field is the string's offset and length */
};

/*
 * kernel_event_find() - look up the tracepoint @e in the kernel's tracefs. In the agent. Return:
 * its number, for perf_event_attr.config, with *@places filled in; 0: it does not exist, may not be
 * read, or lacks a field.
 */
uint64_t kernel_event_find(const struct kernel_tracepoint *e, struct kernel_event_places *places);

/*
 * Convert a record. The caller has zeroed ours, which begins with a struct builtin_record. Return:
 * its bytes; 0: the kernel's record is too short.
 */
uint32_t kernel_event_convert(const struct kernel_tracepoint *e,
			      const struct kernel_event_places *places, const uint8_t *raw,
			      uint32_t raw_bytes, uint8_t *to);

/* Whether the kernel's records have the thread ids of this process's PID namespace. */
int kernel_event_ids_are_ours(void);

#endif
