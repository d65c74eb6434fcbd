/* SPDX-License-Identifier: MIT */
/*
 * Bytes and messages over a connection, each with a deadline: a time of CLOCK_MONOTONIC in ns at
 * which the whole message must have been sent or received. So a peer cannot delay us by single
 * bytes. Any thread; descriptors are the caller's.
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
 * net_read() - receive @n bytes. net_write() - send them, without SIGPIPE. Return: 0; -ETIMEDOUT;
 * -ECONNRESET: the peer has closed the connection, also in the middle; or another -errno of the
 * socket.
 */
int net_read(int fd, void *to, size_t n, uint64_t deadline);
int net_write(int fd, const void *from, size_t n, uint64_t deadline);

/* Receive a word with its NUL. Return: as net_read(); -EPROTO: it is longer than @room. */
int net_read_word(int fd, char *to, size_t room, uint64_t deadline);

/*
 * Receive a message. @bytes: room for MSG_MAX_BYTES, which @m borrows. Return: as net_read();
 * -EPROTO: its lengths are not valid.
 */
int net_read_msg(int fd, uint8_t *bytes, struct msg *m, uint64_t deadline);

/*
 * net_connect() - connect to `HOST:PORT` or `[V6]:PORT`; small messages are not delayed. Return:
 * a descriptor, or -errno with fail() set.
 */
int net_connect(const char *where);

/* The same to a port of the peer of @fd. */
int net_connect_beside(int fd, uint16_t port);

/*
 * net_bind() - a socket bound to @host. @port: "0": any free port. @type: SOCK_STREAM, which also
 * listens, or SOCK_DGRAM. Return: as net_connect().
 */
int net_bind(const char *host, const char *port, int type);

/*
 * The same on our address of the connection @fd. @port: gets the free port. Return: as
 * net_connect().
 */
int net_bind_beside(int fd, int type, uint16_t *port);

/* Set TCP options: small messages are sent at once, and a peer that is gone is detected. */
void net_tune(int fd);

/*
 * net_name() - write `HOST:PORT` of an address to @to, HOST as numbers. It has only characters of
 * [A-Za-z0-9.:_-], so it can be a part of a file's name. Return: @to.
 */
const char *net_name(const struct sockaddr *a, socklen_t bytes, char *to, size_t room);

#endif
