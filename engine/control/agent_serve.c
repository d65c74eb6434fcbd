/* SPDX-License-Identifier: MIT */
/*
 * One request of the tools: read it, carry it out and answer it (abi/agent.h). Owns the memory of
 * requests and answers. A client has two seconds to send its request and two to take the answer, in
 * any number of pieces. In the agent. fork: the child uses the same memory. Tests:
 * tests/engine/fire/agent.
 */
#include "engine/control/agent_serve.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "abi/agent.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/control/agent.h"
#include "engine/control/tree.h"
#include "engine/ring/ring.h"

#define TIMEOUT_MS 2000
#define SLICE_MS   50 /* how soon a wait ends when the agent is to end */

static uint8_t *payload; /* of AGENT_MAX_PAYLOAD bytes */

int agent_serve_start(void)
{
	if (payload)
		return 0;
	payload = sys_map_table(AGENT_MAX_PAYLOAD);
	return payload ? 0 : -ENOMEM;
}

static uint64_t now_ms(void)
{
	return ring_clock_mono() / 1000000;
}

/* Wait until @fd is ready. @events: POLLIN or POLLOUT. @until: ms. Return: 0 or -errno. */
static int wait_for(int fd, short events, uint64_t until)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = events};
		uint64_t now = now_ms();
		long n;

		if (now >= until)
			return -ETIMEDOUT;
		if (agent_is_to_end())
			return -ECANCELED;
		n = arch_syscall(SYS_poll, (long)&p, 1, (long)min_of(until - now, SLICE_MS), 0, 0,
				 0);
		/* -EINTR: the signal with which glibc's setuid() reaches all threads */
		if (n && n != -EINTR)
			return n > 0 ? 0 : (int)n;
	}
}

static int read_all(int fd, void *buf, size_t n, uint64_t until)
{
	uint8_t *p = buf;

	while (n) {
		long got;
		int err = wait_for(fd, POLLIN, until);

		if (err)
			return err;
		got = sys_read(fd, p, n);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			return got ? (int)got : -EPIPE;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

static int send_all(int fd, const void *buf, size_t n, uint64_t until)
{
	const uint8_t *p = buf;

	while (n) {
		int err = wait_for(fd, POLLOUT, until);
		long put;

		if (err)
			return err;
		put = arch_syscall(SYS_sendto, fd, (long)p, (long)n, MSG_NOSIGNAL | MSG_DONTWAIT, 0,
				   0);
		if (put == -EAGAIN || put == -EINTR)
			continue;
		if (put <= 0)
			return put ? (int)put : -EPIPE;
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

/* Whether the client has the user that this process has now, or is root. */
static int peer_allowed(int fd)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);

	if (arch_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&cred, (long)&n, 0) < 0)
		return 0;
	return cred.uid == 0 || cred.uid == sys_geteuid();
}

/*
 * Whether the client has left before it was served, as this process was stopped meanwhile. Its
 * request is dropped.
 */
static int hung_up(int fd)
{
	struct pollfd p = {.fd = fd};

	return arch_syscall(SYS_poll, (long)&p, 1, 0, 0, 0, 0) > 0 && (p.revents & POLLHUP);
}

/* Carry out AGENT_WRITE_AS: the payload is the writer, then the text. */
static int write_as(const struct agent_request *req)
{
	struct agent_writer w;

	if (req->payload_bytes < sizeof(w))
		return -EINVAL;
	memcpy(&w, payload, sizeof(w));
	w.comm[sizeof(w.comm) - 1] = 0;
	return tree_write_as(req->path, (const char *)payload + sizeof(w),
			     req->payload_bytes - sizeof(w), !!(req->flags & AGENT_TRUNCATE), &w);
}

static int answer(const struct agent_request *req, struct seq_buf *out)
{
	long n;

	switch (req->op) {
	case AGENT_READ:
		n = tree_read(req->path, out);
		return n < 0 ? (int)n : 0;
	case AGENT_LIST:
		n = tree_list(req->path, out);
		return n < 0 ? (int)n : 0;
	case AGENT_WRITE:
		return tree_write(req->path, (const char *)payload, req->payload_bytes,
				  !!(req->flags & AGENT_TRUNCATE));
	case AGENT_WRITE_AS:
		return write_as(req);
	case AGENT_MKDIR:
		return tree_mkdir(req->path);
	case AGENT_RMDIR:
		return tree_rmdir(req->path);
	default:
		return -EPROTO;
	}
}

void agent_serve(int fd)
{
	uint64_t until = now_ms() + TIMEOUT_MS;
	struct agent_request req;
	struct agent_reply reply = {.magic = AGENT_MAGIC, .version = AGENT_VERSION};
	struct seq_buf out;

	if (!peer_allowed(fd) || read_all(fd, &req, sizeof(req), until) || req.magic != AGENT_MAGIC)
		return;
	req.path[sizeof(req.path) - 1] = 0;
	seq_init(&out, (char *)payload, AGENT_MAX_PAYLOAD);
	if (req.version != AGENT_VERSION) {
		reply.result = -EPROTO;
	} else if (req.payload_bytes > AGENT_MAX_PAYLOAD) {
		reply.result = -EFBIG;
	} else {
		if (read_all(fd, payload, req.payload_bytes, until) || hung_up(fd))
			return;
		reply.result = answer(&req, &out);
	}
	if (!reply.result && req.op != AGENT_WRITE && req.op != AGENT_WRITE_AS)
		reply.payload_bytes = (uint32_t)out.len;
	until = now_ms() + TIMEOUT_MS;
	if (!send_all(fd, &reply, sizeof(reply), until))
		send_all(fd, payload, reply.payload_bytes, until);
}
