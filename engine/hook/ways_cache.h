/* SPDX-License-Identifier: MIT */
/*
 * Analyses of objects that the tools have kept (object/ways_file.h). The engine only reads them,
 * and writes no files.
 */
#ifndef VESTIGE_HOOK_WAYS_CACHE_H
#define VESTIGE_HOOK_WAYS_CACHE_H

#include "engine/process/object.h"
#include "object/entries.h"

/*
 * ways_cache_choose() - choose the folders, before the first object is scanned. @setting:
 * VESTIGE_CACHE: "0": none; a folder: that one. NULL or another word: root's folder, and the user's
 * by XDG_CACHE_HOME and HOME, which are @xdg and @home, or NULL. All are copied.
 */
void ways_cache_choose(const char *setting, const char *xdg, const char *home);

/*
 * ways_cache_load() - get from a ways file what entries_open() and entries_find_ways() would find
 * in the object's file. Return: whether there is a ways file that fits; then entries_close() frees.
 */
int ways_cache_load(const struct object *o, const struct elf_file *file, struct entries *e,
		    void *(*get)(size_t bytes), void (*put)(void *p, size_t bytes));

#endif
