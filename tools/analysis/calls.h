/* SPDX-License-Identifier: MIT */
/*
 * From a merged stream of records to calls: caller, function, begin and end.
 *
 * Each record of merge_next() is handed to calls_record(); the graph kinds among them
 * (abi/record.h) open and close calls, and each opening and closing is reported through struct
 * calls_ops, in the order in which it happened. All else is ignored. Each stack of a process (a
 * thread's, a coroutine's, a signal handler's) has its own open calls, so nesting is exact where
 * threads take turns, where stacks are switched, and after a throw, longjmp or tail call. Lost
 * records are repaired as far as the other records allow: see enum call_flag.
 *
 * Memory is bounded: see struct calls_limits. Costs about 10 ns a record.
 */
#ifndef VESTIGE_TOOLS_CALLS_H
#define VESTIGE_TOOLS_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/reader/reader.h"

enum call_flag {
	/*
	 * It was entered by a tail call: the parent is what jumped to it. In a long row of jumps (a
	 * state machine) the 65th and all behind it have the 64th's parent, and end with the next
	 * jump.
	 */
	CALL_TAIL = 1,
	/* It did not return: throw, longjmp, cancel. `end` is when that was seen. */
	CALL_UNWOUND = 2,
	/* Its exit was lost: it is closed with the call around it. */
	CALL_NO_EXIT = 4,
	/*
	 * It was still open at the end of the trace, or when exec() put another program in its
	 * program's place: `end` is that program's last record then.
	 */
	CALL_UNFINISHED = 8,
	/* Records were lost while it was open: `children` may be too small. */
	CALL_BROKEN = 16,
	/*
	 * Only its return is in the trace, with the time of its start: tracing_thresh left the
	 * entry out, or the trace of a kernel begins in it. enter() and leave() come together, at
	 * its end, after the calls beneath it; `children` has the known part of these.
	 */
	CALL_RETURN_ONLY = 32,
	/* calls_cut(): it was open before, and began anew; it goes on, in a call that does that. */
	CALL_CUT_BEGIN = 64,
	CALL_CUT_END = 128,
};

/* A call. In enter() the fields up to `flags` are set, in leave() all. */
struct call {
	uint64_t ip;	  /* the function's entry */
	uint64_t start;	  /* stamp of the entry, in the reader's units */
	uint64_t data;	  /* the caller's own: 0 in enter(), may be set, kept until leave() */
	int32_t pid;	  /* the thread that entered it */
	uint32_t depth;	  /* calls around it, those not seen included: see calls_learn() */
	uint32_t process; /* as in struct record */
	uint32_t stack; /* its stack's number in the process (or trace.dat), 0: the thread's own */
	uint32_t flags; /* enum call_flag */
	uint32_t nr_children; /* calls made directly, at most UINT32_MAX */
	uint64_t end;	      /* stamp of the exit */
	uint64_t children;    /* of end - start, spent in calls beneath */
	/*
	 * Of end - start, while its stack was suspended with this call as the innermost: from the
	 * first record of its thread on another stack to the first one back. The rest is self time.
	 */
	uint64_t suspended;
};

struct calls;

/* Each may be NULL. A callback must not call back into @calls, but may read the clock's units. */
struct calls_ops {
	/*
	 * A call begins. @parent: the call around it, NULL when there is none (or it is not known);
	 * its fields up to `data` may be used and its data set. @rec: ENTRY or TAIL; NULL in
	 * calls_cut().
	 */
	void (*enter)(void *arg, struct call *call, struct call *parent, const struct record *rec);
	/*
	 * A call ends; of several that end at once the innermost is reported first. @parent: as
	 * above.
	 * @rec: the record that ended it: EXIT, UNWOUND, or NULL in calls_finish(), in calls_cut()
	 * and of an image that exec() has replaced.
	 */
	void (*leave)(void *arg, struct call *call, struct call *parent, const struct record *rec);
	/*
	 * An exit whose entry is not in the trace and which does not say when its call began: it
	 * was made before the trace began, in the parent before fork(), or it was lost. @depth,
	 * @stack: of the call that ended. @rec: EXIT.
	 */
	void (*unmatched)(void *arg, uint32_t depth, uint32_t stack, const struct record *rec);
	/*
	 * calls_plain_run() (calls_impl.h) with enter and leave above compiled into it. NULL: they
	 * are called.
	 */
	int (*run)(struct calls *c, void *arg, const struct run *run);
};

