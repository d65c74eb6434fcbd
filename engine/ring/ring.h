/* SPDX-License-Identifier: MIT */
/*
 * The ring: pages in the area, one writer a page.
 *
 * A thread writes into a page that it owns; the page belongs to the CPU on which it was taken, and
 * a thread that has moved takes another one. Memory is bounded by the pool and not by the number
 * of threads. The hot path is in hook/<cpu>/entry.S; here is the slow path, for a page that is
 * full, belongs to another CPU, is too old for a 32-bit stamp, or does not exist.
 *
 * Writers reserve in one of two ways, which may nest in each other in signal handlers:
 *
 *   rseq	stamp, record and commit inside one restartable sequence: a handler restarts it, so
 *		nothing is ever half written and records lie in order of time
 *   xadd	one xadd on page_head.commit; from the reservation to the last store ctl->nest is
 *		raised, and page_nest says how far up the writers in the current page go down: a
 *		page with one below the level at which it is full is held back, not published
 *
 * Threads whose calls set_ftrace_pid leaves out, or a tracer's gate, have a cpu_key of 0 always:
 * their calls find in the slow path that they make no record. Events of such threads have a key of
 * their own.
 *
 * A handler that interrupts the slow path itself records through a second block, with a page of its
 * own, for as long as it runs. One that leaves by longjmp() leaves a writer that never ends: its
 * page is held back until the thread ends or has too many of the kind.
 *
 * There is a ring for each instance: ring_top, whose blocks the hooks in assembler use, and others,
 * which C writes (ring_write.h). A thread has a control block in each ring that it wrote to.
 *
 * fork: control blocks lie in memory that the child finds zeroed, so its first record takes the
 * slow path, which refuses it; a writer that a forking handler interrupted finds no page in its
 * block, or goes on writing to what is only an image of its parent's page. Costs: bench/entry.c.
 * Tests: tests/engine/.
 */
#ifndef VESTIGE_RING_H
#define VESTIGE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "abi/area.h"
#include "abi/page.h"
#include "abi/record.h"
#include "arch_barrier.h"
#include "engine/ring/srcu.h"

struct pid_list;

#define RING_MAX       17u /* the top instance's and 16 more */
#define RING_MAX_HELD  6
#define RING_MAX_CPUS  4096u /* that tracing_cpumask can leave out */
#define RING_MIN_PAGES 16u   /* with fewer a CPU has no page for each of a few threads */

/*
 * A thread's control block. hook/<cpu>/offsets.h checks the offsets of the fields that entry.S
 * reads.
 */
struct ring_ctl {
	struct page_head *page;
	uint32_t cpu_key; /* the page's CPU ^ RING_CPU_KEY; 0: go the slow path */
	uint32_t nest;	  /* xadd writers that have reserved and not finished, on this thread */
	/* rseq restarts: every 32nd takes xadd, or a stepping debugger would hang */
	uint32_t aborts;
	uint32_t page_nest; /* at which the page was taken, or the lowest of its xadd writers */
	uint32_t busy;	    /* inside the slow path */
	uint32_t task;	    /* row in AREA_TASKS */
	uint32_t page_index;
	uint32_t nr_held;
	uint32_t nr_fits; /* how often its page still fitted when another was asked for */
	struct {
		uint32_t page_index;
		uint32_t nest;
	} held[RING_MAX_HELD];	 /* left above an unfinished writer; oldest first, nest rises */
	uint64_t failed_gen;	 /* reader_gen when last no page was free */
	uint64_t busy_at;	 /* the slow path's frame */
	uint32_t event_key;	 /* as cpu_key, for records that set_ftrace_pid does not concern */
	struct ring_ctl *nested; /* for handlers that interrupt this one's slow path; made once */
	struct ring_ctl *below;	 /* the block whose `nested` this is */
	uint32_t ring;		 /* index of the ring into which it writes */
	uint32_t context;	 /* that its page has for the next record */
	/* the state (such as the stack) recorded last in this page, valid for the records behind
	 * it; 0 in a new page, or when that is not sure: the low half is the writer's, the other
	 * one counts changes */
	uint64_t last_state;
	/*
	 * func-no-repeats (core/func_repeats.h): the last call, and how often it came again since
	 */
	uint64_t call_parent, call_stamp;
	uint32_t call_id, call_repeats;
	uint32_t call_busy;
	int32_t tid; /* 0: the block is free, or this is a fork's child. Read with each record: in
			the line of `last_state`. See ctl_clear() */
	uint32_t gate_open; /* of the outermost block: the gate that is open for this thread */
} __attribute__((aligned(128)));

