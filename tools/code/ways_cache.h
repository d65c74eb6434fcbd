/* SPDX-License-Identifier: MIT */
/*
 * A cache of analyses of objects that were built without flags of ours (object/ways_file.h): a file
 * for each object, by build-id. The engine reads them when a program starts
 * (engine/hook/ways_cache.h). The folder is $VESTIGE_CACHE, else root's /var/cache/vestige, else
 * cache_folder(). VESTIGE_CACHE=0: no file is written or removed. Above 64 MiB the files with the
 * oldest use are removed.
 */
#ifndef VESTIGE_TOOLS_WAYS_CACHE_H
#define VESTIGE_TOOLS_WAYS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ways_cache_keep() - analyse the object @path and write the result, unless a valid file is there.
 * @id: its build-id, of @id_bytes; if the file has another one, nothing is done. Return: 0 or
 * -errno with fail() set.
 */
int ways_cache_keep(const char *path, const uint8_t *id, uint32_t id_bytes);

/*
 * Remove all files. @say: called with each path. @dry: only that. Return: 0 or -errno with fail()
 * set.
 */
int ways_cache_clean(bool dry, void (*say)(const char *path));

#endif
