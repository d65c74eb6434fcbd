/* SPDX-License-Identifier: MIT */
/* A binary file from its beginning to its end, by pread() alone: it may change while it is read. */
#ifndef VESTIGE_TOOLS_IMPORT_BYTES_H
#define VESTIGE_TOOLS_IMPORT_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IMPORT_BYTES_BUFFER (64u << 10)

struct import_bytes {
	int fd;
	off_t at; /* in the file, of what is behind the buffer */
	size_t pos, nr;
	int err; /* -errno: reading failed; it looks like the end */
	unsigned char buf[IMPORT_BYTES_BUFFER];
};

/*
 * import_bytes_have() - have @n bytes at buf + pos, at most IMPORT_BYTES_BUFFER.
 * Return: how many there are; fewer at the end.
 */
size_t import_bytes_have(struct import_bytes *in, size_t n);

/* import_bytes_take() - the next @n bytes into @to. Return: how many there were. */
size_t import_bytes_take(struct import_bytes *in, void *to, size_t n);

/* @width bytes, the least first. */
static inline uint64_t import_le(const unsigned char *p, unsigned int width)
{
	uint64_t v = 0;

	while (width--)
		v = v << 8 | p[width];
	return v;
}

#endif
