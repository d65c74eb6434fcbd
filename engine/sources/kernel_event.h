/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint of the kernel: its number, and the conversion of its records into our format. The
 * fields are the same, their offsets need not be.
 */
#ifndef VESTIGE_SOURCES_KERNEL_EVENT_H
#define VESTIGE_SOURCES_KERNEL_EVENT_H

#include "engine/core/builtin_record.h"

#define KERNEL_EVENT_FIELDS 8u

/* Its name there, and the fields of our format. */
struct kernel_tracepoint {
	const char *system;
	const char *name;
	const struct vestige_event_field *fields; /* one without a type ends them */
};

/* Where each of an event's fields is in the kernel's record. */
struct kernel_event_places {
	uint16_t at[KERNEL_EVENT_FIELDS];
	uint8_t is_loc[KERNEL_EVENT_FIELDS]; /* the string's place and size are there */
};

/*
 * kernel_event_find() - look the tracepoint of @e's name up in the kernel's tracefs. Agent's
 * thread. Return: its number, for perf_event_attr.config, and *@places; 0: it is not there, may not
 * be read, or lacks a field.
 */
uint64_t kernel_event_find(const struct kernel_tracepoint *e, struct kernel_event_places *places);

/* Return: bytes of our record, from its struct builtin_record on, zeroed before; 0: it is cut. */
uint32_t kernel_event_convert(const struct kernel_tracepoint *e,
			      const struct kernel_event_places *places, const uint8_t *raw,
			      uint32_t raw_bytes, uint8_t *to);

/* Whether thread ids in the kernel's records are those that we know. */
int kernel_event_ids_are_ours(void);

#endif
