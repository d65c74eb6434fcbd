/* SPDX-License-Identifier: MIT */
/*
 * What perf_event_open() tells of this process's own threads. One ring for each CPU, into which events
 * of any number of kinds write; each kind has an event for each thread and CPU, which the threads that
 * they make inherit. All of it is the agent's: its descriptors, its thread, under the tree's lock.
 */
#ifndef VESTIGE_CORE_PERF_H
#define VESTIGE_CORE_PERF_H

#include <linux/perf_event.h>
#include <stdint.h>

#define PERF_MAX_KINDS 8u

/* One record of a ring. */
struct perf_record {
	uint32_t kind; /* of the event that made it, PERF_MAX_KINDS: unknown */
	uint64_t id;   /* of the event: the same for what inherited it */
	uint32_t type; /* PERF_RECORD_* */
	uint32_t misc;
	uint32_t cpu;
	int32_t tid;	    /* who ran */
	uint64_t ns;	    /* CLOCK_MONOTONIC */
	uint64_t lost;	    /* PERF_RECORD_LOST: how many */
	const uint8_t *raw; /* PERF_RECORD_SAMPLE of a tracepoint */
	uint32_t raw_bytes;
};

/*
 * perf_open() - have a kind of event from now on, of all threads but the caller's.
 * @attr: its type, config and what else is the kind's own. Agent's thread.
 * Return: 0 or -errno, and none is had: -EACCES, -EPERM not allowed, -EMFILE, -ENOMEM, -ENOENT.
 */
int perf_open(uint32_t kind, const struct perf_event_attr *attr);
void perf_close(uint32_t kind);

/*
 * perf_read() - each record of all rings so far, in order of their times; they are then gone.
 * Any thread, signals blocked: it makes no system call.
 */
void perf_read(void (*record)(const struct perf_record *rec));

/* Descriptors that become readable when a ring is half full. Return: how many, at most @max. */
uint32_t perf_descriptors(int *fds, uint32_t max);

/* In a fork's child: the rings are not mapped, the descriptors not there. */
void perf_fork(void);

#endif
