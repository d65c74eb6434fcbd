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
