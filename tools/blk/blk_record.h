/* SPDX-License-Identifier: MIT */
/*
 * Records block devices by the kernel's blk tracer, to the same files as blktrace. The tracer works
 * only in the kernel's top buffer: it fails while others trace there. All settings are restored at
 * the end, or by blk_record_clean() after the recorder was killed: the old values are in a file on
 * which the recorder holds a lock. Tests: tests/cli/test_blk_record.py.
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
	const char *output;  /* NAME of the files; "-": stdout; NULL: the device's name */
	uint32_t mask;	     /* categories; 0: all */
	uint32_t pid;	     /* only requests of this process; 0: of all */
	double seconds;	     /* 0: until a signal */
	uint64_t buffer_kib; /* of each CPU */
	bool stack;	     /* the kernel's stack of each issue, as a message behind it */
	bool quiet;	     /* no sums on stderr */
};

/*
 * Record until SIGINT, SIGTERM or SIGHUP, or until `seconds` are over. Return: 0 or -errno with
 * fail() set.
 */
int blk_record(const struct blk_record_flags *f);

/*
 * blk_record_clean() - restore the settings that a killed recorder has left.
 * @dry: only report. @report: called with each file that is restored. Return: 0 or -errno with
 * fail() set.
 */
int blk_record_clean(bool dry, void (*report)(const char *path));

#endif
