/* SPDX-License-Identifier: MIT */
/*
 * Events by perf_event_open(). There is one ring for each CPU, into which events of any number of
 * kinds write. A kind has an event for each of this process's threads and each CPU, which new
 * threads inherit; or, if that is allowed, one event for each CPU and any thread on it. The agent
 * owns all descriptors; all functions run in its thread, under the tree lock, unless their comment
 * says otherwise.
 */
#ifndef VESTIGE_PROCESS_PERF_H
#define VESTIGE_PROCESS_PERF_H

#include <linux/perf_event.h>
#include <stdint.h>

#define PERF_MAX_KINDS 24u

/* One record of a ring. */
struct perf_record {
	uint32_t kind; /* kind of the event; PERF_MAX_KINDS: unknown */
	uint64_t id;   /* id of the event; inherited events have the same */
	uint32_t type; /* PERF_RECORD_* */
	uint32_t misc;
	uint32_t cpu;
	int32_t pid, tid; /* the thread that ran */
	uint64_t ns;	  /* CLOCK_MONOTONIC */
	uint64_t lost;	  /* PERF_RECORD_LOST: number of lost records */
	/* PERF_RECORD_FORK: the new task, and its parent; PERF_RECORD_EXIT: the ending task */
	struct {
		int32_t pid, ppid, tid, ptid;
	} task;
	/* PERF_RECORD_SAMPLE of a kind with PERF_SAMPLE_IP, PERF_SAMPLE_ADDR in its sample_type */
	uint64_t ip, addr;
	const uint8_t *raw; /* PERF_RECORD_SAMPLE of a tracepoint */
	uint32_t raw_bytes;
	/*
	 * of a kind with PERF_SAMPLE_STACK_USER, if the thread has user code: its registers
	 * (ARCH_PERF_REGS), and its stack from the stack pointer on; NULL: none
	 */
	const uint64_t *regs;
	const uint64_t *stack;
	uint32_t stack_bytes;
	const uint8_t *branches; /* nr_branches, latest first; see perf_sample_branch() */
	uint32_t nr_branches;
};

/*
 * perf_open() - open a kind of event for all threads except the caller. @attr: its type, config and
 * other settings. In the agent. Return: 0; -errno, and none is open: -EACCES, -EPERM: not allowed;
 * -EMFILE, -ENOMEM, -ENOENT.
 */
int perf_open(uint32_t kind, const struct perf_event_attr *attr);
void perf_close(uint32_t kind);

/*
 * perf_open_cpus() - open a kind of event for each CPU and any thread on it, or change it. @filter:
 * of a tracepoint, as in its filter file; NULL: none. The kernel cannot change a filter, so a kind
 * that is open is opened again before the old one is closed; meanwhile both may report an event.
 * Return: as perf_open(); after an error the old kind stays as it was.
 */
int perf_open_cpus(uint32_t kind, const struct perf_event_attr *attr, const char *filter);

/*
 * perf_read() - call @record for each record of all rings that is older than @until
 * (CLOCK_MONOTONIC, ns), sorted by time, and remove it. If @until was read before the call, the
 * rings have all older records by then, except one that a CPU is just writing. Any thread, signals
 * blocked: it makes no system call.
 */
void perf_read(uint64_t until, void (*record)(const struct perf_record *rec));

/* Get descriptors that become readable when a ring is half full. Return: how many, at most @max. */
uint32_t perf_descriptors(int *fds, uint32_t max);

/* In a fork's child: the rings are not mapped, and the descriptors do not exist. */
void perf_fork(void);

#endif
