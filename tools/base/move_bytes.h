/* SPDX-License-Identifier: MIT */
/* Writes on a disk that is nearly full: moving bytes between files, and why a write failed. */
#ifndef VESTIGE_TOOLS_BASE_MOVE_BYTES_H
#define VESTIGE_TOOLS_BASE_MOVE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The disk space in bytes that a move needs in addition to the bytes that are moved. */
#define MOVE_BYTES_ROOM (UINT64_C(1) << 16)

/*
 * move_bytes() - append a file's first bytes to another file.
 * @from: an open file, readable. @bytes: how many. @to: the other one.
 * @frees: @from is writable and is not needed again: its room on the disk is freed as it is copied.
 * On a filesystem that cannot free a part of a file (move_bytes_frees()) the disk must have room
 * for both. Return: 0; -EIO: @from is shorter; -errno of a read or write. Then a part may have been
 * moved.
 */
int move_bytes(int from, uint64_t bytes, FILE *to, bool frees);

/*
 * free_room() - free the room of a part of a file on the disk; its size stays, and the part reads
 * as zero. Return: whether the filesystem can do that.
 */
bool free_room(int fd, uint64_t at, uint64_t bytes);

/* Can the filesystem of @fd, a writable file, free a part of a file? */
bool move_bytes_frees(int fd);

/*
 * stream_error() - the errno of a failed write to a stream. stdio remembers only that a write has
 * failed, so this function writes one page more to see the error again. That spoils the file.
 * @f: not flushed or closed. Return: 0: none has; -errno, as -ENOSPC; -EIO: the page could be
 * written.
 */
int stream_error(FILE *f);

#endif
