/* SPDX-License-Identifier: MIT */
/*
 * The difference of two hosts' clocks by trace-cmd's protocol `ptp`: one side sends 339 probes and
 * notes when each goes and its answer comes, the other one notes when it has each. The listener sends
 * the probes (in trace-cmd the guest does), since the sender of the probes learns how large the
 * error can be. Both take CLOCK_MONOTONIC, the clock of recordings, in their own time namespaces.
 */
#ifndef VESTIGE_TOOLS_NET_TSYNC_H
#define VESTIGE_TOOLS_NET_TSYNC_H

#include <stdint.h>

#define TSYNC_PROBES 339u

struct tsync {
	int64_t offset_ns; /* to be added to the sender's stamps; they are the listener's then */
	uint64_t at_ns;	   /* when it was so, in the listener's clock */
	uint64_t error_ns; /* the offset is off by at most that */
};

/* tsync_measure() - the listener's side of one series. Return: 0, -EPROTO, or as net_read(). */
int tsync_measure(int fd, struct tsync *out);

/*
 * tsync_answer() - the sender's side of one series. @out: what the listener says; error_ns is 0.
 * Return: as tsync_measure().
 */
int tsync_answer(int fd, struct tsync *out);

/* Messages of the protocol "none", by which trace-cmd asks for a series, and ends all of them. */
#define TSYNC_NONE  "none"
#define TSYNC_PROBE 1u
#define TSYNC_STOP  2u

#endif
