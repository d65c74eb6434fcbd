/* SPDX-License-Identifier: MIT */
/*
 * Bytes and messages over a connection, each with a deadline: a time of CLOCK_MONOTONIC in ns by
 * which the whole message must have gone or come. A peer that sends a byte a second gains nothing.
 * Any thread; descriptors are the caller's.
 */
#ifndef VESTIGE_TOOLS_NET_IO_H
#define VESTIGE_TOOLS_NET_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tools/net/msg.h"

#define NET_PATIENCE_NS UINT64_C(5000000000) /* of one step of the protocol */

/* The deadline of a step that begins now. */
uint64_t net_deadline(void);

/*
 * net_read() - @n bytes. net_write() - the same. Return: 0; -ETIMEDOUT; -ECONNRESET the peer has
 * closed, also in the middle; or another -errno of the socket. No SIGPIPE.
 */
int net_read(int fd, void *to, size_t n, uint64_t deadline);
int net_write(int fd, const void *from, size_t n, uint64_t deadline);

/* A word up to its NUL. Return: as net_read(); -EPROTO: it is longer than @room with the NUL. */
int net_read_word(int fd, char *to, size_t room, uint64_t deadline);

/* A message into @bytes, of MSG_MAX_BYTES. Return: as net_read(); -EPROTO: its lengths are wrong. */
int net_read_msg(int fd, uint8_t *bytes, struct msg *m, uint64_t deadline);

/*
 * net_connect() - a connection to `HOST:PORT`, `[V6]:PORT`, without delay of small messages. Return:
 * a descriptor, or -errno with fail() set.
 */
int net_connect(const char *where);

/* The same to a port of the peer of @fd. */
int net_connect_beside(int fd, uint16_t port);

/*
 * net_bind() - a socket that listens at @host. @port: "0": any that is free. @type: SOCK_STREAM, or
 * SOCK_DGRAM, which is bound alone. Return: as net_connect().
 */
int net_bind(const char *host, const char *port, int type);

/* A socket on the address at which @fd is connected, on a free port. Return: as net_connect(). */
int net_bind_beside(int fd, int type, uint16_t *port);

/* Small messages go at once, and a peer that is gone is noticed in the end. */
void net_tune(int fd);

/*
 * net_name() - `HOST:PORT` of an address, HOST as numbers: [A-Za-z0-9.:_-] alone, so it fits in the
 * name of a file. Return: @to.
 */
const char *net_name(const struct sockaddr *a, socklen_t bytes, char *to, size_t room);

#endif
