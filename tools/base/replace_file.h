/* SPDX-License-Identifier: MIT */
/* A finished file takes the place of another one. */
#ifndef VESTIGE_TOOLS_REPLACE_FILE_H
#define VESTIGE_TOOLS_REPLACE_FILE_H

/*
 * replace_file() - name @from @to, in one step: who opens @to has the old file or the new one.
 * The permissions of the old file stay.
 * Both are in the same file system. Data that is in neither file's blocks yet is not written, so
 * it takes as long whether there was a @to or not. Any thread.
 * Return: 0 or -errno, @from then being where it was: EISDIR, EACCES, EROFS, ENOSPC ...
 */
int replace_file(const char *from, const char *to);

#endif
