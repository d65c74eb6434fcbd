/* SPDX-License-Identifier: MIT */
/*
 * The ring: pages in the area, each with one writer.
 *
 * A thread writes into a page that it owns. The page belongs to the CPU on which it was taken; a
 * thread that has moved to another CPU takes another page. The pool limits the memory, whatever the
 * number of threads. The hot path is in hook/<cpu>/entry.S. Here is the slow path: the page is
 * full, belongs to another CPU, is too old for a 32-bit stamp, or does not exist.
 *
 * Writers reserve in one of two ways, which may nest in each other in signal handlers:
 *
 *	rseq	stamp, record and commit in one restartable sequence: a handler restarts it, so
 *		no record is half written, and records are in order of time
 *	xadd	one xadd on page_head.commit. From the reservation to the last store ctl->nest is
 *		raised. page_nest is the lowest level of the writers in the current page: a full
 *		page that has a writer of a lower level is held back, not published
 *
 * Threads whose calls set_ftrace_pid or a tracer's gate excludes always have a cpu_key of 0: their
 * calls take the slow path, which makes no record. Events of such threads have a key of their own.
 *
 * A handler that interrupts the slow path itself makes its records through a second block, with a
 * page of its own, as long as it runs. A handler that leaves by longjmp() leaves a writer that
 * never ends: its page is held back until the thread ends or has too many of them.
 *
 * There is a ring for each instance: ring_top, whose blocks the hooks in assembler use, and others,
 * which C writes to (ring_write.h). A thread has a control block in each ring that it has written
 * to.
 *
 * fork: control blocks are in memory that the child finds zeroed, so its first record takes the
 * slow path, which refuses it. A writer that a forking handler interrupted finds no page in its
 * block, or continues to write to a private copy of its parent's page. Costs: bench/entry.c. Tests:
 * tests/engine/.
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
#define RING_MAX_CPUS  4096u /* limit of tracing_cpumask */
#define RING_MIN_PAGES 16u   /* with fewer, a CPU does not have a page for each of a few threads */

/*
 * A thread's control block. hook/<cpu>/offsets.h checks the offsets of the fields that entry.S
 * reads.
 */
struct ring_ctl {
	struct page_head *page;
	uint32_t cpu_key; /* the page's CPU ^ RING_CPU_KEY; 0: take the slow path */
	uint32_t nest;	  /* this thread's xadd writers that have reserved and not finished */
	/*
	 * rseq restarts: every 32nd writer uses xadd, or single-stepping in a debugger would hang
	 */
	uint32_t aborts;
	/* `nest` when the page was taken, or of the lowest of its xadd writers */
	uint32_t page_nest;
	uint32_t busy; /* in the slow path */
	uint32_t task; /* row in AREA_TASKS */
	uint32_t page_index;
	uint32_t nr_held;
	uint32_t nr_fits; /* how often another page was requested although this one still fitted */
	struct {
		uint32_t page_index;
		uint32_t nest;
	} held[RING_MAX_HELD]; /* full pages of unfinished writers; oldest first, nest rises */
	uint64_t failed_gen;   /* reader_gen when no page was free the last time */
	uint64_t busy_at;      /* address of the slow path's frame */
	uint32_t event_key;    /* as cpu_key, for records to which set_ftrace_pid does not apply */
	struct ring_ctl *nested; /* for handlers that interrupt this block's slow path; made once */
	struct ring_ctl *below;	 /* the block whose `nested` this is */
	uint32_t ring;		 /* index of the ring into which it writes */
	uint32_t context;	 /* the context that its page has for the next record */
	/*
	 * the state (such as the stack) that was last recorded in this page, and applies to the
	 * records behind it; 0: the page is new, or the state is uncertain. Low half: the writer's
	 * value; high half: number of changes
	 */
	uint64_t last_state;
	/*
	 * func-no-repeats (core/func_repeats.h): the last call, and how often it was repeated
	 */
	uint64_t call_parent, call_stamp;
	uint32_t call_id, call_repeats;
	uint32_t call_busy;
	/*
	 * 0: the block is free, or this is a fork's child. Read with each record, so it is in the
	 * cache line of `last_state`. See ctl_clear()
	 */
	int32_t tid;
	/* in the outermost block: number of the gate that this thread has opened */
	uint32_t gate_open;
} __attribute__((aligned(128)));

/* The block that a thread has while none of its slow paths is interrupted. */
static inline struct ring_ctl *ring_outermost(const struct ring_ctl *ctl)
{
	while (ctl->below)
		ctl = ctl->below;
	return (struct ring_ctl *)ctl;
}

