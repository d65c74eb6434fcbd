/* SPDX-License-Identifier: MIT */
/* The interposer (core/interpose.h) by the words through which objects call each other. */
#ifndef VESTIGE_HOOK_GOT_H
#define VESTIGE_HOOK_GOT_H

/* Constructor context. */
void got_register(void (*lock)(void), void (*release)(void));

/*
 * got_objects_changed() - the loader's notification, behind objects_update(): forget what is gone, and
 * see to it that what is new, and not relocated yet, is looked at before its first constructor.
 * Under the tree's lock.
 */
void got_objects_changed(void);

/* In a fork's child: another thread of the parent may have been about to change words. */
void got_fork(void);

#endif
