/* SPDX-License-Identifier: MIT */
/* A finished file takes the place of another one. */
#ifndef VESTIGE_TOOLS_REPLACE_FILE_H
#define VESTIGE_TOOLS_REPLACE_FILE_H

/*
 * replace_file() - rename @from to @to in one step: a process that opens @to gets the old file or
 * the new one. The new file gets the permissions of the old one.
 * Both are in the same file system. It does not wait for the disk, even if there is a @to. Any
 * thread.
 * Return: 0; -errno: EISDIR, EACCES, EROFS, ENOSPC ..., and @from is still there.
 */
int replace_file(const char *from, const char *to);

#endif
