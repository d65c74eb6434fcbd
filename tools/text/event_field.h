/* SPDX-License-Identifier: MIT */
/* Where the fields of an event's record are. Records are untrusted. */
#ifndef VESTIGE_TOOLS_EVENT_FIELD_H
#define VESTIGE_TOOLS_EVENT_FIELD_H

#include <stddef.h>

#include "tools/reader/reader.h"

struct tep_event;
struct tep_format_field;

/* The size of a number: @size where that is 1, 2, 4 or 8 bytes; else 0. */
static inline size_t event_field_number_bytes(int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8 ? (size_t)size : 0;
}

/*
 * event_field_data() - the data of field @f of @rec, which is an @ev; of one of variable length what its
 * word points at.
 * @data: set to it, inside the record. Return: its bytes; 0 where it does not lie inside.
 */
size_t event_field_data(const struct tep_event *ev, const struct tep_format_field *f,
			const struct record *rec, const char **data);

#endif
