/* SPDX-License-Identifier: MIT */
/*
 * `vestige blk times --trace`: finds the file, system call and function of a program in which each
 * block request was queued, from a recording of the program. Tests: tests/cli/test_blk_record.py.
 */
#ifndef VESTIGE_TOOLS_CLI_BLK_PROGRAM_H
#define VESTIGE_TOOLS_CLI_BLK_PROGRAM_H

#include "tools/blk/blk_io.h"

struct blk_finder;

/*
 * blk_finder_open() - open the recording of a program.
 * @path: any recording whose clock is CLOCK_MONOTONIC. @out: to be closed with blk_finder_close().
 * Return: 0 or -errno with fail() set: EINVAL: another clock; and as reader_open().
 */
int blk_finder_open(const char *path, struct blk_finder **out);
/* Close it. It owns the names of the requests, which end with it. NULL: nothing. */
void blk_finder_close(struct blk_finder *f);

/* For struct blk_program.find; @arg: the finder. It reads the recording once, in order of time. */
int blk_finder_find(void *arg, struct blk_io *ios, size_t nr);

#endif
