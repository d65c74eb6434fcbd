/* SPDX-License-Identifier: MIT */
/* Wakes callers of poll(2) or select(2) on a pipe when it has something to read. */
#ifndef VESTIGE_TOOLS_MOUNT_WAKE_H
#define VESTIGE_TOOLS_MOUNT_WAKE_H

struct file;

/*
 * Wake @handle (a struct fuse_pollhandle or NULL, owned by this) when file_ready() is true of
 * @file.
 */
void wake_when(struct file *file, void *handle);

/* @file is closed: forget its waiters. */
void wake_forget(struct file *file);

void wake_drop(void *handle);

#endif
