/* SPDX-License-Identifier: MIT */
/*
 * The agent: a thread that answers control files for the outside (abi/agent.h).
 *
 * It blocks all signals (but those with which glibc changes the identity of all threads, so that
 * setuid() holds for it too), has a descriptor table of its own (where the kernel lets it), so that it neither
 * keeps the program's files open nor loses its own to close_range(), and makes no call that may be traced.
 * One request at a time, each with a time limit, so a client that hangs costs others two seconds.
 *
 * The process must be able to end without it. exit() ends it; but when main() left by pthread_exit()
 * the last thread's end is the process's end, and the agent must not be that thread (what exit()
 * flushes would go to descriptors that it does not have): the program's last thread stops it
 * first. fork: the child has no agent until fork.c starts one.
 * Tests: tests/engine/fire/agent.
 */
#include "engine/control/agent.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "abi/agent.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/control/tree.h"
#include "engine/core/area.h"
#include "engine/core/interpose.h"
#include "engine/core/syscalls.h"
#include "engine/core/thread.h"
#include "engine/events/sched_perf.h"

#define STACK_BYTES (256u * 1024)
#define TIMEOUT_MS  2000
#define MAX_PERF    64u /* rings that may wake it; those of more CPUs wait for its next turn */

static char socket_path[108];
static uint8_t *payload; /* AGENT_MAX_PAYLOAD, made at start */
static int exiting;
static pthread_t agent;

static long sock(long n, long a, long b, long c, long d, long e)
{
	return arch_syscall(n, a, b, c, d, e, 0);
}

/*
 * The descriptors of the program are none of ours. Return: 0; -errno: the table is the program's (what runs in
 * a container may be refused this), of which nothing may be closed.
 */
static int leave_descriptors(void)
{
	int err = (int)arch_syscall(SYS_unshare, 0x400 /* CLONE_FILES */, 0, 0, 0, 0, 0), fd;

	if (err || arch_syscall(SYS_close_range, 0, ~0u, 0, 0, 0, 0) == 0)
		return err;
	for (fd = 0; fd < 65536; fd++)
		sys_close(fd);
	return 0;
}

#define HIGH_FD 1000 /* programs expect the lowest ones */

/* In the program's table: where nobody looks for a descriptor. */
static int move_up(int fd)
{
	long high = arch_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH_FD, 0, 0, 0);

	if (high < 0)
		return fd;
	sys_close(fd);
	return (int)high;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return sys_fstat(fd, &st) ? 0 : st.st_ino;
}

static int listen_at(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	long fd = sock(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0), err;

	if (fd < 0)
		return (int)fd;
	str_copy(addr.sun_path, sizeof(addr.sun_path), path);
	sys_unlink(path);
	err = sock(SYS_bind, fd, (long)&addr, sizeof(addr), 0, 0);
	if (!err)
		err = sock(SYS_listen, fd, 16, 0, 0, 0);
	if (err) {
		sys_close((int)fd);
		return (int)err;
	}
	return (int)fd;
}

static int wait_readable(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	long n = sock(SYS_poll, (long)&p, 1, timeout_ms, 0, 0);

	return n > 0 ? 0 : n == 0 ? -ETIMEDOUT : (int)n;
}

