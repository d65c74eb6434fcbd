/* SPDX-License-Identifier: MIT */
/*
 * The ELF notes of owner "vestige", which have the addresses of an object's arrays
 * (vestige/tracepoint.h, vestige/vestige.h). They survive strip and need no relocation.
 */
#ifndef VESTIGE_PROCESS_OBJECT_NOTE_H
#define VESTIGE_PROCESS_OBJECT_NOTE_H

#include "engine/process/object.h"

/*
 * Call @each for each array in the object's notes: its type, its begin and its end, which are not
 * checked.
 */
void object_each_note(const struct object *o,
		      void (*each)(void *arg, uint32_t type, const void *lo, const void *hi),
		      void *arg);

/* Whether such an array, of words of eight bytes, is within the object. */
int object_note_fits(const struct object *o, const void *lo, const void *hi);

/*
 * printk_formats_each() - call @each for each constant format of trace_printk() in all loaded
 * objects. Under the tree lock.
 */
void printk_formats_each(void (*each)(void *arg, const char *format), void *arg);

#endif
