/* SPDX-License-Identifier: MIT */
/*
 * What a write to a session means in its members, where that depends on the program: names of the
 * source. It is found out once a build and kept with the write, for members that come later.
 */
#ifndef VESTIGE_TOOLS_MEANING_H
#define VESTIGE_TOOLS_MEANING_H

#include "tools/target/writes.h"
#include "tools/target/image.h"

/* Does what a write of @text, @n bytes, to @path means depend on the program? */
bool meaning_depends(const char *path, const char *text, size_t n);

/*
 * meaning_write() - carry out the write @w in process @t, in its meaning there.
 * Return: as image_write().
 */
int meaning_write(struct written *w, struct image *t);

#endif
