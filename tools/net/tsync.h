/* SPDX-License-Identifier: MIT */
/*
 * Measures the difference of two hosts' clocks by trace-cmd's protocol `ptp`. One side sends 339
 * probes and takes the times of each probe and of its answer; the other side takes the times at
 * which probes arrive. The listener sends the probes (in trace-cmd the guest does), since only the
 * side that sends them can compute the greatest error. Both use CLOCK_MONOTONIC, the clock of
 * recordings, each in its own time namespace.
 */
#ifndef VESTIGE_TOOLS_NET_TSYNC_H
#define VESTIGE_TOOLS_NET_TSYNC_H

#include <stdint.h>

#define TSYNC_PROBES 339u

struct tsync {
	int64_t offset_ns; /* stamp of the sender + offset_ns = stamp of the listener */
	uint64_t at_ns;	   /* time of the measurement, by the listener's clock */
	uint64_t error_ns; /* greatest error of the offset */
};

/* tsync_measure() - the listener's side of one series. Return: 0, -EPROTO, or as net_read(). */
int tsync_measure(int fd, struct tsync *out);

/*
 * tsync_answer() - the sender's side of one series. @out: gets the listener's result; error_ns is
 * 0.
 * Return: as tsync_measure().
 */
int tsync_answer(int fd, struct tsync *out);

/*
 * Messages of the protocol "none", by which trace-cmd requests a series, or ends the
 * synchronization.
 */
#define TSYNC_NONE  "none"
#define TSYNC_PROBE 1u
#define TSYNC_STOP  2u

#endif