/* The block that a thread has when none of its slow paths is interrupted. */
static inline struct ring_ctl *ring_outermost(const struct ring_ctl *ctl)
{
	while (ctl->below)
		ctl = ctl->below;
	return (struct ring_ctl *)ctl;
}

#define RING_CPU_KEY 0x5a000000u

/* The result of ring_new_page() for the hook. */
enum ring_verdict {
	RING_SKIP = 0,	/* no record: off, refused or counted as lost */
	RING_RETRY = 1, /* the page is right now */
	RING_XADD = 2,	/* this thread has no rseq: take the other path */
};

/* The meaning of a record's stamp. */
enum ring_stamps {
	RING_STAMPS_CLOCK,   /* the area's clock */
	RING_STAMPS_COUNTER, /* trace_clock counter: the number of the record */
	RING_STAMPS_NONE,    /* trace_clock none: 0, so the hooks' and C's keep their order */
};

/* One instance's buffer, as the writers see it. */
struct ring {
	struct area_header *area;
	struct area_buffer *buffer;
	struct area_cpu *cpus;	     /* nr_cpus rows */
	struct area_snapshot *snaps; /* the same; NULL: there are no snapshots */
	struct page_desc *descs;
	uint8_t *pages; /* page 0 of the area */
	struct area_table *task_table;
	struct area_task *tasks;
	uint32_t tasks_backed; /* rows with memory behind them */
	uint32_t nr_cpus;
	uint32_t index; /* in rings[] */
	uint32_t gen;	/* one more each time that the index serves another instance */
	uint32_t buffer_index;
	/* the thread that swaps, or 0, and its frame: see ring_jump() */
	uint32_t swapping;
	uint64_t swapping_at;
	uint32_t on;	  /* tracing_on */
	uint32_t paused;  /* number of callers that have paused recording */
	uint32_t running; /* on, and not paused */
	uint32_t stamps;  /* enum ring_stamps */
	uint64_t counter; /* the last number that a record has */
	/*
	 * set_ftrace_pid: only calls of these threads; set_ftrace_notrace_pid: no calls of these.
	 * NULL: there is no list
	 */
	const struct pid_list *pids, *no_pids;
	uint32_t contexts; /* records say in which context they are made: RECORD_CONTEXT */
	uint32_t gate;	   /* 0: there is none; else its number */
	uint32_t last_gate;
	uint32_t some_cpus_off; /* tracing_cpumask is not full */
	uint64_t cpus_off[RING_MAX_CPUS / 64];
};

extern struct ring rings[RING_MAX];
#define ring_top (&rings[0])

/*
 * The calling thread's block in each ring; one without a tid until it has one. entry.S loads the
 * first.
 */
extern __thread struct ring_ctl *ring_ctl[RING_MAX] __attribute__((tls_model("initial-exec")));

/* ring.gen of the instance that the block is for; unused for ring_top, which stays. */
extern __thread uint32_t ring_gen[RING_MAX] __attribute__((tls_model("initial-exec")));

/* See ring_block(). Any context. */
void ring_renew(const struct ring *r);

/* Offset of struct rseq from the thread pointer; 0 if the process has none. entry.S loads it. */
extern ptrdiff_t ring_rseq_offset;

/*
 * ring_use_stamps() - trace_clock: the meaning of stamps from now on. Empties the buffer. One
 * caller at a time; of ring_top nothing is armed.
 */
void ring_use_stamps(struct ring *r, enum ring_stamps stamps);

/*
 * ring_start() - make the top instance's ring ready for writers.
 * @ring: all pointers set; copied.
 * @rseq_offset: see ring_rseq_offset.
 * Constructor context, once. Return: 0 or -ENOMEM.
 */
int ring_start(const struct ring *ring, ptrdiff_t rseq_offset);

/*
 * ring_fork() - in a fork's child, which has an area of its own now: begin anew. @ring: the top's.
 * ring_fork_instance() - the same of an instance, before anything is recorded; @to: NULL: the child
 * does not have it.
 */
void ring_fork(const struct ring *ring);
void ring_fork_instance(struct ring *r, const struct ring *to);

/*
 * ring_open() - a ring for one more instance.
 * @ring: as for ring_start(). Return: it, or NULL: there are RING_MAX. One caller at a time.
 */
struct ring *ring_open(const struct ring *ring);

/*
 * ring_close() - the instance is being removed: when this returns no thread writes into its ring,
 * nor has a block for it. No writer may find it any more. One caller at a time, not between
 * ring_enter() and ring_leave(). Return: 0; -ETIMEDOUT: as ring_synchronize(); the ring's memory
 * has to stay then, and the index is not used again.
 */
