/* SPDX-License-Identifier: MIT */
/* Files of the kernel that `blk record` writes, and their old contents. */
#ifndef VESTIGE_TOOLS_BLK_SETTINGS_H
#define VESTIGE_TOOLS_BLK_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#define BLK_TRACING "/sys/kernel/tracing"

struct blk_settings;

/* Read one line. Return: 0 or -errno with fail() set. */
int blk_settings_read(const char *path, char *text, size_t room);
/* Write a file of the kernel. Return: the same. */
int blk_settings_write(const char *path, const char *text);

/* Begin, with a lock. Return: 0; -errno with fail() set: -EBUSY: another recorder runs. */
int blk_settings_begin(struct blk_settings **out);
/*
 * blk_settings_set() - write @value to a file of the kernel; blk_settings_end() writes @before.
 * Return: 0 or -errno with fail() set.
 */
int blk_settings_set(struct blk_settings *s, const char *path, const char *value,
		     const char *before);
/* Make an instance of the tracing folder; blk_settings_end() removes it. Return: the same. */
int blk_settings_instance(struct blk_settings *s, const char *path);
/* Restore all files, the last one first. Return: 0 or the first error. NULL: nothing. */
int blk_settings_end(struct blk_settings *s);
/* See blk_record_clean(). */
int blk_settings_clean(bool dry, void (*report)(const char *path));

#endif
