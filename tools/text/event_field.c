/* SPDX-License-Identifier: MIT */
/* See event_field.h. Tests: tests/cli/test_export_ctf.py, test_script.py. */
#include "tools/text/event_field.h"

#include <traceevent/event-parse.h>

size_t event_field_data(const struct tep_event *ev, const struct tep_format_field *f,
			const struct record *rec, const char **data)
{
	uint64_t at = (uint64_t)f->offset, bytes = (uint64_t)f->size, word;

	*data = rec->data;
	if (f->offset < 0 || f->size < 0 || at >= rec->data_bytes)
		return 0;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		if (!event_field_number_bytes(f->size) || at + bytes > rec->data_bytes)
			return 0;
		word = tep_read_number(ev->tep, *data + at, f->size);
		at = (f->flags & TEP_FIELD_IS_RELATIVE ? at + bytes : 0) + (word & 0xffff);
		bytes = word >> 16 & 0xffff;
		if (at > rec->data_bytes || bytes > rec->data_bytes - at)
			return 0;
	} else if (bytes > rec->data_bytes - at) {
		/* a stack's array is declared longer than most stacks are */
		if (!(f->flags & TEP_FIELD_IS_ARRAY))
			return 0;
		bytes = rec->data_bytes - at;
	}
	*data += at;
	return (size_t)bytes;
}

bool event_field_number(const struct tep_event *ev, const char *name, unsigned int element,
			const struct record *rec, uint64_t *out)
{
	struct tep_format_field *field =
		tep_find_any_field((struct tep_event *)(uintptr_t)ev, name);
	const char *data;
	size_t bytes = field ? event_field_data(ev, field, rec, &data) : 0;
	size_t one =
		field && (field->flags & TEP_FIELD_IS_ARRAY) ? (size_t)field->elementsize : bytes;

	if (!event_field_number_bytes((int)one) || one * (element + 1) > bytes)
		return false;
	*out = tep_read_number(ev->tep, data + one * element, (int)one);
	return true;
}
