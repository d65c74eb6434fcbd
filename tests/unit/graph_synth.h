/* SPDX-License-Identifier: MIT */
/*
 * A program that does not exist: threads that call, return, jump, throw and change stacks at
 * random, and write down themselves what they did. Its records are the ones that the engine would
 * have written.
 */
#ifndef VESTIGE_TESTS_GRAPH_SYNTH_H
#define VESTIGE_TESTS_GRAPH_SYNTH_H

#include <stdbool.h>

#include "tools/reader/reader.h"

#define GRAPH_SYNTH_CPUS 3

/* The program's own account of its calls. */
struct synth_call {
	uint64_t ip, start, end; /* start 0: before the trace; end 0: never */
	uint64_t children, nr_children, suspended;
	int64_t parent; /* number of the call around it, -1 none */
	uint32_t depth;
	uint32_t stack; /* 0: the thread's own */
	bool tail, unwound;
};

enum synth_what { SYNTH_ENTER, SYNTH_LEAVE, SYNTH_UNMATCHED };

struct synth_event {
	enum synth_what what;
	uint64_t call; /* number */
	uint64_t ts;
};

struct graph_synth {
	struct record *rec[GRAPH_SYNTH_CPUS];
	uint64_t nr[GRAPH_SYNTH_CPUS], room[GRAPH_SYNTH_CPUS];
	struct synth_call *call;
	uint64_t nr_calls, room_calls;
	struct synth_event *event;
	uint64_t nr_events, room_events;
	uint64_t ts;
};

struct graph_synth_plan {
	uint32_t seed;
	unsigned int steps;
	unsigned int threads, processes; /* thread t is of process t % processes */
	unsigned int coroutines;	 /* stacks a process */
	bool tails, throws, middle;	 /* middle: threads begin inside of calls */
	/* the first record on another stack or CPU is an entry: see report's leaves */
	bool calls_first;
	bool ends;   /* all calls return at the end */
	bool silent; /* a thread is on another stack for a while without a record there */
};

void graph_synth_run(struct graph_synth *g, const struct graph_synth_plan *plan);
void graph_synth_free(struct graph_synth *g);

/* Take about one of @every runs of records out of each CPU and count them as lost. */
void graph_synth_lose(struct graph_synth *g, uint32_t seed, unsigned int every);

/* Its records as a reader, which borrows them. */
struct reader *graph_synth_reader(struct graph_synth *g);

#endif
