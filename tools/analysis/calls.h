/* SPDX-License-Identifier: MIT */
/*
 * From a merged stream of records to calls: caller, function, begin and end.
 *
 * calls_record() gets each record of merge_next(). The graph kinds (abi/record.h) open and close
 * calls. Each begin and end of a call is reported through struct calls_ops, in order of time. Other
 * records are ignored. Each stack of a process (a thread's, a coroutine's, a signal handler's) has
 * its own open calls, so nesting is exact where threads take turns, where stacks are switched, and
 * after a throw, longjmp or tail call. Lost records are repaired as far as the other records allow:
 * see enum call_flag.
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
	 * It was entered by a tail call: the parent is the function that jumped to it. In a long
	 * row of tail calls (a state machine) the 65th and all later ones have the 64th as parent,
	 * and end with the next tail call.
	 */
	CALL_TAIL = 1,
	/* It did not return: throw, longjmp, cancel. `end` is when that was seen. */
	CALL_UNWOUND = 2,
	/*
	 * Its exit was not recorded, or was lost: `end` is the last time at which it is known to
	 * have been open, the time of its stack's last record.
	 */
	CALL_NO_EXIT = 4,
	/*
	 * It was still open at the end of the trace, or when exec() replaced the program: then
	 * `end` is the last record of the old program.
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
	/*
	 * calls_cut(): CUT_BEGIN: the second part of a call that was open before. CUT_END: the
	 * first part of a call that goes on.
	 */
	CALL_CUT_BEGIN = 64,
	CALL_CUT_END = 128,
};

/* A call. In enter() the fields up to `flags` are set, in leave() all. */
struct call {
	uint64_t ip;	  /* the function's entry */
	uint64_t start;	  /* stamp of the entry, in the reader's units */
	uint64_t data;	  /* the caller's own: 0 in enter(), may be set, kept until leave() */
	int32_t pid;	  /* the thread that entered it */
	uint32_t depth;	  /* calls around it, with those not seen: see calls_learn() */
	uint32_t process; /* as in struct record */
	uint32_t stack; /* its stack's number in the process (or trace.dat), 0: the thread's own */
	uint32_t flags; /* enum call_flag */
	uint32_t nr_children; /* calls made directly, at most UINT32_MAX */
	uint64_t end;	      /* stamp of the exit */
	uint64_t children;    /* the part of end - start in calls beneath */
	/*
	 * The part of end - start in which its stack was suspended with this call as the innermost:
	 * from its thread's first record on another stack to the first one back. The rest is self
	 * time.
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
	 * An exit without an entry in the trace, and without the time of the call's begin. The
	 * entry was before the trace began, in the parent before fork(), or it was lost. @depth,
	 * @stack: of the call that ended. @rec: EXIT.
	 */
	void (*unmatched)(void *arg, uint32_t depth, uint32_t stack, const struct record *rec);
	/*
	 * calls_plain_run() (calls_impl.h) with the two functions above inlined. NULL: they are
	 * called by pointer.
	 */
	int (*run)(struct calls *c, void *arg, const struct run *run);
};

struct calls_limits {
	/*
	 * Deeper calls are not reported. They are counted, so that the calls around them stay
	 * right. Their time is self time of the innermost reported call. 0: 2^20.
	 */
	uint32_t max_depth;
	/* The same for the open calls of all stacks together (72 bytes each). 0: 2^22. */
	uint32_t max_open;
	/*
	 * Stacks with open calls. When there are more, the calls of the least recently used stack
	 * end as unfinished. 0: 2^20.
	 */
	uint32_t max_stacks;
};

struct calls;

/*
 * calls_new() - a builder without open calls.
 * @ops: copied. @arg: passed to them. @limits: copied; NULL: the defaults.
 * Return: it, to be freed with calls_free(); NULL with fail() set when memory is short.
 */
struct calls *calls_new(const struct calls_ops *ops, void *arg, const struct calls_limits *limits);
void calls_free(struct calls *c);

/*
 * calls_use() - ask @r which images belong to one process, so that an exec() ends the calls of the
 * image that it replaces. Without it they stay open.
 * @r: the reader of the records, borrowed until the next calls_use(). NULL: no reader.
 */
void calls_use(struct calls *c, struct reader *r);

/*
 * calls_learn() - read all of @r once, to find how many calls were open on each stack when its
 * records begin. A trace that starts in the middle has exits of calls that began before it. With
 * calls_learn() the depth of these calls, and of the calls beneath them, is right. Without it the
 * depth counts from the first record, and is never below 0. To be called before the first
 * calls_record(). Afterwards @r is at its start again. A reader that cannot be read twice, or that
 * knows the depths (bases_known), is not read.
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
 * the innermost call first. They end at the last stamp of the stream, or of their process if that
 * is known to have ended.
 */
void calls_finish(struct calls *c);

/*
 * calls_cut() - between two records, at @ts: leave all open calls, as CALL_CUT_END, stack by stack,
 * the innermost call first; then enter all of them again, the outermost first, as CALL_CUT_BEGIN,
 * without calls beneath so far. The times of the two parts add up to the time of the call.
 * @between: called between leaving and entering; may be NULL. A call of CALL_RETURN_ONLY that ends
 * later begins here at the earliest: its time before is in no call.
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