struct calls_limits {
	/*
	 * Calls deeper than this are not reported one by one: they are counted, so that what is
	 * around them stays right, and their time is their innermost reported call's own. 0: 2^20.
	 */
	uint32_t max_depth;
	/* The same for the open calls of all stacks together (72 bytes each). 0: 2^22. */
	uint32_t max_open;
	/*
	 * Stacks with open calls; the one that was used longest ago is ended as unfinished. 0: 2^20
	 */
	uint32_t max_stacks;
};

struct calls;

/*
 * calls_new() - a builder without open calls.
 * @ops: copied. @arg: handed to them. @limits: copied; NULL: the defaults.
 * Return: it, to be freed with calls_free(); NULL with fail() set when memory is short.
 */
struct calls *calls_new(const struct calls_ops *ops, void *arg, const struct calls_limits *limits);
void calls_free(struct calls *c);

/*
 * calls_use() - have @r tell which images are of one process, so that exec() ends the calls of the
 * image that it replaces. Without it they stay open.
 * @r: the reader of the records, borrowed until the next calls_use(). NULL: nothing tells it.
 */
void calls_use(struct calls *c, struct reader *r);

/*
 * calls_learn() - read all of @r once, to know how deep each stack was when its records begin. A
 * trace that starts in the middle shows exits of calls that began before it. With this their depth,
 * and the depth of all calls beneath them, is right; without it the depth counts from the first
 * records, and never below 0. Before the first calls_record(); @r is then at its start again, or,
 * where it cannot be read twice, untouched. A reader that knows it (bases_known) is not read.
 * @cpus: as for merge_skip_cpu(): false leaves a CPU out; NULL: all.
 * Includes calls_use() of @r. Return: 0 or -errno with fail() set.
 */
int calls_learn(struct calls *c, struct reader *r, const bool *cpus);

/*
 * calls_bases() - the results of calls_learn().
 * @out: freed by the caller. Before the first calls_record(). Return: 0 or -ENOMEM with fail() set.
 */
int calls_bases(const struct calls *c, struct record_base **out, size_t *nr);

/*
 * calls_record() - take the next record of the merged stream.
 * Return: 0 or -ENOMEM with fail() set.
 */
int calls_record(struct calls *c, const struct record *rec);

/*
 * calls_run() - take the next run of runs.h: the same as calls_record() of each of its records.
 * Return: 0 or -ENOMEM with fail() set.
 */
int calls_run(struct calls *c, const struct run *run);

/*
 * calls_finish() - the stream has ended: leave all open calls, as CALL_UNFINISHED, stack by stack,
 * the innermost call first. Their end is the last stamp of the stream, or of their process where it is
 * known to have ended.
 */
void calls_finish(struct calls *c);

/*
 * calls_cut() - between two records, at @ts: leave all open calls, as CALL_CUT_END, stack by stack,
 * the innermost call first; then enter all of them again, the outermost first, as CALL_CUT_BEGIN,
 * with nothing beneath it so far. The times of the two add up to the call's.
 * @between: called in the middle; NULL: nothing is. A call of CALL_RETURN_ONLY that ends later
 * begins here at the earliest: its time before is in no call.
 */
void calls_cut(struct calls *c, uint64_t ts, void (*between)(void *arg), void *arg);

/*
 * calls_would_leave() - is @rec, which comes later, the end of the call that was entered last on
 * the stack on which its thread runs? For printers that fold a leaf into one line.
 */
bool calls_would_leave(const struct calls *c, const struct record *rec);

/* Calls that were deeper than the limits; stacks ended by them. */
uint64_t calls_too_deep(const struct calls *c);
uint64_t calls_dropped_stacks(const struct calls *c);

#endif
