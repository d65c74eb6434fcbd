/* SPDX-License-Identifier: MIT */
/* See dat_cursor.h. Tests: tests/unit/test_dat_read.c. */
#include "tools/base/read_at.h"
#include "tools/dat/dat_cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

void cursor_on_file(struct cursor *c, int fd, uint64_t pos, uint64_t end)
{
	c->mem = NULL;
	c->fd = fd;
	c->pos = pos;
	c->end = end;
	c->bad = pos > end;
	c->swap = false;
	c->window_pos = 0;
	c->window_bytes = 0;
}

void cursor_on_memory(struct cursor *c, const void *mem, size_t bytes)
{
	c->mem = mem;
	c->fd = -1;
	c->pos = 0;
	c->end = bytes;
	c->bad = false;
	c->swap = false;
	c->window_pos = 0;
	c->window_bytes = 0;
}

/* Small reads go through a window, so that a number does not cost a system call. */
static bool window_get(struct cursor *c, void *to, size_t bytes)
{
	uint64_t left = c->end - c->pos;

	if (c->pos < c->window_pos || c->pos + bytes > c->window_pos + c->window_bytes) {
		size_t n = left < CURSOR_WINDOW ? (size_t)left : CURSOR_WINDOW;

		if (read_at(c->fd, c->window, n, c->pos))
			return false;
		c->window_pos = c->pos;
		c->window_bytes = n;
	}
	memcpy(to, c->window + (c->pos - c->window_pos), bytes);
	return true;
}

bool cursor_get(struct cursor *c, void *to, size_t bytes)
{
	if (c->bad || c->pos > c->end || bytes > c->end - c->pos) {
		c->bad = true;
	} else if (c->mem) {
		memcpy(to, c->mem + c->pos, bytes);
	} else if (bytes <= CURSOR_WINDOW) {
		c->bad = !window_get(c, to, bytes);
	} else {
		c->bad = read_at(c->fd, to, bytes, c->pos) != 0;
	}
	if (c->bad)
		memset(to, 0, bytes);
	else
		c->pos += bytes;
	return !c->bad;
}

void cursor_skip(struct cursor *c, uint64_t bytes)
{
	if (c->bad || bytes > c->end - c->pos)
		c->bad = true;
	else
		c->pos += bytes;
}

uint16_t cursor_u16(struct cursor *c)
{
	uint16_t v;

	cursor_get(c, &v, sizeof(v));
	return c->swap ? __builtin_bswap16(v) : v;
}

uint32_t cursor_u32(struct cursor *c)
{
	uint32_t v;

	cursor_get(c, &v, sizeof(v));
	return c->swap ? __builtin_bswap32(v) : v;
}

uint64_t cursor_u64(struct cursor *c)
{
	uint64_t v;

	cursor_get(c, &v, sizeof(v));
	return c->swap ? __builtin_bswap64(v) : v;
}

bool cursor_string(struct cursor *c, char *to, size_t room)
{
	size_t n;

	for (n = 0; n < room; n++) {
		if (!cursor_get(c, to + n, 1))
			return false;
		if (!to[n])
			return true;
	}
	to[room - 1] = '\0';
	c->bad = true;
	return false;
}

char *cursor_text(struct cursor *c, uint64_t bytes)
{
	char *text;

	if (c->bad || c->pos > c->end || bytes > c->end - c->pos) {
		c->bad = true;
		return NULL;
	}
	text = malloc((size_t)bytes + 1);
	if (!text || !cursor_get(c, text, (size_t)bytes)) {
		c->bad = true;
		free(text);
		return NULL;
	}
	text[bytes] = '\0';
	return text;
}

bool cursor_zstd_agrees(const void *packed, size_t packed_bytes, uint64_t bytes)
{
	unsigned long long says = ZSTD_getFrameContentSize(packed, packed_bytes);

	return says == bytes || says == ZSTD_CONTENTSIZE_UNKNOWN;
}
