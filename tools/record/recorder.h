/* SPDX-License-Identifier: MIT */
/*
 * Drains the areas of a session into a spool while its processes run.
 *
 * A member is one image of one process: an area. Members are found in the folder of areas by their
 * session. After exec the engine unlinks the file of the old image, but its descriptor stays open
 * here until it is drained. Published pages are written in order of publication, directly from a
 * mapping that is not read otherwise (so a file that shrinks is an error of write(), not a signal).
 * Then the pages are freed for the engine. The program never waits for this.
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
	uint64_t nr_functions; /* traceable functions, the most of a member */
	uint64_t nr_enabled;   /* of those, switched on, the most of a member */
	/* of nr_functions, those that function_graph can follow, the most of a member */
	uint64_t nr_wrapped;
	uint64_t untraced_calls;
	struct meta_losses losses;
	char refused[256];     /* first filter without a match in a program that has functions */
	char refused_exe[64];  /* that program */
	char graph_ended[256]; /* why function_graph has ended in a member, the engine's text */
	char asleep[128];      /* why the engine sleeps in a member, its text */
	bool spool_failed;     /* a write to the spool has failed; no more pages are drained */
};

/* The number of functions of an image that function_graph can follow. */
uint64_t recorder_nr_wrapped(const struct meta *m);

/* A process that ran before the recording began. */
struct recorder_process {
	int pid;
	unsigned long long start; /* field 22 of /proc/PID/stat */
};

/*
 * The areas to drain: areas of @session and of @processes. @processes continue after the recording.
 * Until its end, an area of @processes without a session gets this one, so that children inherit
 * it.
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
 * recorder_tick() - look for new members, drain all of them, and from time to time record a pair of
 * clocks. Return: true if a buffer was so full that the next tick should come at once. An error of
 * the spool is remembered (spool_failed()); an error of an area is reported once.
 */
bool recorder_tick(struct recorder *r);

/*
 * recorder_turns() - call @turn ten times a second from now on: all records before @stamp, in the
 * processes' clock units, are in the first @spool_bytes of the spool. It must not wait.
 */
void recorder_turns(struct recorder *r,
		    void (*turn)(void *arg, uint64_t spool_bytes, uint64_t stamp), void *arg);

/*
 * recorder_finish() - the last drain, with the pages that are still owned, and the last tables.
 * Areas are removed from the folder. Areas of live processes in `processes` stay and are restored.
 */
void recorder_finish(struct recorder *r, struct recorder_summary *sum);

/*
 * recorder_living() - the processes of the members that live and have not executed another program.
 * @pids: malloced, to be freed, and new members are looked for; NULL: only the known ones are
 * counted. Return: how many, or -ENOMEM with fail() set.
 */
int recorder_living(struct recorder *r, int **pids);

/* The current tables of the member of process @pid (0: of any); NULL: there is none. Borrowed. */
const struct meta *recorder_meta(struct recorder *r, int pid);

#endif
