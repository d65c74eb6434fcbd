/* SPDX-License-Identifier: MIT */
/* A file's contents, handed out by offset. */
#ifndef VESTIGE_TOOLS_MOUNT_TEXT_H
#define VESTIGE_TOOLS_MOUNT_TEXT_H

#include <stdint.h>
#include <sys/types.h>

#include "tools/target/target.h"

struct text;

/* The text of @path; @t is borrowed. Nothing is read yet. NULL when memory is short. */
struct text *text_new(struct target *t, const char *path);
void text_free(struct text *x);

/*
 * text_read() - read up to @bytes at @offset.
 * A file's text is made when its start is read; `trace` is made piece by piece.
 * Return: bytes, 0 at the end, -errno with fail() set.
 */
ssize_t text_read(struct text *x, char *buf, size_t bytes, uint64_t offset);

#endif
