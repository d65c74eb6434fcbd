/* SPDX-License-Identifier: MIT */
/*
 * Records the kernel's events together with a program's, in an instance `vestige.PID` of the
 * kernel's tracefs. Other instances are not changed, and set_ftrace_filter is not opened.
 * kernel_record_free() removes the instance. A recorder holds a lock on its instance while it
 * lives; kernel_record_clean() removes the instances of killed recorders.
 */
#ifndef VESTIGE_TOOLS_RECORD_KERNEL_H
#define VESTIGE_TOOLS_RECORD_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/reader/reader.h"

struct event_rule;
struct kernel_record;

/* Events to record, or to remove from those named before. */
struct kernel_event_wish {
	const char *name; /* SYSTEM, NAME, SYSTEM:NAME with globs, or all */
	bool negated;
};

struct kernel_wish {
	const struct kernel_event_wish *events;
	unsigned int nr_events;
	const struct event_rule *rules; /* of these events */
	unsigned int nr_rules;
	bool ignore_missing; /* an event that the kernel does not have is left out, with a note */
	const char *tracer;  /* of available_tracers; NULL: only events */
};

/*
 * kernel_record_new() - make the instance; nothing is recorded yet.
 * @wish: the events and the tracer. @output: until the end the records are in files without a name
 * in the folder of this file. @out: freed with kernel_record_free().
 * Return: 0 or -errno with fail() set.
 */
int kernel_record_new(const struct kernel_wish *wish, const char *output,
		      struct kernel_record **out);
void kernel_record_free(struct kernel_record *k); /* NULL: nothing */

/*
 * kernel_record_limit() - before the start: record only the threads of these processes, and their
 * later children. @pids: @nr of them, 1 or more. Return: as above; ESRCH: none has a thread;
 * ENOTSUP: we are in a PID namespace, whose PIDs the kernel's filter does not know.
 */
int kernel_record_limit(struct kernel_record *k, const int *pids, unsigned int nr);

/*
 * kernel_record_start() - record from now on. kernel_record_drain() - read the records that are
 * there; to be called regularly. Return: as above. An error of the disk is returned once; no more
 * records are read then.
 */
int kernel_record_start(struct kernel_record *k);
int kernel_record_drain(struct kernel_record *k);

/*
 * kernel_record_end() - end the recording, write a trace.dat of the kernel's records, and remove
 * the instance. @path: of the trace.dat. Return: as above.
 */
int kernel_record_end(struct kernel_record *k, const char *path);

/*
 * kernel_record_save() - write a trace.dat, as kernel_record_end() does, of the records in the
 * buffer; recording continues. For callers that do not drain, so the buffer overwrites its oldest
 * records. Records may be saved again by later calls, up to the buffer's size. @path: of the file.
 * Return: as above.
 */
int kernel_record_save(struct kernel_record *k, const char *path);

/*
 * kernel_record_check() - compare the kernel's stamps with ours, by marks whose times are known
 * (kernel_marks.h).
 * @r: a reader of the file of kernel_record_end(); it is read and rewound. @bracket_ns: gets the
 * length of the shortest bracket; @off_ns: the greatest distance of a mark outside of its bracket;
 * 0: all are inside.
 * Return: 0; -ENOENT: no mark is left in the buffer.
 */
int kernel_record_check(const struct kernel_record *k, struct reader *r, uint64_t *bracket_ns,
			uint64_t *off_ns);

/*
 * Valid after kernel_record_end(). kernel_record_lost() - events that were lost since the kernel's
 * buffer was full. kernel_record_left() - events that remained in the buffer since the disk was
 * full; 0: none.
 * kernel_record_stats() - the file `stats` of a CPU; NULL: there is no such CPU.
 */
uint64_t kernel_record_lost(const struct kernel_record *k);
uint64_t kernel_record_left(const struct kernel_record *k);
const struct reader_cpu_stats *kernel_record_stats(const struct kernel_record *k, unsigned int cpu);

/*
 * kernel_record_is_left() - does the instance of the recorder with this PID exist? @name: gets its
 * name.
 */
#define KERNEL_INSTANCE_BYTES 32
bool kernel_record_is_left(int pid, char name[KERNEL_INSTANCE_BYTES]);

/*
 * Remove the instances of recorders that have ended; @dry: only report them. @report is called with
 * the path of each. Return: as above.
 */
int kernel_record_clean(bool dry, void (*report)(const char *path));

#endif
