/* SPDX-License-Identifier: MIT */
/*
 * The meaning of a write to a session in its members, if it depends on the program because of names
 * of the source. It is found once for each build and kept with the write, for members that come
 * later.
 */
#ifndef VESTIGE_TOOLS_MEANING_H
#define VESTIGE_TOOLS_MEANING_H

#include "tools/target/writes.h"
#include "tools/target/image.h"

/* Whether the meaning of a write of @text, @n bytes, to @path depends on the program. */
bool meaning_depends(const char *path, const char *text, size_t n);

/*
 * meaning_write() - carry out the write @w in process @t, in its meaning there.
 * Return: as image_write().
 */
int meaning_write(struct written *w, struct image *t);

#endif
