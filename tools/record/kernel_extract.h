/* SPDX-License-Identifier: MIT */
/*
 * A trace.dat of what is in the kernel's buffers now: of the top one, and of instances. The records
 * are taken out of the buffers, as trace-cmd extract does; no setting is changed.
 * Tests: tests/cli/test_extract.py.
 */
#ifndef VESTIGE_TOOLS_RECORD_KERNEL_EXTRACT_H
#define VESTIGE_TOOLS_RECORD_KERNEL_EXTRACT_H

#include <stdbool.h>

struct kernel_extract {
	const char *const *names; /* of instances */
	unsigned int nr;
	bool top;      /* the top buffer, too */
	bool snapshot; /* the snapshot's records in place of the buffer's; they stay there */
	bool date;     /* stamps are the time of day */
};

/*
 * kernel_extract() - write @path, version 6; an old file stays until the new one is complete.
 * Return: 0 or -errno with fail() set: ENOENT there is no such instance, or no snapshot; EINVAL the
 * clock of the buffer has no time of day.
 */
int kernel_extract(const struct kernel_extract *opt, const char *path);

#endif
