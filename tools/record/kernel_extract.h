/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace.dat of the records in the kernel's buffers: the top one, and instances. The
 * records are consumed, as with trace-cmd extract; no setting is changed.
 * Tests: tests/cli/test_extract.py.
 */
#ifndef VESTIGE_TOOLS_RECORD_KERNEL_EXTRACT_H
#define VESTIGE_TOOLS_RECORD_KERNEL_EXTRACT_H

#include <stdbool.h>

struct kernel_extract {
	const char *const *names; /* of instances */
	unsigned int nr;
	bool top;      /* the top buffer, too */
	bool snapshot; /* the snapshot's records in place of the buffer's; these are not consumed */
	bool date;     /* convert stamps to the time of day */
};

/*
 * kernel_extract() - write @path, version 6; an old file stays until the new one is complete.
 * Return: 0 or -errno with fail() set: ENOENT: there is no such instance, or no snapshot; EINVAL:
 * the clock of the buffer cannot be converted to the time of day.
 */
int kernel_extract(const struct kernel_extract *opt, const char *path);

#endif
