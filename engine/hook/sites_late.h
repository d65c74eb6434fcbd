/* SPDX-License-Identifier: MIT */
/* Sites that are first used while the program runs. Only sites.c includes it. */
#ifndef VESTIGE_HOOK_SITES_LATE_H
#define VESTIGE_HOOK_SITES_LATE_H

#include "engine/hook/sites_impl.h"

/*
 * sites_late_settle() - make a site of five bytes, that is off, of a function's NOPs, and the
 * islands to which it leads; the text is open, and other threads may be in it. They see it after
 * text_sync().
 * @i: the function's index in the object.
 * Return: 0; -EINVAL: such NOPs cannot be changed while the program runs; -ERANGE: there is no free
 * address to which it could lead; what mprotect() and mmap() say.
 */
int sites_late_settle(struct object *o, uint32_t i, uint64_t word);

/* The islands may be written, and may no longer. Return: 0 or -errno. */
int sites_late_open(struct sites *s);
void sites_late_close(struct sites *s);

/* The object is gone: unmap the islands. */
void sites_late_forget(struct sites *s, uint32_t nr_functions);

#endif
