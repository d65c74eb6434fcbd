/* SPDX-License-Identifier: MIT */
/*
 * A cursor with bounds checks over untrusted bytes, in a file or in memory. A read past the end
 * fails, sets `bad`, and every read after it fails too, so a caller may check once at the end.
 */
#ifndef VESTIGE_TOOLS_DAT_CURSOR_H
#define VESTIGE_TOOLS_DAT_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CURSOR_WINDOW 4096u

struct cursor {
	const unsigned char *mem; /* the bytes, or NULL: they are in the file */
	int fd;
	uint64_t pos, end; /* in @mem or the file */
	bool bad;
	bool swap; /* numbers have the other byte order; false at first */
	uint64_t window_pos;
	size_t window_bytes;
	unsigned char window[CURSOR_WINDOW];
};

/* Bytes @pos to @end of a file; the caller has checked @end against its size. */
void cursor_on_file(struct cursor *c, int fd, uint64_t pos, uint64_t end);
void cursor_on_memory(struct cursor *c, const void *mem, size_t bytes);

/* Copy @bytes and step over them. Return: whether they were there. */
bool cursor_get(struct cursor *c, void *to, size_t bytes);
void cursor_skip(struct cursor *c, uint64_t bytes);
uint16_t cursor_u16(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);
/* A string with its NUL, at most @room bytes. Return: whether it was there and fits. */
bool cursor_string(struct cursor *c, char *to, size_t room);
/* A malloced copy of @bytes with a NUL behind, or NULL (bad is set). */
char *cursor_text(struct cursor *c, uint64_t bytes);

/*
 * cursor_zstd_agrees() - whether @packed may unpack to @bytes. If the zstd frame has a content
 * size, it must be that; trace-cmd's frames have none.
 */
bool cursor_zstd_agrees(const void *packed, size_t packed_bytes, uint64_t bytes);

#endif
