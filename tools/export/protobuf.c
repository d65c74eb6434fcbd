/* SPDX-License-Identifier: MIT */
/* See protobuf.h. Tests: tests/cli/test_export.py, with protoc. */
#include "tools/export/protobuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES };

void protobuf_free(struct protobuf *p)
{
	free(p->bytes);
	*p = (struct protobuf){0};
}

void protobuf_clear(struct protobuf *p)
{
	p->nr = 0;
}

static void put(struct protobuf *p, const void *bytes, size_t nr)
{
	if (p->room - p->nr < nr) {
		size_t room = 2 * (p->room + nr);
		unsigned char *more = realloc(p->bytes, room);

		if (!more) {
			p->err = -ENOMEM;
			return;
		}
		p->bytes = more;
		p->room = room;
	}
	if (nr)
		memcpy(p->bytes + p->nr, bytes, nr);
	p->nr += nr;
}

void protobuf_packed(struct protobuf *p, uint64_t v)
{
	unsigned char bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (unsigned char)(v | 0x80);
	bytes[n++] = (unsigned char)v;
	put(p, bytes, n);
}

void protobuf_number(struct protobuf *p, unsigned int field, uint64_t v)
{
	protobuf_packed(p, field << 3 | WIRE_VARINT);
	protobuf_packed(p, v);
}

void protobuf_fixed64(struct protobuf *p, unsigned int field, uint64_t v)
{
	unsigned char le[8];

	for (unsigned int i = 0; i < 8; i++)
		le[i] = (unsigned char)(v >> 8 * i);
	protobuf_packed(p, field << 3 | WIRE_FIXED64);
	put(p, le, sizeof(le));
}

static void put_bytes(struct protobuf *p, unsigned int field, const void *bytes, size_t nr)
{
	protobuf_packed(p, field << 3 | WIRE_BYTES);
	protobuf_packed(p, nr);
	put(p, bytes, nr);
}

void protobuf_text(struct protobuf *p, unsigned int field, const char *text)
{
	put_bytes(p, field, text, strlen(text));
}

void protobuf_message(struct protobuf *p, unsigned int field, const struct protobuf *part)
{
	put_bytes(p, field, part->bytes, part->nr);
	if (part->err)
		p->err = part->err;
}