static int read_all(int fd, void *buf, size_t n)
{
	uint8_t *p = buf;

	while (n) {
		long got;
		int err = wait_readable(fd, TIMEOUT_MS);

		if (err)
			return err;
		got = sys_read(fd, p, n);
		if (got <= 0)
			return got ? (int)got : -EPIPE;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

static int send_all(int fd, const void *buf, size_t n)
{
	const uint8_t *p = buf;

	while (n) {
		long put = arch_syscall(SYS_sendto, fd, (long)p, (long)n, MSG_NOSIGNAL, 0, 0);

		if (put <= 0)
			return put ? (int)put : -EPIPE;
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

/* The same user as this process is now, or root. */
static int peer_allowed(int fd)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);

	if (sock(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&cred, (long)&n) < 0)
		return 0;
	return cred.uid == 0 || cred.uid == sys_geteuid();
}

/* Gone before it was served, because we were stopped meanwhile: then it no longer wants it. */
static int hung_up(int fd)
{
	struct pollfd p = {.fd = fd};

	return sock(SYS_poll, (long)&p, 1, 0, 0, 0) > 0 && (p.revents & POLLHUP);
}

/* A write with who makes it before its text. */
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

static void serve(int fd)
{
	struct timeval limit = {.tv_sec = TIMEOUT_MS / 1000};
	struct agent_request req;
	struct agent_reply reply = {.magic = AGENT_MAGIC, .version = AGENT_VERSION};
	struct seq_buf out;

	sock(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, (long)&limit, sizeof(limit));
	if (!peer_allowed(fd) || read_all(fd, &req, sizeof(req)) || req.magic != AGENT_MAGIC)
		return;
	req.path[sizeof(req.path) - 1] = 0;
	seq_init(&out, (char *)payload, AGENT_MAX_PAYLOAD);
	if (req.version != AGENT_VERSION) {
		reply.result = -EPROTO;
	} else if (req.payload_bytes > AGENT_MAX_PAYLOAD) {
		reply.result = -EFBIG;
	} else {
		if (read_all(fd, payload, req.payload_bytes) || hung_up(fd))
			return;
		reply.result = answer(&req, &out);
	}
	if (!reply.result && req.op != AGENT_WRITE && req.op != AGENT_WRITE_AS)
		reply.payload_bytes = (uint32_t)out.len;
	if (!send_all(fd, &reply, sizeof(reply)))
		send_all(fd, payload, reply.payload_bytes);
}

static int work(void)
{
	int timeout_ms;

	tree_lock_take();
	timeout_ms = sched_perf_work();
	tree_lock_release();
	return timeout_ms;
}

/* Wait for a client, and do what else there is to do meanwhile. Return: whether there is one. */
static int wait_client(int fd)
{
	struct pollfd p[1 + MAX_PERF] = {{.fd = fd, .events = POLLIN}};
	int perf[MAX_PERF], timeout_ms = work();
	uint32_t i, n = sched_perf_descriptors(perf, MAX_PERF);

	for (i = 0; i < n; i++)
		p[1 + i] = (struct pollfd){.fd = perf[i], .events = POLLIN};
	return sock(SYS_poll, (long)p, 1 + n, timeout_ms, 0, 0) > 0 && p[0].revents;
}

static void *agent_main(void *arg)
{
	uint64_t inode;
	int fd, shared;

	(void)arg;
	interpose_mute();
	syscalls_own_thread();
	arch_syscall(SYS_prctl, 15 /* PR_SET_NAME */, (long)"vestige-agent", 0, 0, 0, 0);
	shared = leave_descriptors();
	if (shared)
		area_status("the agent's descriptors are among the program's: unshare()", NULL,
			    shared);
	fd = listen_at(socket_path);
	if (fd < 0) {
		sched_perf_no_agent();
		area_status("no control from outside: its socket", socket_path, fd);
		return NULL;
	}
	if (shared) {
		fd = move_up(fd);
		sched_perf_no_agent(); /* perf's descriptors must be nobody else's */
	} else {
		sched_perf_agent();
	}
	inode = inode_of(fd);
	while (!__atomic_load_n(&exiting, __ATOMIC_SEQ_CST)) {
		int client;

		if (!wait_client(fd))
			continue;
		/* the program may have closed it, and have another of that number */
		if (shared && inode_of(fd) != inode) {
			area_status("no control from outside: the program closed its socket", NULL,
				    0);
			break;
		}
		client = (int)sock(SYS_accept4, fd, 0, 0, SOCK_CLOEXEC, 0);
		if (client < 0)
			continue;
		serve(client);
		sys_close(client);
	}
	sys_unlink(socket_path);
	return NULL;
}

static int knock(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	long fd = sock(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0), err;

	if (fd < 0)
		return (int)fd;
	str_copy(addr.sun_path, sizeof(addr.sun_path), socket_path);
	err = sock(SYS_connect, fd, (long)&addr, sizeof(addr), 0, 0);
	sys_close((int)fd);
	return (int)err;
}

void agent_wake(void)
{
	knock();
}

/*
 * The program's last thread ends: wake the agent, which then sees that it is to end, or see that it
 * has. One that cannot be woken (its socket was removed) is not waited for longer than a second.
 */
static void agent_stop(void)
{
	int tries;

	__atomic_store_n(&exiting, 1, __ATOMIC_SEQ_CST);
	for (tries = 0; tries < 100; tries++) {
		knock();
		if (!pthread_tryjoin_np(agent, NULL))
			return;
		sock(SYS_poll, 0, 0, 10, 0, 0);
	}
}

void agent_start(void)
{
	pthread_attr_t attr;
	sigset_t all, old;
	struct seq_buf s;
	long p;
	int err;

	exiting = 0;
	seq_init(&s, socket_path, sizeof(socket_path) - 1);
	seq_puts(&s, area_file());
	seq_puts(&s, AGENT_SUFFIX);
	socket_path[s.len] = 0;
	if (s.lost) {
		area_status("no control from outside: the socket's path is too long", area_file(),
			    0);
		return;
	}
	if (!payload) {
		p = sys_mmap(NULL, AGENT_MAX_PAYLOAD, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (sys_failed(p)) {
			area_status("no control from outside: no memory", NULL, (int)p);
			return;
		}
		payload = (uint8_t *)p;
	}
	syscalls_own_begin();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	interpose_mute();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = thread_create_untraced(&agent, &attr, agent_main);
	pthread_attr_destroy(&attr);
	interpose_unmute();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	syscalls_own_end(!err);
	if (err)
		area_status("no control from outside: no thread for it", NULL, -err);
	else
		threads_on_last_end(agent_stop);
}

void agent_remove(void)
{
	/* an agent that has not come to its socket yet sees the flag, and removes it itself */
	__atomic_store_n(&exiting, 1, __ATOMIC_SEQ_CST);
	if (socket_path[0])
		sys_unlink(socket_path);
}