#define RING_CPU_KEY 0x5a000000u

/* What the hook must do after ring_new_page(). */
enum ring_verdict {
	RING_SKIP = 0,	/* make no record: off, refused or counted as lost */
	RING_RETRY = 1, /* try again: the page fits now */
	RING_XADD = 2,	/* use xadd: this thread has no rseq */
};

/* The meaning of a record's stamp. */
enum ring_stamps {
	RING_STAMPS_CLOCK,   /* the area's clock */
	RING_STAMPS_COUNTER, /* trace_clock counter: the number of the record */
	RING_STAMPS_NONE, /* trace_clock none: 0; records of hooks and of C stay in their order */
};

/* One instance's buffer, for writers. */
struct ring {
	struct area_header *area;
	struct area_buffer *buffer;
	struct area_cpu *cpus;	     /* nr_cpus rows */
	struct area_snapshot *snaps; /* nr_cpus rows; NULL: there are no snapshots */
	struct page_desc *descs;
	uint8_t *pages; /* page 0 of the area */
	struct area_table *task_table;
	struct area_task *tasks;
	uint32_t tasks_backed; /* rows that have memory */
	uint32_t nr_cpus;
	uint32_t index; /* in rings[] */
	uint32_t gen;	/* number of instances that have had this index */
	uint32_t buffer_index;
	/* id of the thread that swaps, or 0, and its frame: see ring_jump() */
	uint32_t swapping;
	uint64_t swapping_at;
	uint32_t on;	  /* tracing_on */
	uint32_t paused;  /* number of callers that have paused recording */
	uint32_t running; /* on, and not paused */
	uint32_t stamps;  /* enum ring_stamps */
	uint64_t counter; /* number of the last record */
	/*
	 * set_ftrace_pid: record only calls of these threads; set_ftrace_notrace_pid: no calls of
	 * these. NULL: there is no list
	 */
	const struct pid_list *pids, *no_pids;
	uint32_t contexts; /* records have their context: RECORD_CONTEXT */
	uint32_t gate;	   /* number of the gate; 0: there is none */
	uint32_t last_gate;
	uint32_t some_cpus_off; /* tracing_cpumask is not full */
	uint64_t cpus_off[RING_MAX_CPUS / 64];
};

extern struct ring rings[RING_MAX];
#define ring_top (&rings[0])

/*
 * The calling thread's block in each ring; before it has one, a block without a tid. entry.S reads
 * the first.
 */
extern __thread struct ring_ctl *ring_ctl[RING_MAX] __attribute__((tls_model("initial-exec")));

/* ring.gen of the instance for which the block is; not used for ring_top, which stays. */
extern __thread uint32_t ring_gen[RING_MAX] __attribute__((tls_model("initial-exec")));

/* See ring_block(). Any context. */
void ring_renew(const struct ring *r);

/* Offset of struct rseq from the thread pointer; 0: the process has none. entry.S reads it. */
extern ptrdiff_t ring_rseq_offset;

/*
 * ring_use_stamps() - set the meaning of stamps (trace_clock). Empties the buffer. One caller at a
 * time; no site of ring_top may be armed.
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
 * ring_fork_begins() - before a fork() whose child will have an area. ring_fork_ends() - in the
 * parent, and in the child when it has the area, or @without_area: it gets none. In between the
 * child's calls are not counted as lost. In the forking thread.
 */
void ring_fork_begins(void);
void ring_fork_ends(int without_area);

/*
 * ring_fork() - in a fork's child that has its own area: begin with an empty ring. @ring: the
 * top's. ring_fork_instance() - the same for an instance, before anything is recorded; @to: NULL:
 * the child does not have the instance.
 */
void ring_fork(const struct ring *ring);
void ring_fork_instance(struct ring *r, const struct ring *to);

/*
 * ring_open() - make a ring for another instance. @ring: as for ring_start(). Return: the ring;
 * NULL: there are RING_MAX. One caller at a time.
 */
struct ring *ring_open(const struct ring *ring);

/*
 * ring_close() - the instance is removed: when this returns, no thread writes into its ring or has
 * a block for it. Before, it must be unlinked for writers. One caller at a time, not between
 * ring_enter() and ring_leave(). Return: 0; -ETIMEDOUT: as ring_synchronize(); then the ring's
 * memory must stay, and the index is not used again.
 */
int ring_close(struct ring *r);

