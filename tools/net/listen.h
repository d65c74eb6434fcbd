/* SPDX-License-Identifier: MIT */
/*
 * A server that takes recordings of other hosts: `trace-cmd record -N` and `vestige record -N` send
 * them. Each sender has a process of its own and can harm only its own recording. Senders are not
 * trusted: lengths are checked, names are made of numbers, and sizes, numbers and waits have
 * bounds. Pages that arrived whole are kept, however the sender ends.
 */
#ifndef VESTIGE_TOOLS_NET_LISTEN_H
#define VESTIGE_TOOLS_NET_LISTEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct listen_options {
	const char *address, *port;    /* where it listens; port "0": a free one */
	const char *dir;	       /* the files' folder */
	const char *prefix;	       /* of PREFIX.HOST:PORT.dat */
	const char *log;	       /* lines go to this file; NULL: stdout */
	unsigned long long clients;    /* at a time */
	unsigned long long recordings; /* end after that many; 0: never */
	uint64_t max_bytes, max_total; /* of one recording; of all */
	bool daemon;
};

/*
 * listen_run() - until SIGINT or SIGTERM; senders that are connected end then, and their files are
 * written. Once in this process. Return: 0 or -errno with fail() set.
 */
int listen_run(const struct listen_options *o);

/* What a sender's process needs. */
struct listen_client {
	int fd;		  /* the connection, which is closed */
	int dir;	  /* the files' folder */
	const char *name; /* of the sender, for the file's name: see net_name() */
	const char *prefix;
	uint64_t max_bytes, max_total;
	unsigned int quiet_ms;	 /* at the end: sockets that are silent for so long have no more */
	_Atomic uint64_t *total; /* bytes of all recordings, shared by the senders' processes */
	/* A line about the recording. @file: NULL, or the name of a file that was written. */
	void (*report)(void *arg, const char *file, const char *line);
	void *arg;
};

/*
 * listen_client_serve() - take one recording. SIGTERM ends it: what has come is written. Once in a
 * process, but for tests.
 */
void listen_client_serve(const struct listen_client *c);

#endif
