/* SPDX-License-Identifier: MIT */
/*
 * The states of a recording's threads: running, runnable, blocked and why. From sched_switch,
 * sched_waking (or sched_wakeup), sched_wakeup_new and sched_stat_runtime; the reasons from lock:*,
 * system calls and stacks, if these were recorded.
 *
 * Delays are as in `perf sched latency`: a delay begins when the thread is woken, or preempted, and
 * ends when it runs.
 */
#ifndef VESTIGE_TOOLS_SCHED_H
#define VESTIGE_TOOLS_SCHED_H

#include <stdbool.h>

#include "tools/reader/reader.h"
#include "tools/reader/tasks.h"

#define SCHED_FRAMES 64u

enum sched_state { SCHED_UNKNOWN, SCHED_RUNNING, SCHED_RUNNABLE, SCHED_BLOCKED, SCHED_NR_STATES };

enum sched_why {
	SCHED_WHY_UNKNOWN, /* no system call of it is recorded */
	SCHED_WHY_LOCK,
	SCHED_WHY_SYSCALL,
	SCHED_WHY_FAULT, /* not in a system call, and these are recorded */
	SCHED_WHY_STOPPED,
	SCHED_WHY_ENDED,
};

/* Why a thread is blocked. */
struct sched_reason {
	enum sched_why why;
	int32_t holder;	  /* of the lock, at the start of the wait; 0 unknown */
	uint64_t lock;	  /* its address */
	const char *sort; /* of the lock: "mutex", NULL unknown */
	int32_t nr;	  /* of the system call */
	uint64_t args[6]; /* ... and its arguments */
	const char *file; /* the file of descriptor args[0]; NULL unknown. Borrowed */
	unsigned int nr_frames;
	uint64_t stack[SCHED_FRAMES]; /* the innermost first */
};

struct sched_thread {
	int32_t pid;
	uint32_t process; /* the reader's number */
	enum sched_state state;
	uint64_t since;	  /* ns: in this state */
	uint16_t cpu;	  /* of the last record */
	bool left_unseen; /* it is unknown: the record of the switch from the CPU was lost */
	bool is_new;	  /* it was made in the recording and has not run yet */
	int32_t waker;	  /* of the last wakeup; 0: an interrupt of an idle CPU; -1 unknown */
	struct sched_reason reason; /* of the present or last block */
	uint64_t in_state[SCHED_NR_STATES];
	uint64_t runtime; /* of sched_stat_runtime */
	uint64_t nr_in;	  /* number of times that it came to a CPU */
	uint64_t nr_delays, delays, max_delay, max_from;
	uint64_t blocked_before, delay_before; /* of its last time on a CPU */
	uint64_t seen; /* its first event in a state that is not running; 0 none */
	/* private to sched.c */
	bool in_syscall, in_lock, wants_stack;
	struct sched_reason now, call; /* the lock that it waits for; the system call */
	struct sched_thread *next;
};

/* sched_switch.prev and next: a process's own recording does not have the thread. */
#define SCHED_NOT_KNOWN (-1)

/* A context switch of a CPU, between any two threads. */
struct sched_switch {
	unsigned int cpu, buffer; /* record_buffer() */
	uint64_t ts;
	int32_t prev, next;		     /* pids; 0: the idle task; SCHED_NOT_KNOWN */
	const struct sched_thread *out, *in; /* their threads; NULL: not of the recording */
	char prev_comm[TASK_COMM_BYTES], next_comm[TASK_COMM_BYTES]; /* ""; not known */
	bool of_others; /* neither is a thread of a traced process, nor the engine's agent */
	bool is_repeat; /* another buffer had the same switch before */
};

struct sched;

/* Called in order of time; NULL: not wanted. */
struct sched_ops {
	/*
	 * The thread's state lasted from @from to @to (ns), and @next begins; SCHED_UNKNOWN: the
	 * recording ends, or @t->left_unseen. At the end of a block @t->waker is set; at the end of
	 * a run that a block follows, @t->reason.
	 */
	void (*slice)(void *arg, const struct sched_thread *t, enum sched_state next, uint64_t from,
		      uint64_t to);
	/* Called before the states of both threads change. @sw: borrowed until it returns. */
	void (*switched)(void *arg, const struct sched_switch *sw);
};

/*
 * sched_new() - read all of @r's records.
 * @ops, @arg: called while sched_run() reads.
 * Return: the object, which borrows @r, to be freed with sched_free(); NULL: memory is short.
 */
struct sched *sched_new(struct reader *r, const struct sched_ops *ops, void *arg);
void sched_free(struct sched *s);

/* Return: 0 or -errno with fail() set; -ENODATA: no context switch is recorded. */
int sched_run(struct sched *s);

/* The threads of the traced processes, in order of pid, after sched_run(). */
size_t sched_nr_threads(const struct sched *s);
const struct sched_thread *sched_thread_at(const struct sched *s, size_t i);

/* Were wakeups recorded? Without them a block lasts until the thread runs. */
bool sched_has_wakings(const struct sched *s);

/* How many records were lost. */
uint64_t sched_lost(const struct sched *s);

#endif
