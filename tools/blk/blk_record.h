/* SPDX-License-Identifier: MIT */
/*
 * Recording of block devices by the kernel's blk tracer, into the files that blktrace writes. The
 * tracer works in the kernel's top buffer alone: while others trace there, it is refused. All
 * settings are put back at the end, by blk_record_clean() after the recorder was killed: they are
 * in a file that the recorder holds a lock on. Tests: tests/cli/test_blk_record.py.
 */
#ifndef VESTIGE_TOOLS_BLK_RECORD_H
#define VESTIGE_TOOLS_BLK_RECORD_H

#include <stdbool.h>
#include <stdint.h>

struct blk_record_flags {
	const char *const *devices; /* /dev/NAME or NAME */
	unsigned int nr_devices;
	bool all;	     /* each device of /sys/block that has a medium */
	const char *folder;  /* of the files; NULL: the current one */
	const char *output;  /* NAME in place of the device's; "-": stdout; NULL */
	uint32_t mask;	     /* categories; 0: all */
	uint32_t pid;	     /* only requests of this process; 0: of all */
	double seconds;	     /* 0: until a signal */
	uint64_t buffer_kib; /* of each CPU */
	bool stack;	     /* the kernel's stack of each issue, as a message behind it */
	bool quiet;	     /* no sums on stderr */
};

/* Record until SIGINT, SIGTERM or SIGHUP, or the seconds are over. Return: 0 or -errno with fail() set. */
int blk_record(const struct blk_record_flags *f);

/*
 * blk_record_clean() - put back what a recorder left that was killed.
 * @dry: only report. @report: called with each file that is set. Return: 0 or -errno with fail() set.
 */
int blk_record_clean(bool dry, void (*report)(const char *path));

#endif
