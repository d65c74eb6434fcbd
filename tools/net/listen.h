/* SPDX-License-Identifier: MIT */
/*
 * A server that receives recordings of other hosts: `trace-cmd record -N` and `vestige record -N`
 * send them. A process of its own serves each sender, so a sender can harm only its own recording.
 * Senders are untrusted: lengths are checked, file names have only numbers, and sizes, counts and
 * waiting times are limited. Complete pages are kept, however the sender ends.
 */
#ifndef VESTIGE_TOOLS_NET_LISTEN_H
#define VESTIGE_TOOLS_NET_LISTEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct listen_options {
	const char *address, *port;    /* where it listens; port "0": a free one */
	const char *dir;	       /* the files' folder */
	const char *prefix;	       /* files are PREFIX.HOST:PORT.dat */
	const char *log;	       /* messages go to this file; NULL: stdout */
	unsigned long long clients;    /* most senders at a time */
	unsigned long long recordings; /* end after this number of recordings; 0: never */
	uint64_t max_bytes, max_total; /* limits: of one recording; of all together */
	bool daemon;
};

/*
 * listen_run() - serve until SIGINT or SIGTERM. Then the connections are closed and their files are
 * written. To be called once in a process. Return: 0 or -errno with fail() set.
 */
int listen_run(const struct listen_options *o);

/* The data for the process that serves one sender. */
struct listen_client {
	int fd;		  /* the connection; listen_client_serve() closes it */
	int dir;	  /* the files' folder */
	const char *name; /* of the sender, for the file's name: see net_name() */
	const char *prefix;
	uint64_t max_bytes, max_total;
	unsigned int quiet_ms;	 /* at the end: sockets without data for this time count as ended */
	_Atomic uint64_t *total; /* bytes of all recordings, shared by the senders' processes */
	/* A line about the recording. @file: NULL, or the name of a file that was written. */
	void (*report)(void *arg, const char *file, const char *line);
	void *arg;
};

/*
 * listen_client_serve() - receive one recording. SIGTERM ends it, and the data received so far are
 * written. Once in a process, except in tests.
 */
void listen_client_serve(const struct listen_client *c);

#endif
