/* SPDX-License-Identifier: MIT */
/*
 * The ring: pages in the area, one writer a page.
 *
 * A thread writes into a page that it owns; the page belongs to the CPU on which it was taken, and
 * a thread that has moved takes another one. Memory is bounded by the pool and not by the number
 * of threads. The hot path is in hook/<cpu>/entry.S; here is what it falls back to when its page is
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
 * Threads whose calls set_ftrace_pid leaves out have a cpu_key of 0 always: their calls find in the
 * slow path that they make no record. Events of such threads have a key of their own.
 *
 * A handler that interrupts the slow path itself records through a second block, with a page of its
 * own, for as long as it runs. One that leaves by longjmp() leaves a writer that never ends: its page
 * is held back until the thread ends or has too many of the kind.
 *
 * There is a ring for each instance: ring_top, whose blocks the hooks in assembler use, and others,
 * which C writes (ring_write.h). A thread has a control block in each ring that it wrote to.
 *
 * fork: control blocks lie in memory that the child finds zeroed, so its first record takes the
 * slow path, which refuses it; a writer that a forking handler interrupted finds no page in its block,
 * or goes on writing to what is only an image of its parent's page. Costs: bench/entry.c. Tests: tests/engine/.
 */
#ifndef VESTIGE_RING_H
#define VESTIGE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "abi/area.h"
#include "abi/page.h"
#include "abi/record.h"
#include "arch_barrier.h"

struct pid_list;

#define RING_MAX       17u /* the top instance's and 16 more */
#define RING_MAX_HELD  6
#define RING_MAX_CPUS  4096u /* that tracing_cpumask can leave out */
#define RING_MIN_PAGES 16u   /* with fewer a CPU has no page for each of a few threads */

/* A thread's control block. What entry.S reads has its offsets checked in hook/<cpu>/offsets.h. */
struct ring_ctl {
	struct page_head *page;
	uint32_t cpu_key; /* the page's CPU ^ RING_CPU_KEY; 0: go the slow path */
	uint32_t nest;	  /* xadd writers that have reserved and not finished, on this thread */
	uint32_t
		aborts; /* rseq restarts: every 32nd takes xadd, or a stepping debugger would hang */
	uint32_t page_nest; /* at which the page was taken, or the lowest of its xadd writers */
	uint32_t busy;	    /* inside the slow path */
	uint32_t task;	    /* row in AREA_TASKS */
	uint32_t page_index;
	uint32_t nr_held;
	uint32_t nr_fits; /* how often its page was right as it was when it was asked for another */
	struct {
		uint32_t page_index;
		uint32_t nest;
	} held[RING_MAX_HELD];	 /* left above an unfinished writer; oldest first, nest rises */
	uint64_t failed_gen;	 /* reader_gen when last no page was free */
	uint64_t busy_at;	 /* the slow path's frame */
	uint32_t event_key;	 /* as cpu_key, for what set_ftrace_pid has no say in */
	struct ring_ctl *nested; /* for handlers that interrupt this one's slow path; made once */
	struct ring_ctl *below;	 /* whose nested this is */
	uint32_t ring;		 /* index of the ring into which it writes */
	uint32_t inside;	 /* ring_enter(), in the thread's block of ring_top */
	uint64_t inside_at;	 /* ... and the frame of the first of them */
	/* what was said last in this page of what holds for the records behind it; 0 in a new page, or
	 * when that is not sure: the low half is the writer's, the other one counts changes */
	uint64_t told;
	/* func-no-repeats (core/func_repeats.h): the last call, and how often it came again since */
	uint64_t call_parent, call_stamp;
	uint32_t call_id, call_repeats;
	uint32_t call_busy;
	int32_t tid; /* 0: the block is free, or this is a fork's child. Last: see ctl_clear() */
} __attribute__((aligned(128)));

#define RING_CPU_KEY 0x5a000000u

/* What ring_new_page() tells the hook. */
enum ring_verdict {
	RING_SKIP = 0,	/* no record: off, refused or counted as lost */
	RING_RETRY = 1, /* the page is right now */
	RING_XADD = 2,	/* this thread has no rseq: take the other path */
};

