/* SPDX-License-Identifier: MIT */
/* See net_io.h. Tests: tests/cli/test_listen.py. */
#include "tools/net/net_io.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/time_ns.h"

#define KEEP_IDLE_S                                                                                \
	30 /* then a probe, and one each KEEP_EACH_S; KEEP_MISSED without an answer end it */
#define KEEP_EACH_S 10
#define KEEP_MISSED 3

uint64_t net_deadline(void)
{
	return time_ns(CLOCK_MONOTONIC) + NET_PATIENCE_NS;
}

/* Wait for @events. Return: 0, -ETIMEDOUT, or -errno. */
static int await(int fd, short events, uint64_t deadline)
{
	for (;;) {
		struct pollfd p = {fd, events, 0};
		uint64_t now = time_ns(CLOCK_MONOTONIC);
		int n;

		if (now >= deadline)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)((deadline - now) / 1000000 + 1));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

int net_read(int fd, void *to, size_t n, uint64_t deadline)
{
	for (size_t done = 0; done < n;) {
		int err = await(fd, POLLIN, deadline);
		ssize_t got;

		if (err)
			return err;
		got = recv(fd, (char *)to + done, n - done, MSG_DONTWAIT);
		if (!got)
			return -ECONNRESET;
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		done += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

int net_write(int fd, const void *from, size_t n, uint64_t deadline)
{
	for (size_t done = 0; done < n;) {
		ssize_t put =
			send(fd, (const char *)from + done, n - done, MSG_DONTWAIT | MSG_NOSIGNAL);
		int err;

		if (put < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		done += put > 0 ? (size_t)put : 0;
		err = done < n ? await(fd, POLLOUT, deadline) : 0;
		if (err)
			return err;
	}
	return 0;
}

int net_read_word(int fd, char *to, size_t room, uint64_t deadline)
{
	for (size_t i = 0; i < room; i++) {
		int err = net_read(fd, to + i, 1, deadline);

		if (err || !to[i])
			return err;
	}
	return -EPROTO;
}

int net_read_msg(int fd, uint8_t *bytes, struct msg *m, uint64_t deadline)
{
	int err = net_read(fd, bytes, MSG_HEAD_BYTES, deadline);
	uint32_t size = err ? 0 : msg_size(bytes);

	if (err)
		return err;
	if (!size)
		return -EPROTO;
	err = net_read(fd, bytes + MSG_HEAD_BYTES, size - MSG_HEAD_BYTES, deadline);
	return err ? err : msg_parse(bytes, size, m);
}

void net_tune(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {{IPPROTO_TCP, TCP_NODELAY, 1},
		       {SOL_SOCKET, SO_KEEPALIVE, 1},
		       {IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S},
		       {IPPROTO_TCP, TCP_KEEPINTVL, KEEP_EACH_S},
		       {IPPROTO_TCP, TCP_KEEPCNT, KEEP_MISSED}};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			   sizeof(options[i].value));
}

/* Return: a socket, -errno. */
static int connect_to(const struct sockaddr *a, socklen_t bytes)
{
	int fd = socket(a->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err = 0;
	socklen_t n = sizeof(err);

	if (fd < 0)
		return -errno;
	if (connect(fd, a, bytes) && errno != EINPROGRESS)
		err = -errno;
	if (!err)
		err = await(fd, POLLOUT, net_deadline());
	if (!err && (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n) || err))
		err = err ? -err : -errno;
	if (err) {
		close(fd);
		return err;
	}
	net_tune(fd);
	return fd;
}

/* Split `HOST:PORT` at its last colon. */
static int part(const char *where, char *host, size_t host_room, const char **port)
{
	const char *colon = strrchr(where, ':');
	size_t n = colon ? (size_t)(colon - where) : 0;

	if (n && where[0] == '[' && where[n - 1] == ']') {
		where++;
		n -= 2;
	}
	if (!n || n >= host_room || !colon[1])
		return fail(EINVAL, "%s is not HOST:PORT", where);
	memcpy(host, where, n);
	host[n] = '\0';
	*port = colon + 1;
	return 0;
}

static int resolve(const char *host, const char *port, int type, struct addrinfo **list)
{
	struct addrinfo hints = {.ai_socktype = type, .ai_flags = AI_PASSIVE};
	int err = getaddrinfo(host, port, &hints, list);

	return err ? fail(EINVAL, "%s:%s: %s", host, port, gai_strerror(err)) : 0;
}

int net_connect(const char *where)
{
	struct addrinfo *list, *a;
	const char *port = NULL;
	char host[256];
	int fd = -1, err = part(where, host, sizeof(host), &port);

	if (!err)
		err = resolve(host, port, SOCK_STREAM, &list);
	if (err)
		return err;
	for (a = list; a && fd < 0; a = a->ai_next)
		fd = connect_to(a->ai_addr, a->ai_addrlen);
	freeaddrinfo(list);
	return fd < 0 ? fail_errno(-fd, "cannot connect to %s", where) : fd;
}

static void set_port(struct sockaddr_storage *a, uint16_t port)
{
	if (a->ss_family == AF_INET)
		((struct sockaddr_in *)a)->sin_port = htons(port);
	if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = htons(port);
}

int net_connect_beside(int fd, uint16_t port)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);
	int ret;

	if (getpeername(fd, (struct sockaddr *)&a, &n))
		return fail_errno(errno, "the connection has ended");
	set_port(&a, port);
	ret = connect_to((struct sockaddr *)&a, n);
	return ret < 0 ? fail_errno(-ret, "cannot connect to port %u of the listener", port) : ret;
}

/* Return: a socket, -errno. */
static int bind_to(const struct sockaddr *a, socklen_t bytes, int type)
{
	int fd = socket(a->sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		return -errno;
	if (type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, a, bytes) || (type == SOCK_STREAM && listen(fd, 16))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

int net_bind(const char *host, const char *port, int type)
{
	struct addrinfo *list, *a;
	int fd = -1, err = resolve(host, port, type, &list);

	if (err)
		return err;
	for (a = list; a && fd < 0; a = a->ai_next)
		fd = bind_to(a->ai_addr, a->ai_addrlen, type);
	freeaddrinfo(list);
	return fd < 0 ? fail_errno(-fd, "cannot listen at %s:%s", host, port) : fd;
}

int net_bind_beside(int fd, int type, uint16_t *port)
{
	struct sockaddr_storage a = {0};
	socklen_t n = sizeof(a);
	int ret;

	if (getsockname(fd, (struct sockaddr *)&a, &n))
		return fail_errno(errno, "the connection has ended");
	if (a.ss_family != AF_INET && a.ss_family != AF_INET6) {
		((struct sockaddr_in *)&a)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		a.ss_family = AF_INET;
		n = sizeof(struct sockaddr_in);
	}
	set_port(&a, 0);
	ret = bind_to((struct sockaddr *)&a, n, type);
	if (ret < 0)
		return fail_errno(-ret, "cannot make a socket for a CPU");
	n = sizeof(a);
	getsockname(ret, (struct sockaddr *)&a, &n);
	*port = ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port
					     : ((struct sockaddr_in6 *)&a)->sin6_port);
	return ret;
}

const char *net_name(const struct sockaddr *a, socklen_t bytes, char *to, size_t room)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo(a, bytes, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(to, room, "local");
	else
		snprintf(to, room, "%s:%s", host, port);
	for (char *p = to; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr(".:_-", *p))
			*p = '_';
	return to;
}
