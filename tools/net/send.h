/* SPDX-License-Identifier: MIT */
/*
 * Sends a recording to a listener: `vestige listen`, or trace-cmd's. The connection is made before
 * the program runs, so an error comes early. The clocks are compared then and at the end. The
 * recording is sent when it is complete.
 */
#ifndef VESTIGE_TOOLS_NET_SEND_H
#define VESTIGE_TOOLS_NET_SEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct net_sender;

struct net_watch {
	const atomic_bool *stop; /* when it is set, sending ends with EINTR */
	/* Called now and then: bytes that were sent, of all. */
	void (*step)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/*
 * net_sender_open() - connect to @where, HOST:PORT, and compare the clocks if the listener can.
 * @out: closed with net_sender_close(). Return: 0 or -errno with fail() set.
 */
int net_sender_open(const char *where, struct net_sender **out);

/* Whether the listener compares clocks. */
bool net_sender_synced(const struct net_sender *s);

/*
 * net_sender_send() - send a trace.dat of version 6 and wait until the listener has all of it. Once
 * a connection. @w: borrowed until it returns. Return: as above.
 */
int net_sender_send(struct net_sender *s, const char *path, const struct net_watch *w);

void net_sender_close(struct net_sender *s); /* NULL: nothing */

#endif
