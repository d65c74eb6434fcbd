/* SPDX-License-Identifier: MIT */
/*
 * The ELF notes of owner "vestige", which say where an object's arrays are (vestige/tracepoint.h,
 * vestige/vestige.h). They survive strip and need no relocation.
 */
#ifndef VESTIGE_PROCESS_OBJECT_NOTE_H
#define VESTIGE_PROCESS_OBJECT_NOTE_H

#include "engine/process/object.h"

/* From the object's notes: each array's type, its beginning and its end; not checked. */
void object_each_note(const struct object *o,
		      void (*each)(void *arg, uint32_t type, const void *lo, const void *hi),
		      void *arg);

/* Whether such an array, of words of eight bytes, lies in the object. */
int object_note_fits(const struct object *o, const void *lo, const void *hi);

/*
 * printk_formats_each() - the constant formats of trace_printk() in all objects that are loaded.
 * Under the tree's lock.
 */
void printk_formats_each(void (*each)(void *arg, const char *format), void *arg);

#endif
