/* SPDX-License-Identifier: MIT */
/*
 * Analyses of objects that the tools have kept (object/ways_file.h). The engine only reads them: a
 * guest leaves no files behind.
 */
#ifndef VESTIGE_HOOK_WAYS_CACHE_H
#define VESTIGE_HOOK_WAYS_CACHE_H

#include "engine/process/object.h"
#include "object/entries.h"

/*
 * ways_cache_choose() - say where they are, before the first object is scanned.
 * @setting: VESTIGE_CACHE: "0": nowhere; a folder. NULL or another word: XDG_CACHE_HOME and HOME are
 * @xdg and @home, or NULL; and root's folder. All are copied.
 */
void ways_cache_choose(const char *setting, const char *xdg, const char *home);

/*
 * ways_cache_load() - what entries_open() and entries_find_ways() would find in the object's file.
 * Return: whether there is a ways file that fits; entries_close() frees then.
 */
int ways_cache_load(const struct object *o, const struct elf_file *file, struct entries *e,
		    void *(*get)(size_t bytes), void (*put)(void *p, size_t bytes));

#endif
