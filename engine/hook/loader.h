/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_HOOK_LOADER_H
#define VESTIGE_HOOK_LOADER_H

/*
 * loader_follow() - from now on call back when dlopen() or dlclose() has changed the list of
 * objects: in the thread that does it, under the loader's lock, before new code is relocated or
 * run. Constructor context. Return: 0 or -errno: the list is then as it was at start.
 */
int loader_follow(void (*changed)(void));

#endif
