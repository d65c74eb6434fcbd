/* SPDX-License-Identifier: MIT */
/*
 * Draining the areas of a session into a spool while its processes run.
 *
 * A member is one image of one process: an area. Members are found in the areas' folder by their
 * session; the file of an image that exec replaced is unlinked by the engine, but its descriptor
 * stays here until it is drained. Published pages are written in order of publication, straight
 * from a mapping that is never touched otherwise (a file that shrinks is an error of the write, not
 * a signal), then handed back to the engine. The program never waits for any of this.
 */
#ifndef VESTIGE_TOOLS_RECORDER_H
#define VESTIGE_TOOLS_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/area/meta.h"
#include "tools/area/spool_write.h"

struct recorder;

/* Summary of the members, for messages at the end. */
struct recorder_summary {
	unsigned int nr_members;
	uint64_t nr_functions; /* that can be traced, the greatest of a member */
	uint64_t nr_enabled;   /* of those, patched, the greatest of a member */
	uint64_t
		nr_wrapped; /* of nr_functions, those that function_graph can follow, the greatest of a member */
	uint64_t untraced_calls;
	struct meta_losses losses;
	char refused[256];     /* first filter without a match in a program that has functions */
	char refused_exe[64];  /* that program */
	char graph_ended[256]; /* why a member's graph has, in its own words */
	char asleep[128];      /* why a member traces nothing at all, in its own words */
	bool spool_failed;     /* a write to the spool has failed, after which no page is taken */
};

/* The number of functions of an image that function_graph can follow. */
uint64_t recorder_nr_wrapped(const struct meta *m);

/* A process that ran before it was recorded. */
struct recorder_process {
	int pid;
	unsigned long long start; /* field 22 of /proc/PID/stat */
};

/*
 * The areas to drain: the areas of @session, and of @processes, which live on when the recording
 * ends. An area of @processes without a session gets this one until then, so that children have it,
 * too.
 */
struct recorder_of {
	int dirfd;
	const char *session;
	const struct recorder_process *processes;
	unsigned int nr_processes;
};

/*
 * recorder_new() - watch the folder @of->dirfd for areas, write to @spool.
 * All are borrowed until recorder_free(). Return: 0 or -errno with fail() set.
 */
int recorder_new(const struct recorder_of *of, struct spool_writer *spool, struct recorder **out);
void recorder_free(struct recorder *r);

/*
 * recorder_tick() - look for new members, drain all of them, take a pair of clocks if one is due.
 * Return: true if some buffer was so full that the next tick should come at once. An error of the
 * spool is remembered (spool_failed()); an error of an area is noted once.
 */
bool recorder_tick(struct recorder *r);

/*
 * recorder_turns() - call @turn ten times a second from now on: all records before @stamp, in the
 * processes' clock units, are in the first @spool_bytes of the spool. It must not wait.
 */
void recorder_turns(struct recorder *r,
		    void (*turn)(void *arg, uint64_t spool_bytes, uint64_t stamp), void *arg);

/*
 * recorder_finish() - the last drain: pages that were still owned too, and the last tables.
 * The areas are removed from the folder. If processes were named, the areas of live ones stay and
 * are as before.
 */
void recorder_finish(struct recorder *r, struct recorder_summary *sum);

/*
 * recorder_living() - the processes of the members that live and have not executed another program.
 * @pids: malloced, to be freed, and new members are looked for; NULL: only the known ones are
 * counted. Return: how many, or -ENOMEM with fail() set.
 */
int recorder_living(struct recorder *r, int **pids);

/* The tables of the member of process @pid (0: of any) as they are now; NULL none. Borrowed. */
const struct meta *recorder_meta(struct recorder *r, int pid);

#endif
