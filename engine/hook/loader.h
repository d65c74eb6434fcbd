/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_HOOK_LOADER_H
#define VESTIGE_HOOK_LOADER_H

/*
 * loader_follow() - call @changed from now on when dlopen() or dlclose() has changed the list of
 * objects: in the calling thread, under the loader's lock, before new code is relocated or run.
 * @removing: called before objects are unmapped; @changed follows. Constructor context. Return: 0;
 * -errno: the list of objects stays as it was at the start.
 */
int loader_follow(void (*removing)(void), void (*changed)(void));

#endif