int ring_close(struct ring *r);

/*
 * ring_enter() - from here to ring_leave(), pointers that are read (an instance's ring, the list of
 * the users of calls) stay valid. May nest. Any context; no system call but on a thread's first
 * record. Return: the argument of ring_leave(); NULL: this thread records nothing, and does not
 * call ring_leave().
 */
struct srcu_thread *ring_enter(void);

static inline void ring_leave(struct srcu_thread *inside)
{
	srcu_read_unlock(SRCU_RING, inside);
}

/*
 * ring_synchronize() - the grace period: wait until every thread that is between ring_enter() and
 * ring_leave() now has come out. Return: as synchronize_srcu().
 */
static inline int ring_synchronize(void)
{
	return synchronize_srcu(SRCU_RING);
}

/*
 * ring_invalidate() - each thread's next record in any ring takes the slow path, and writes
 * the state (such as the stack) again. From any thread.
 */
void ring_invalidate(void);

/* Switch recording on or off (tracing_on). From any thread. */
void ring_set_on(struct ring *r, int on);
static inline int ring_is_on(const struct ring *r)
{
	return (int)load_relaxed(&r->on);
}

/* Pause recording, whatever tracing_on says, or end a pause; counted. One caller at a time. */
void ring_pause(struct ring *r, int more);

/*
 * A gate of the ring: calls make records only in threads that have opened it, and while they have
 * it open, as a latency tracer wants them between the begin and the end of a stretch. Nothing is
 * tested on the fast path. Events are not concerned.
 *
 * ring_set_gate() - there is one, closed for all threads; or none. From any thread, one at a time.
 * ring_gate_open(), ring_gate_close() - for the calling thread, in its signal handlers too. Any
 * context; between ring_enter() and ring_leave() where the ring is an instance's.
 */
void ring_set_gate(struct ring *r, int on);
void ring_gate_open(struct ring *r);
void ring_gate_close(struct ring *r);

/*
 * The context of records (irqs-off, need-resched, ..): a thread's next record comes behind a
 * RECORD_CONTEXT if it is another than its page has. Nothing is tested on the fast path: a change
 * of context sends the thread to the slow path.
 *
 * ring_set_contexts() - whether a ring has them. One caller at a time.
 * ring_context - the calling thread's, as common_flags and common_preempt_count above; any context.
 * ring_context_changed() - the calling thread's has. Any context. For other threads' there is
 * ring_change_pages().
 */
void ring_set_contexts(struct ring *r, int on);
extern uint32_t (*ring_context)(void);
void ring_context_changed(void);

/*
 * ring_set_cpumask() - tracing_cpumask: records are made on these CPUs alone, from when it returns.
 * A thread on another CPU asks for a page with each record and gets none; nothing is tested where
 * the mask is full. @off: a bit for each CPU that makes none, RING_MAX_CPUS of them. One caller at
 * a time.
 */
void ring_set_cpumask(struct ring *r, const uint64_t *off);

static inline int ring_cpu_is_off(const struct ring *r, uint32_t cpu)
{
	return load_relaxed(&r->some_cpus_off) && cpu < RING_MAX_CPUS &&
	       (load_relaxed(&r->cpus_off[cpu / 64]) >> (cpu % 64) & 1);
}

/*
 * ring_clear() - drop the records of a CPU, and begin its losses at 0.
 * @cpu: UINT32_MAX: on all of them. Records that are made meanwhile may go or stay. Any thread.
 */
void ring_clear(struct ring *r, uint32_t cpu);

/*
 * ring_resize() - change the quota of one CPU while threads write. @pages: RING_MIN_PAGES or more;
 * descriptors and addresses are there (area_cpu_reach). Smaller: published pages move into the
 * pages that stay, the oldest are overwritten when they do not fit; a page that a thread owns
 * follows when it is published. One caller at a time. Return: 0; -ENOSPC: no memory for the pages
 * that it had before.
 */
int ring_resize(struct ring *r, uint32_t cpu, uint32_t pages);

/*
 * ring_snapshot() - the buffer's records become the snapshot, in place of the old one, and the
 * buffer is empty: tracing_snapshot(). The moment of the call divides all threads' records; a
 * record that is being made belongs to one side or the other. Recording goes on, or stays off.
 * @cpu: of this one alone; UINT32_MAX: of all.
 * Return: 0; -ENODEV: none is allocated; -EBUSY: another snapshot is being taken at this moment.
 * Any context: no lock, no system call. Costs a store for each thread and a look at each page.
 */
