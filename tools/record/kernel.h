/* SPDX-License-Identifier: MIT */
/*
 * The kernel's events beside a program's, in an instance `vestige.PID` of the kernel's tracefs.
 * Other instances are not touched, and set_ftrace_filter is not opened. kernel_record_free()
 * removes the instance. kernel_record_clean() removes the instances of killed recorders: a recorder
 * holds a lock on its instance while it lives.
 */
#ifndef VESTIGE_TOOLS_RECORD_KERNEL_H
#define VESTIGE_TOOLS_RECORD_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/reader/reader.h"

struct event_rule;
struct kernel_record;

/* Events that are recorded, or are taken out of those before. */
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
	const char *tracer;  /* of available_tracers; NULL: events alone */
};

/*
 * kernel_record_new() - make the instance; nothing is recorded yet.
 * @wish: what is recorded. @output: beside this file the records wait, in files without a name.
 * Return: 0 or -errno with fail() set.
 */
int kernel_record_new(const struct kernel_wish *wish, const char *output,
		      struct kernel_record **out);
void kernel_record_free(struct kernel_record *k); /* NULL: nothing */

/*
 * kernel_record_limit() - before the start: only the threads of these processes, and those that they
 * make. @pids: @nr of them, 1 or more. Return: as above; ESRCH: none has a thread; ENOTSUP: this is a PID
 * namespace, whose numbers the kernel's filter does not have.
 */
int kernel_record_limit(struct kernel_record *k, const int *pids, unsigned int nr);

/*
 * Record from now on. Take what there is; now and then, and at the end. Return: as above; once an error of the
 * disk, from which on nothing more is taken.
 */
int kernel_record_start(struct kernel_record *k);
int kernel_record_drain(struct kernel_record *k);

/*
 * kernel_record_end() - end it and remove the instance.
 * @path: of the trace.dat of the kernel alone that is written. Return: as above.
 */
int kernel_record_end(struct kernel_record *k, const char *path);

/*
 * kernel_record_save() - a trace.dat, as kernel_record_end() writes it, of what the buffer has; recording
 * goes on. For those that do not drain: the buffer overwrites its oldest records. What was saved is
 * saved again later, as far as the buffer's size. @path: of the file. Return: as above.
 */
int kernel_record_save(struct kernel_record *k, const char *path);

/*
 * kernel_record_check() - how near the kernel's stamps are to ours, by marks whose time is known.
 * @r: what kernel_record_end() wrote; it is read and begun again. @bracket_ns: the narrowest
 * stretch of ours around a mark; @off_ns: how far outside of its stretch a mark is at most, 0: none
 * is. Return: 0; -ENOENT no mark is left in the buffer.
 */
int kernel_record_check(const struct kernel_record *k, struct reader *r, uint64_t *bracket_ns,
			uint64_t *off_ns);

/*
 * After kernel_record_end(). kernel_record_lost() - events that the kernel's buffer had no room for.
 * kernel_record_left() - events that it still had, as the disk was full; 0: there was room.
 * kernel_record_stats() - what its file `stats` had; NULL: there is no such CPU.
 */
uint64_t kernel_record_lost(const struct kernel_record *k);
uint64_t kernel_record_left(const struct kernel_record *k);
const struct reader_cpu_stats *kernel_record_stats(const struct kernel_record *k, unsigned int cpu);

/*
 * kernel_record_is_left() - is the instance of the recorder with this process id there? @name: its name.
 */
#define KERNEL_INSTANCE_BYTES 32
bool kernel_record_is_left(int pid, char name[KERNEL_INSTANCE_BYTES]);

/*
 * Remove the instances of recorders that have ended; @dry: only report them. @report is called with the
 * path of each. Return: as above.
 */
int kernel_record_clean(bool dry, void (*report)(const char *path));

#endif
