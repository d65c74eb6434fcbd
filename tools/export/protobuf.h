/* SPDX-License-Identifier: MIT */
/*
 * Encodes messages of Protocol Buffers (protobuf.dev/programming-guides/encoding), as far as
 * exports need it: numbers, texts, nested messages. A message is made in memory. A nested message
 * is made separately and then added to the outer one.
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
/* Make it empty, but keep its memory. */
void protobuf_clear(struct protobuf *p);

/* Append field @field of type uint64, int64 (cast to uint64), bool or enum. A 0 is also written. */
void protobuf_number(struct protobuf *p, unsigned int field, uint64_t v);
/* ... of type fixed64. */
void protobuf_fixed64(struct protobuf *p, unsigned int field, uint64_t v);
/* ... of type string. */
void protobuf_text(struct protobuf *p, unsigned int field, const char *text);
/* ... of a message type: the message in @part. */
void protobuf_message(struct protobuf *p, unsigned int field, const struct protobuf *part);
/* Append one element of a packed field to @p; add the whole @p with protobuf_message() then. */
void protobuf_packed(struct protobuf *p, uint64_t v);

#endif
