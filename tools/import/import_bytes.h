/* SPDX-License-Identifier: MIT */
/* Reads a binary file from start to end, by pread() alone: the file may change meanwhile. */
#ifndef VESTIGE_TOOLS_IMPORT_BYTES_H
#define VESTIGE_TOOLS_IMPORT_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IMPORT_BYTES_BUFFER (64u << 10)

struct import_bytes {
	int fd;
	off_t at; /* offset in the file behind the buffer */
	size_t pos, nr;
	int err; /* -errno of a failed read, which looks like the end; 0: none */
	unsigned char buf[IMPORT_BYTES_BUFFER];
};

/*
 * import_bytes_have() - load @n bytes at buf + pos, at most IMPORT_BYTES_BUFFER.
 * Return: how many are there; fewer at the end.
 */
size_t import_bytes_have(struct import_bytes *in, size_t n);

/* import_bytes_take() - copy the next @n bytes to @to. Return: how many; fewer at the end. */
size_t import_bytes_take(struct import_bytes *in, void *to, size_t n);

/* The little-endian number of @width bytes. */
static inline uint64_t import_le(const unsigned char *p, unsigned int width)
{
	uint64_t v = 0;

	while (width--)
		v = v << 8 | p[width];
	return v;
}

#endif
