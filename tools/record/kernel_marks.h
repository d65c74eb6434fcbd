/* SPDX-License-Identifier: MIT */
/*
 * Measures how well the kernel's stamps agree with ours: we write marks to the kernel's buffer and
 * read our clock before and after each. These two times are the mark's bracket. The shortest
 * bracket limits the error.
 */
#ifndef VESTIGE_TOOLS_RECORD_KERNEL_MARKS_H
#define VESTIGE_TOOLS_RECORD_KERNEL_MARKS_H

#include <stdint.h>

#include "tools/reader/reader.h"

#define KERNEL_MARKS 512u /* room for the marks of the start and of the end */

struct kernel_mark {
	uint64_t before, after; /* ns of CLOCK_MONOTONIC */
};

struct kernel_marks {
	struct kernel_mark marks[KERNEL_MARKS];
	unsigned int nr;
};

/*
 * kernel_marks_put() - write marks until a bracket is shorter than 1 us, 32 at least and 256 at
 * most.
 * @fd: the buffer's trace_marker. A write that fails ends it. To be called twice at most.
 */
void kernel_marks_put(struct kernel_marks *m, int fd);

/* kernel_marks_check() - see kernel_record_check(). */
int kernel_marks_check(const struct kernel_marks *m, struct reader *r, uint64_t *bracket_ns,
		       uint64_t *off_ns);

#endif
