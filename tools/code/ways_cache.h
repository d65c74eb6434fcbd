/* SPDX-License-Identifier: MIT */
/*
 * Analyses of files that are traced as they are, kept for the next start (object/ways_file.h): a
 * file an object, by its build-id. The engine reads them (engine/hook/ways_cache.h).
 * The folder is $VESTIGE_CACHE, else root's /var/cache/vestige, else cache_folder(). VESTIGE_CACHE=0:
 * nothing is kept or removed. Above 64 MiB the files that were used longest ago are removed.
 */
#ifndef VESTIGE_TOOLS_WAYS_CACHE_H
#define VESTIGE_TOOLS_WAYS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ways_cache_keep() - analyse @path and keep that, unless there is a file that fits.
 * @id: its build-id; another file by that path is left alone. Return: 0 or -errno with fail() set.
 */
int ways_cache_keep(const char *path, const uint8_t *id, uint32_t id_bytes);

/* Remove all. @dry: only say which. Return: 0 or -errno with fail() set. */
int ways_cache_clean(bool dry, void (*say)(const char *path));

#endif
