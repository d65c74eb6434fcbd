/* SPDX-License-Identifier: MIT */
/*
 * Converts the kernel's events to CTF. A field of a format becomes an integer, a string or a
 * sequence, in the metadata and in the stream. Names of fields get an underscore in front, which
 * readers remove: so a name may be a keyword of the metadata's language.
 */
#ifndef VESTIGE_TOOLS_CTF_EVENTS_H
#define VESTIGE_TOOLS_CTF_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct tep_event;

/* Bytes of one packet, or of one event. All zero: empty. */
struct ctf_bytes {
	unsigned char *bytes;
	size_t nr, room;
	int err; /* -ENOMEM: it is incomplete */
};

/* These append to @b; if memory is short, b->err is set. */
void ctf_put(struct ctf_bytes *b, const void *bytes, size_t nr);
/* @v as a little-endian number. @nr: its bytes, 0 .. 8. */
void ctf_put_number(struct ctf_bytes *b, uint64_t v, size_t nr);
/* The string @text up to its first NUL, at most @nr bytes, and a NUL. */
void ctf_put_string(struct ctf_bytes *b, const char *text, size_t nr);

/* The payload of @rec, a RECORD_EVENT of @ev. A field outside the record is 0 or empty. */
void ctf_event_put(struct ctf_bytes *b, const struct tep_event *ev, const struct record *rec);

/* Write the declarations of the fields to the metadata, a line for each; two for a sequence. */
void ctf_event_declare(struct out *o, const struct tep_event *ev);

#endif
