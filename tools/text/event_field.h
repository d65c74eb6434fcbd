/* SPDX-License-Identifier: MIT */
/* Finds the fields in an event's record. Records are untrusted. */
#ifndef VESTIGE_TOOLS_EVENT_FIELD_H
#define VESTIGE_TOOLS_EVENT_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/reader/reader.h"

struct tep_event;
struct tep_format_field;

/* The size of a number: @size where that is 1, 2, 4 or 8 bytes; else 0. */
static inline size_t event_field_number_bytes(int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8 ? (size_t)size : 0;
}

/*
 * event_field_data() - the data of field @f of @rec, a record of event @ev. A field of variable
 * length is a word that points to the data.
 * @data: set to the data, inside the record. Return: its bytes; 0: it does not lie inside.
 */
size_t event_field_data(const struct tep_event *ev, const struct tep_format_field *f,
			const struct record *rec, const char **data);

/*
 * event_field_number() - the number in field @name of @rec, a record of event @ev.
 * @element: which element of an array, from 0; 0 for a single number. @out: gets the number.
 * Return: false: there is no such field, or it does not lie inside the record.
 */
bool event_field_number(const struct tep_event *ev, const char *name, unsigned int element,
			const struct record *rec, uint64_t *out);

#endif