/* What a record's stamp is. */
enum ring_stamps {
	RING_STAMPS_CLOCK,   /* the area's clock */
	RING_STAMPS_COUNTER, /* trace_clock counter: the number of the record */
	RING_STAMPS_NONE, /* trace_clock none: 0, so that those of the hooks and of C keep their order */
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
	uint32_t nr_cpus;
	uint32_t index; /* in rings[] */
	uint32_t gen;	/* one more each time that the index serves another instance */
	uint32_t buffer_index;
	/* who swaps, 0 nobody, and the frame in which: see ring_jump() */
	uint32_t swapping;
	uint64_t swapping_at;
	uint32_t on;	  /* tracing_on */
	uint32_t paused;  /* so many want nothing to be recorded meanwhile */
	uint32_t running; /* on, and not paused */
	uint32_t stamps;  /* enum ring_stamps */
	uint64_t counter; /* the last number that a record has */
	/* set_ftrace_pid: the calls of these threads alone; of all but those. NULL: there is no list */
	const struct pid_list *pids, *no_pids;
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

/* For which instance of that index the block is; not of ring_top, which stays. */
extern __thread uint32_t ring_gen[RING_MAX] __attribute__((tls_model("initial-exec")));

/* See ring_block(). Any context. */
void ring_renew(const struct ring *r);

/* Offset of struct rseq from the thread pointer; 0 if the process has none. entry.S loads it. */
extern ptrdiff_t ring_rseq_offset;

/*
 * ring_use_stamps() - trace_clock: what stamps are, from now on. What is in the buffer goes. One caller
 * at a time; of ring_top nothing is armed.
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
 * ring_fork_instance() - the same of an instance, before anything is recorded; @to: NULL: the child does
 * not have it.
 */
void ring_fork(const struct ring *ring);
void ring_fork_instance(struct ring *r, const struct ring *to);

/*
 * ring_open() - a ring for one more instance.
 * @ring: as for ring_start(). Return: it, or NULL: there are RING_MAX. One caller at a time.
 */
struct ring *ring_open(const struct ring *ring);

/*
 * ring_close() - the instance goes: nobody writes into its ring any more when this returns, nor has
 * a block for it. No writer may find it any more. One caller at a time, not between ring_enter()
 * and ring_leave().
 * Return: 0; -ETIMEDOUT: as ring_synchronize(); the ring's memory has to stay then, and the index
 * is not used again.
 */
int ring_close(struct ring *r);

/*
 * ring_enter() - from here to ring_leave() what was found meanwhile (an instance's ring, a list of
 * those that want calls) stays. May nest. Any context; no system call but on a thread's first record.
 * Return: what ring_leave() wants; NULL: this thread records nothing, and calls no ring_leave().
 */
struct ring_ctl *ring_enter(void);

static inline void ring_leave(struct ring_ctl *ctl)
{
	__asm__ volatile("" ::: "memory");
	/* 0 in a fork's child, where a handler forked meanwhile, and behind ring_jump() */
	if (ctl->inside)
		ctl->inside--;
}

/*
 * ring_synchronize() - wait until every thread that is between ring_enter() and ring_leave() has
 * come out. Return: 0; -ETIMEDOUT: one did not within a second: it is stopped, or a signal handler
 * left it by longjmp().
 */
int ring_synchronize(void);

/*
 * ring_rethink() - each thread's next record in any ring takes the slow path, and finds nothing
 * told. From any thread.
 */
void ring_rethink(void);

/* Switch recording on or off (tracing_on). From any thread. */
void ring_set_on(struct ring *r, int on);
static inline int ring_is_on(const struct ring *r)
{
	return (int)load_relaxed(&r->on);
}

/* One more, or less, wants that nothing is recorded for now, whatever tracing_on says. One caller at a time. */
void ring_pause(struct ring *r, int more);

/*
 * ring_set_cpumask() - tracing_cpumask: records are made on these CPUs alone, from when it returns.
 * What runs on others asks for a page and gets none, for each record; nothing is tested where the mask
 * is full. @off: a bit for each CPU that makes none, RING_MAX_CPUS of them. One caller at a time.
 */
void ring_set_cpumask(struct ring *r, const uint64_t *off);

static inline int ring_cpu_is_off(const struct ring *r, uint32_t cpu)
{
	return load_relaxed(&r->some_cpus_off) && cpu < RING_MAX_CPUS &&
	       (load_relaxed(&r->cpus_off[cpu / 64]) >> (cpu % 64) & 1);
}

/*
 * ring_clear() - what was recorded on a CPU is gone, and its losses begin at 0.
 * @cpu: UINT32_MAX: on all of them. Records that are made meanwhile may go or stay. Any thread.
 */
void ring_clear(struct ring *r, uint32_t cpu);

/*
 * ring_resize() - change the quota of one CPU while threads write.
 * @pages: RING_MIN_PAGES or more; descriptors and addresses are there (area_cpu_reach).
 * Smaller: what is published moves into the pages that stay, the oldest are overwritten when they do
 * not fit; a page that a thread owns follows when it is published. One caller at a time.
 * Return: 0; -ENOSPC: no memory for what it had before.
 */
int ring_resize(struct ring *r, uint32_t cpu, uint32_t pages);

/*
 * ring_snapshot() - what was recorded becomes the snapshot, in place of what was the snapshot, and
 * the buffer is empty: tracing_snapshot(). The moment of the call parts all threads' records: those
 * that are being made belong to one side or the other. Recording goes on, or stays off.
 * @cpu: of this one alone; UINT32_MAX: of all.
 * Return: 0; -ENODEV: none is allocated; -EBUSY: another snapshot is being taken at this moment.
 * Any context: no lock, no system call. Costs a store for each thread and a look at each page.
 */
int ring_snapshot(struct ring *r, uint32_t cpu);

/*
 * ring_snapshot_alloc() - have the memory for it; area_cpu_reach_spare() was called for each CPU. ring_snapshot_free() - give it back; ring_snapshot_clear()
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

/* Give the calling thread a control block ahead of its first record. Normal context. */
void ring_thread_start(void);

/* Whether this is a fork's child that has no ring of its own yet, or never will. Any context. */
int ring_is_forks_child(void);

/* The thread ends: publish its pages, note its name, free its block. Normal context. */
void ring_thread_end(void);

/*
 * The calling thread is about to lose the right to read the counter (PR_SET_TSC, strict seccomp): it
 * records no more, its calls are counted as untraced. ring_thread_allow(): it came to nothing.
 */
void ring_thread_forbid(void);
void ring_thread_allow(void);

/* System calls may be fatal from now on (a seccomp filter): the ring adds no memory any more. */
void ring_forbid_growth(void);

int ring_growth_forbidden(void);

/*
 * ring_jump() - longjmp() is about to leave all frames below @sp: a slow path among them, which would
 * keep its block busy for good, is ended. Any context.
 */
void ring_jump(uint64_t sp);

/* What a handler interrupted that now forks: the child goes on there. */
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

/* Read the calling thread's name again. Normal context: it makes a system call. */
void ring_thread_rename(void);

#endif