/*
 * ring_enter() - until ring_leave(), pointers that the thread reads (an instance's ring, the list
 * of the users of calls) stay valid. May nest. Any context; a system call only at a thread's first
 * record. Return: the argument for ring_leave(); NULL: this thread makes no records, and does not
 * call ring_leave().
 */
struct srcu_thread *ring_enter(void);

static inline void ring_leave(struct srcu_thread *inside)
{
	srcu_read_unlock(SRCU_RING, inside);
}

/*
 * ring_synchronize() - the grace period: wait until every thread that is between ring_enter() and
 * ring_leave() now has called ring_leave(). Return: as synchronize_srcu().
 */
static inline int ring_synchronize(void)
{
	return synchronize_srcu(SRCU_RING);
}

/*
 * ring_invalidate() - make each thread take the slow path with its next record in any ring, and
 * write the state (such as the stack) again. Any thread.
 */
void ring_invalidate(void);

/* Switch recording on or off (tracing_on). Any thread. */
void ring_set_on(struct ring *r, int on);
static inline int ring_is_on(const struct ring *r)
{
	return (int)load_relaxed(&r->on);
}

/*
 * Pause recording, whatever tracing_on is, or end a pause; the calls are counted. One caller at a
 * time.
 */
void ring_pause(struct ring *r, int more);

/*
 * The gate of a ring: while there is one, calls make records only in threads that have opened it. A
 * latency tracer opens it between the begin and the end of a stretch. The fast path tests nothing
 * for it. Events are not affected.
 *
 * ring_set_gate() - make a gate, closed for all threads; or remove it. Any thread, one at a time.
 * ring_gate_open(), ring_gate_close() - for the calling thread and its signal handlers. Any
 * context; for an instance's ring between ring_enter() and ring_leave().
 * context; between ring_enter() and ring_leave() where the ring is an instance's.
 */
void ring_set_gate(struct ring *r, int on);
void ring_gate_open(struct ring *r);
void ring_gate_close(struct ring *r);

/*
 * The context of records (irqs-off, need-resched, ..): before a record whose context differs from
 * the last one in its page, a RECORD_CONTEXT is written. The fast path tests nothing for it: a
 * change of context sends the thread to the slow path.
 *
 * ring_set_contexts() - whether a ring has them. One caller at a time. ring_context - the calling
 * thread's context: common_flags, with common_preempt_count above; any context.
 * ring_context_changed() - the calling thread's context has changed. Any context. For other threads
 * there is ring_change_pages().
 */
void ring_set_contexts(struct ring *r, int on);
extern uint32_t (*ring_context)(void);
void ring_context_changed(void);

/*
 * ring_set_cpumask() - set tracing_cpumask: when it returns, records are made on these CPUs alone.
 * A thread on another CPU takes the slow path with each record; if the mask is full nothing is
 * tested. @off: a bit for each CPU that makes no records, RING_MAX_CPUS bits. One caller at a time.
 */
void ring_set_cpumask(struct ring *r, const uint64_t *off);

static inline int ring_cpu_is_off(const struct ring *r, uint32_t cpu)
{
	return load_relaxed(&r->some_cpus_off) && cpu < RING_MAX_CPUS &&
	       (load_relaxed(&r->cpus_off[cpu / 64]) >> (cpu % 64) & 1);
}

/*
 * ring_clear() - drop the records of a CPU, and set its losses to 0. @cpu: UINT32_MAX: all CPUs.
 * Records that are made meanwhile may be dropped or stay. Any thread.
 */
void ring_clear(struct ring *r, uint32_t cpu);

/*
 * ring_resize() - change the quota of one CPU while threads write. @pages: RING_MIN_PAGES or more;
 * descriptors and addresses must exist (area_cpu_reach). If the quota shrinks, published pages move
 * into the pages that stay, and the oldest are overwritten if they do not fit; a page that a thread
 * owns moves when it is published. One caller at a time. Return: 0; -ENOSPC: no memory for pages
 * that were removed before.
 */
int ring_resize(struct ring *r, uint32_t cpu, uint32_t pages);

/*
 * ring_snapshot() - tracing_snapshot(): the buffer's records become the snapshot, replacing the old
 * one, and the buffer is empty. The time of the call divides the records of all threads; a record
 * that is being made belongs to one side or the other. Whether recording is on does not change.
 * @cpu: UINT32_MAX: all CPUs. Return: 0; -ENODEV: no snapshot is allocated; -EBUSY: another
 * snapshot is being taken. Any context: no lock, no system call. Costs a store for each thread and
 * a look at each page.
 */
