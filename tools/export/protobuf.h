/* SPDX-License-Identifier: MIT */
/*
 * Encodes messages of Protocol Buffers, as far as exports need it (documented at
 * protobuf.dev/programming-guides/encoding): numbers, texts, nested messages. A message is made in
 * memory; a nested message is made by itself and then added to the outer one.
 */
#ifndef VESTIGE_TOOLS_PROTOBUF_H
#define VESTIGE_TOOLS_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

/* All zero: empty. */
struct protobuf {
	unsigned char *bytes;
	size_t nr, room;
	int err; /* -ENOMEM: it is incomplete */
};

void protobuf_free(struct protobuf *p);
/* Empty again, with its memory. */
void protobuf_clear(struct protobuf *p);

/* Field @field of type uint64, int64 (as uint64), bool or enum. 0 is written, too. */
void protobuf_number(struct protobuf *p, unsigned int field, uint64_t v);
/* ... of type fixed64. */
void protobuf_fixed64(struct protobuf *p, unsigned int field, uint64_t v);
/* ... of type string. */
void protobuf_text(struct protobuf *p, unsigned int field, const char *text);
/* ... of a message type: what @part holds. */
void protobuf_message(struct protobuf *p, unsigned int field, const struct protobuf *part);
/* Add one element of a packed field to @p, which is then added by protobuf_message(). */
void protobuf_packed(struct protobuf *p, uint64_t v);

#endif
