/* SPDX-License-Identifier: MIT */
/*
 * Converts texts of events to events: the records get a format with one field, `text`, in the
 * system `imported`, so commands and a trace.dat know them by name. A text whose name cannot be an
 * event's ("frame 12") stays a RECORD_PRINT.
 */
#ifndef VESTIGE_TOOLS_IMPORT_EVENTS_H
#define VESTIGE_TOOLS_IMPORT_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/reader/formats.h"
#include "tools/reader/reader.h"

/* The bytes before the text in a record: the common fields, and the offset of the text. */
#define IMPORT_EVENT_HEAD FORMATS_IMPORTED_TEXT

/* Zeroed is empty. */
struct import_events {
	struct formats formats;
	uint16_t *ids; /* by number of the function; 0: not known yet */
	size_t nr;     /* of ids */
	uint64_t first, step;
};

/*
 * import_events_begin() - call it before the first record. @r: gets the formats.
 * @first, @step, @nr_functions: ip is first + step * number of the function.
 * Return: 0 or -ENOMEM with fail() set.
 */
int import_events_begin(struct import_events *e, struct reader *r, uint64_t first, uint64_t step,
			size_t nr_functions);
/*
 * import_events_make() - change @rec, a RECORD_PRINT, to an event, if its name can be an event's.
 * @rec->data: a text with its NUL, and IMPORT_EVENT_HEAD bytes before it that are overwritten.
 * Return: 0 or -ENOMEM with fail() set.
 */
int import_events_make(struct import_events *e, struct reader *r, struct record *rec);
void import_events_free(struct import_events *e);

#endif
