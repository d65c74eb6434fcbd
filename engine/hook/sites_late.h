/* SPDX-License-Identifier: MIT */
/* Sites that are first used while the program runs. Only sites.c includes it. */
#ifndef VESTIGE_HOOK_SITES_LATE_H
#define VESTIGE_HOOK_SITES_LATE_H

#include "engine/hook/sites_impl.h"

/*
 * sites_late_settle() - make a site of five bytes, which is off, of a function's NOPs, and the
 * islands to which it leads. The text is writable, and other threads may run in it; they see the
 * change after text_sync(). @i: the function's index in the object. @word: head word of its record.
 * Return: 0; -EINVAL: such NOPs cannot be changed while the program runs; -ERANGE: there is no free
 * address to which it could lead; -errno of mprotect() or mmap().
 */
int sites_late_settle(struct object *o, uint32_t i, uint64_t word);

/*
 * sites_late_open() - make the islands writable; sites_late_close() - no longer. Return: 0 or
 * -errno.
 */
int sites_late_open(struct sites *s);
void sites_late_close(struct sites *s);

/* The object is unloaded: unmap the islands. */
void sites_late_forget(struct sites *s, uint32_t nr_functions);

#endif
