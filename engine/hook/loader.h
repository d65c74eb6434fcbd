/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_HOOK_LOADER_H
#define VESTIGE_HOOK_LOADER_H

/*
 * loader_follow() - from now on call @changed when dlopen() or dlclose() has changed the list of
 * objects: in the thread that does it, under the loader's lock, before new code is relocated or
 * run. @removing: the same, before objects are unmapped; @changed follows.
 * Constructor context. Return: 0 or -errno: the list is then as it was at start.
 */
int loader_follow(void (*removing)(void), void (*changed)(void));

#endif
