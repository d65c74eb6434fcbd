/* SPDX-License-Identifier: MIT */
/*
 * Names of the source have a meaning that differs between programs. So a write to a session is
 * translated for its members: once for each build. The translation is kept with the write, for
 * members that come later.
 */
#ifndef VESTIGE_TOOLS_MEANING_H
#define VESTIGE_TOOLS_MEANING_H

#include "tools/target/writes.h"
#include "tools/target/image.h"

/* Whether the meaning of a write of @text, @n bytes, to @path depends on the program. */
bool meaning_depends(const char *path, const char *text, size_t n);

/*
 * meaning_write() - carry out the write @w in process @t, translated for it.
 * Return: as image_write().
 */
int meaning_write(struct written *w, struct image *t);

#endif
