/* SPDX-License-Identifier: MIT */
/*
 * The kernel's stack at the issue of a request: the event block_rq_issue with the option
 * stacktrace, in an instance of its own beside the blk tracer. The event is enabled before the
 * tracer, so when a record of an issue is read, its stack is already in the instance. Tests:
 * tests/cli/test_blk_record.py.
 */
#ifndef VESTIGE_TOOLS_BLK_STACK_H
#define VESTIGE_TOOLS_BLK_STACK_H

#include "tools/blk/blk_format.h"
#include "tools/blk/blk_settings.h"

struct blk_stacks;

/*
 * blk_stacks_open() - make the instance and record stacks of these devices.
 * @kib: size of the instance's buffer of each CPU. @out: set on failure, too, for
 * blk_stacks_close().
 * Return: 0 or -errno with fail() set.
 */
int blk_stacks_open(struct blk_settings *settings, const uint32_t *devices, size_t nr_devices,
		    unsigned int nr_cpus, uint64_t kib, struct blk_stacks **out);

/* Read the stacks of a CPU, after its records. Return: 0 or -errno with fail() set. */
int blk_stacks_read(struct blk_stacks *s, unsigned int cpu);

/*
 * blk_stacks_of() - the stack of an issue, the innermost function first:
 * "stack: blk_mq_start_request <- loop_queue_rq <- ...". Return: a text, borrowed until the next
 * blk_stacks_read(); NULL: the instance had no room for it.
 */
const char *blk_stacks_of(struct blk_stacks *s, unsigned int cpu, const struct blk_event *issue);

/* Close the pipes; blk_settings_end() removes the instance. NULL: nothing. */
void blk_stacks_close(struct blk_stacks *s);

#endif