int ring_snapshot(struct ring *r, uint32_t cpu);

/*
 * ring_snapshot_alloc() - get the memory for it; area_cpu_reach_spare() must have been called for
 * each CPU. ring_snapshot_free() - free it. ring_snapshot_clear() - empty it; @cpu: UINT32_MAX: for
 * all CPUs. One caller at a time, not in hooks. Return: 0; -ENOMEM; -EBUSY: a snapshot is being
 * taken.
 */
int ring_snapshot_alloc(struct ring *r);
int ring_snapshot_free(struct ring *r);
int ring_snapshot_clear(struct ring *r, uint32_t cpu);
int ring_snapshot_allocated(const struct ring *r);

/* For snapshot.c: make threads take another page with their next record. Any context. */
void ring_change_pages(void);

/*
 * ring_new_page() - the slow path: give the thread a page in ring_top that fits a record of @bytes.
 * Called by the hooks at any instruction, signal handlers included: no lock, no libc, no system
 * call but madvise() when memory is added and gettid() at a thread's first record.
 */
enum ring_verdict ring_new_page(uint32_t bytes);

/* As ring_new_page(), in any ring. */
enum ring_verdict ring_new_page_in(struct ring *r, uint32_t bytes);

/* As ring_new_page_in(), for events, to which set_ftrace_pid does not apply. */
enum ring_verdict ring_new_event_page(struct ring *r, uint32_t bytes);

/* CLOCK_MONOTONIC in ns: the stamp on machines whose counter cannot be trusted. Any context. */
uint64_t ring_clock_mono(void);

/* The stamp now, in the area's clock. Any context. */
uint64_t ring_clock(void);

/* The next number of trace_clock counter, which all CPUs share. Any context. */
uint64_t ring_next_number(struct ring *r);

/* ring_stamp() - the stamp for a new record. ring_now() - what it would be now. Any context. */
static inline uint64_t ring_stamp(struct ring *r)
{
	return r->stamps == RING_STAMPS_COUNTER ? ring_next_number(r) : ring_clock();
}
static inline uint64_t ring_now(const struct ring *r)
{
	return r->stamps == RING_STAMPS_COUNTER ? load_relaxed(&r->counter) : ring_clock();
}

/* ring_stamp() of ring_top, for entry points that do not read the processor's counter. */
uint64_t ring_stamp_top(void);

/*
 * Give the calling thread a control block before its first record. Normal context. @comm: the name
 * of a thread that may make no system call.
 */
void ring_thread_start(const char *comm);

/* Whether this is a fork's child without a ring of its own. Any context. */
int ring_is_forks_child(void);

/* Whether there is a ring, and this is its process or a vfork's child. Any context. */
int ring_is_awake(void);

/* The thread ends: publish its pages, store its name, free its block. Normal context. */
void ring_thread_end(void);

/*
 * ring_thread_forbid() - the calling thread will not be able to read the counter any more
 * (PR_SET_TSC, strict seccomp): it makes no more records; its calls are counted as untraced.
 * ring_thread_allow() - that failed.
 */
void ring_thread_forbid(void);
void ring_thread_allow(void);

/* The control block of threads that may not read the counter: the entry points compare with it. */
extern struct ring_ctl ring_forbidden_ctl;

/*
 * ring_jump() - longjmp() is about to leave all frames below @sp. If the slow path is among them,
 * it is ended; otherwise its block would stay busy. Any context.
 */
void ring_jump(uint64_t sp);

/* What a forking handler had interrupted; the child continues there. */
enum ring_interrupted { RING_NOTHING, RING_WRITER, RING_SLOW_PATH };
enum ring_interrupted ring_interrupted(void);

/*
 * Count a call that makes no record. ring_count_nested(): a handler interrupted the engine itself
 * (commit_overrun of this CPU). The others: the thread or its stack cannot be traced
 * (untraced_calls). Any context.
 */
void ring_count_nested(struct ring *r);
void ring_count_untraced(void);

/* Count a record that is lost because it is larger than a page (dropped_events). Any context. */
void ring_count_dropped(struct ring *r);

/* The calling thread's name, as last read, and its id. Any context. */
const char *ring_thread_comm(void);
int ring_thread_id(void);

/* The CPU of the record that is being made. Any context. */
uint32_t ring_record_cpu(void);

/*
 * Read the calling thread's name again. Normal context: it makes a system call. @name: the name of
 * a thread that may make no system call; NULL: not known, the old one stays.
 */
void ring_thread_rename(const char *name);

#endif