int ring_snapshot(struct ring *r, uint32_t cpu);

/*
 * ring_snapshot_alloc() - have the memory for it; area_cpu_reach_spare() was called for each CPU.
 * ring_snapshot_free() - give it back; ring_snapshot_clear()
 * - empty it, for one CPU alone if @cpu is not UINT32_MAX. One caller at a time, no hooks.
 * Return: 0; -ENOMEM; -EBUSY: it is being taken at this moment.
 */
int ring_snapshot_alloc(struct ring *r);
int ring_snapshot_free(struct ring *r);
int ring_snapshot_clear(struct ring *r, uint32_t cpu);
int ring_snapshot_allocated(const struct ring *r);

/* For snapshot.c: threads that record take another page with their next record. Any context. */
void ring_change_pages(void);

/*
 * ring_new_page() - the slow path: make the thread's page in ring_top fit for a record of @bytes.
 * Called by the hooks at any instruction, signal handlers included: no lock, no libc, no system
 * call but madvise() when memory is added and gettid() on a thread's first record.
 */
enum ring_verdict ring_new_page(uint32_t bytes);

/* The same in any ring. */
enum ring_verdict ring_new_page_in(struct ring *r, uint32_t bytes);

/* The same for records that are made by all threads, whatever set_ftrace_pid says. */
enum ring_verdict ring_new_event_page(struct ring *r, uint32_t bytes);

/* The stamp for machines whose counter cannot be trusted: CLOCK_MONOTONIC in ns. Any context. */
uint64_t ring_clock_mono(void);

/* The stamp now, in the area's clock. Any context. */
uint64_t ring_clock(void);

/* trace_clock counter: the next number. Threads of all CPUs share it. Any context. */
uint64_t ring_next_number(struct ring *r);

/* The stamp of a new record of a ring; what it would be now. Any context. */
static inline uint64_t ring_stamp(struct ring *r)
{
	return r->stamps == RING_STAMPS_COUNTER ? ring_next_number(r) : ring_clock();
}
static inline uint64_t ring_now(const struct ring *r)
{
	return r->stamps == RING_STAMPS_COUNTER ? load_relaxed(&r->counter) : ring_clock();
}

/* The same of ring_top, for entry points that do not read the counter of the processor. */
uint64_t ring_stamp_top(void);

/*
 * Give the calling thread a control block ahead of its first record. Normal context.
 * @comm: the name that it has where it may make no system call.
 */
void ring_thread_start(const char *comm);

/* Whether this is a fork's child that has no ring of its own yet, or never will. Any context. */
int ring_is_forks_child(void);

/* Whether there is a ring, and this is its process or a child of vfork(). Any context. */
int ring_is_awake(void);

/* The thread ends: publish its pages, note its name, free its block. Normal context. */
void ring_thread_end(void);

/*
 * The calling thread is about to lose the right to read the counter (PR_SET_TSC, strict seccomp):
 * it records no more, its calls are counted as untraced. ring_thread_allow(): that failed.
 */
void ring_thread_forbid(void);
void ring_thread_allow(void);

/* The control block of threads that may not read the counter: the entry points compare with it. */
extern struct ring_ctl ring_forbidden_ctl;

/*
 * ring_jump() - longjmp() is about to leave all frames below @sp: a slow path among them, which
 * would keep its block busy for good, is ended. Any context.
 */
void ring_jump(uint64_t sp);

/* The writer that a forking handler interrupted: the child goes on there. */
enum ring_interrupted { RING_NOTHING, RING_WRITER, RING_SLOW_PATH };
enum ring_interrupted ring_interrupted(void);

/*
 * A call makes no record, and is counted: because a handler interrupted the engine itself
 * (commit_overrun of this CPU); because the thread or its stack cannot be traced (untraced_calls).
 * Any context.
 */
void ring_count_nested(struct ring *r);
void ring_count_untraced(void);

/* A record is lost because it is larger than a page; counted as dropped_events. Any context. */
void ring_count_dropped(struct ring *r);

/* The calling thread's name, as it was last read, and its id. Any context. */
const char *ring_thread_comm(void);
int ring_thread_id(void);

/* The CPU of the record that is being made. Any context. */
uint32_t ring_record_cpu(void);

/*
 * Read the calling thread's name again. Normal context: it makes a system call.
 * @name: the name of a thread that may make no system call; NULL: not known, the old one stays.
 */
void ring_thread_rename(const char *name);

#endif
