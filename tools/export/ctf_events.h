/* SPDX-License-Identifier: MIT */
/*
 * Converts the kernel's events to CTF: each field of a format is an integer, a string or a
 * sequence, both in the metadata and in the stream. Names of fields begin with an underscore, which
 * readers remove; so a name may be a keyword of the metadata's language.
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

void ctf_put(struct ctf_bytes *b, const void *bytes, size_t nr);
/* A number of @nr bytes. */
void ctf_put_number(struct ctf_bytes *b, uint64_t v, size_t nr);
/* A string: up to its first NUL or @nr bytes. */
void ctf_put_string(struct ctf_bytes *b, const char *text, size_t nr);

/* The payload of @rec, a RECORD_EVENT of @ev. A field outside the record is 0 or empty. */
void ctf_event_put(struct ctf_bytes *b, const struct tep_event *ev, const struct record *rec);

/* The fields' declarations, a line each. */
void ctf_event_declare(struct out *o, const struct tep_event *ev);

#endif
