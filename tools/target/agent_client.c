/* SPDX-License-Identifier: MIT */
/*
 * The tools' side of abi/agent.h: one connection, one request, one reply. The socket is opened
 * through the folder's descriptor, so the folder cannot be replaced meanwhile, and its path may be
 * long. A process that starts has no socket yet, so this waits for it. A stopped process does not
 * answer; that is an error after some seconds. Tests: tests/cli/test_control.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "abi/agent.h"
#include "tools/base/fail.h"
#include "tools/base/proc_pid.h"
#include "tools/base/time_ns.h"
#include "tools/target/function_names.h"
#include "tools/target/object_address.h"
#include "tools/target/probe_names.h"
#include "tools/target/image.h"

#define TIMEOUT_MS 2000 /* for a stopped process */
#define MORE_MS	   8000 /* in addition, for one that runs: it may get little CPU time */
#define RETRY_MS   10
#define ENDS_MS	   1000

/* The time to wait for an answer. */
struct patience {
	const struct image *t;
	int64_t until;
	bool extended;
};

static int64_t now_ms(void)
{
	return (int64_t)(time_ns(CLOCK_MONOTONIC) / 1000000);
}

static int ended(const struct image *t)
{
	return fail(
		ESRCH,
		"process %d has ended: `vestige ls -P %d` lists the files that can still be read",
		t->pid, t->pid);
}

static int silent(const struct image *t)
{
	if (!image_lives(t->pid, t->start))
		return ended(t);
	return fail(ETIMEDOUT, "process %d is stopped or hangs", t->pid);
}

/* After a timeout: should the caller wait for another MORE_MS? At most once. */
static bool go_on(struct patience *w)
{
	if (w->extended || image_stopped(w->t->pid) || !image_lives(w->t->pid, w->t->start))
		return false;
	w->until += MORE_MS;
	w->extended = true;
	return true;
}

/* Wait for @events. Return: 0 or -ETIMEDOUT. */
static int wait_for(int fd, short events, struct patience *w)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = events};
		int64_t left = w->until - now_ms();
		int n = poll(&p, 1, left > 0 ? (int)left : 0);

		if (n > 0)
			return 0;
		if (!n && !go_on(w))
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/* Send or receive all of @n bytes. Return: 0, -ETIMEDOUT, -EPIPE at an early end, or -errno. */
static int transfer(int fd, bool out, void *buf, size_t n, struct patience *w)
{
	char *p = buf;

	while (n) {
		ssize_t done = out ? send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT)
				   : recv(fd, p, n, MSG_DONTWAIT);
		int err;

		if (done > 0) {
			p += done;
			n -= (size_t)done;
			continue;
		}
		if (!done)
			return -EPIPE;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		err = wait_for(fd, out ? POLLOUT : POLLIN, w);
		if (err)
			return err;
	}
	return 0;
}

static int try_connect(const struct image *t)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%s" AGENT_SUFFIX,
		 t->dir.fd, t->process);
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Has the area been replaced by another? Then the process runs another program now (exec). */
static bool is_replaced(const struct image *t)
{
	struct stat st;

	return t->ino && !t->instance[0] &&
	       !fstatat(t->dir.fd, t->name, &st, AT_SYMLINK_NOFOLLOW) &&
	       (st.st_ino != t->ino || st.st_dev != t->dev);
}

/* A connection to the agent, which may be about to start. Return: it or -errno with fail() set. */
static int reach(const struct image *t, struct patience *w)
{
	struct ucred cred = {0};
	socklen_t n = sizeof(cred);
	int fd;

	for (;;) {
		fd = try_connect(t);
		/*
		 * checked after connect(): the agent must not be the one of a later program
		 */
		if (is_replaced(t)) {
			if (fd >= 0)
				close(fd);
			return ended(t);
		}
		if (fd >= 0)
			break;
		if (!image_lives(t->pid, t->start))
			return ended(t);
		if (fd != -ENOENT && fd != -ECONNREFUSED && fd != -EAGAIN)
			return fail_errno(-fd, "cannot reach the agent of process %d", t->pid);
		if (now_ms() >= w->until && !go_on(w)) {
			if (fd == -ENOENT)
				return fail(ETIMEDOUT,
					    "process %d has no agent: it was started with "
					    "VESTIGE_AGENT=0, or is stopped or hangs",
					    t->pid);
			return silent(t);
		}
		poll(NULL, 0, RETRY_MS);
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) ||
	    (cred.pid && cred.pid != t->pid)) {
		close(fd);
		return fail(EPERM, "the socket of process %d belongs to process %d: remove %s%s",
			    t->pid, cred.pid, t->path, AGENT_SUFFIX);
	}
	return fd;
}

/* After a broken connection: does the process end? A killed process needs a while to end. */
static bool ends(const struct image *t)
{
	for (int ms = 0; image_lives(t->pid, t->start); ms += RETRY_MS) {
		if (ms >= ENDS_MS)
			return false;
		poll(NULL, 0, RETRY_MS);
	}
	return true;
}

static int exchange(const struct image *t, int fd, const struct agent_request *req,
		    const char *body, struct agent_reply *reply, char **text, struct patience *w)
{
	int err;

	err = transfer(fd, true, (void *)(uintptr_t)req, sizeof(*req), w);
	if (!err)
		err = transfer(fd, true, (void *)(uintptr_t)body, req->payload_bytes, w);
	if (!err)
		err = transfer(fd, false, reply, sizeof(*reply), w);
	if (err == -ETIMEDOUT)
		return silent(t);
	if (err && ends(t))
		return ended(t);
	if (err == -EPIPE && geteuid())
		return fail(EPERM, "process %d does not answer you: it is another user's", t->pid);
	if (err)
		return silent(t);
	if (reply->magic != AGENT_MAGIC || reply->version != AGENT_VERSION ||
	    reply->payload_bytes > AGENT_MAX_PAYLOAD || reply->result > 0)
		return fail(EPROTO, "process %d has an agent of version %u, this vestige speaks %d",
			    t->pid, reply->version, AGENT_VERSION);
	*text = malloc((size_t)reply->payload_bytes + 1);
	if (!*text)
		return fail(ENOMEM, "out of memory");
	(*text)[reply->payload_bytes] = '\0';
	err = transfer(fd, false, *text, reply->payload_bytes, w);
	if (err) {
		free(*text);
		return err != -ETIMEDOUT && ends(t) ? ended(t) : silent(t);
	}
	return 0;
}

static int request(struct image *t, struct agent_request *req, const char *file, const char *body,
		   char **text, size_t *bytes)
{
	struct patience w = {.t = t, .until = now_ms() + TIMEOUT_MS};
	struct agent_reply reply;
	int fd, err, n;

	if (!t->alive)
		return ended(t);
	n = t->instance[0] ? snprintf(req->path, sizeof(req->path), "instances/%s%s%s", t->instance,
				      *file ? "/" : "", file)
			   : snprintf(req->path, sizeof(req->path), "%s", file);
	if (n >= (int)sizeof(req->path))
		return fail_errno(ENOENT, "%s", file);
	req->magic = AGENT_MAGIC;
	req->version = AGENT_VERSION;
	fd = reach(t, &w);
	if (fd < 0)
		return fd;
	err = exchange(t, fd, req, body, &reply, text, &w);
	close(fd);
	if (err)
		return err;
	if (reply.result) {
		free(*text);
		return fail_errno(-reply.result, "%s", file);
	}
	*bytes = reply.payload_bytes;
	return 0;
}

int image_read(struct image *t, const char *file, char **text, size_t *bytes)
{
	struct agent_request req = {.op = AGENT_READ};
	size_t n;

	return request(t, &req, file, NULL, text, bytes ? bytes : &n);
}

int image_list(struct image *t, const char *dir, char **text)
{
	struct agent_request req = {.op = AGENT_LIST};
	size_t n;

	return request(t, &req, dir, NULL, text, &n);
}

static int change_instance(struct image *t, enum agent_op op, const char *instance)
{
	struct agent_request req = {.op = (uint16_t)op};
	char path[AGENT_PATH_BYTES], *none;
	size_t n;
	int err;

	if (snprintf(path, sizeof(path), "instances/%s", instance) >= (int)sizeof(path))
		return fail_errno(ENAMETOOLONG, "instances/%s", instance);
	err = request(t, &req, path, NULL, &none, &n);
	if (!err)
		free(none);
	return err;
}

int image_mkdir(struct image *t, const char *instance)
{
	return change_instance(t, AGENT_MKDIR, instance);
}

int image_rmdir(struct image *t, const char *instance)
{
	return change_instance(t, AGENT_RMDIR, instance);
}

bool image_is_marker(const char *file)
{
	const char *slash = strrchr(file, '/');

	const char *name = slash ? slash + 1 : file;

	return !strcmp(name, "trace_marker") || !strcmp(name, "trace_marker_raw");
}

/* Fill in @w for thread @tid; an ended thread has no name. */
static void describe_writer(int tid, struct agent_writer *w)
{
	struct proc_status s;

	*w = (struct agent_writer){.tid = tid, .tgid = tid, .comm = "<...>"};
	if (proc_status(tid, &s))
		return;
	w->tgid = s.tgid;
	memcpy(w->comm, s.comm, sizeof(w->comm));
}

static int put(struct image *t, struct agent_request *req, const char *file, const char *body,
	       size_t n)
{
	char *none;
	int err;

	if (n > AGENT_MAX_PAYLOAD)
		return fail_errno(EFBIG, "%s", file);
	req->payload_bytes = (uint32_t)n;
	err = request(t, req, file, body, &none, &n);
	if (!err)
		free(none);
	return err;
}

static int write_as(struct image *t, const char *file, const char *text, size_t n, bool truncate,
		    int tid)
{
	struct agent_request req = {.op = AGENT_WRITE_AS, .flags = truncate ? AGENT_TRUNCATE : 0};
	struct agent_writer w;
	char *body;
	int err = -EPROTO;

	if (tid > 0 && image_is_marker(file)) {
		body = malloc(sizeof(w) + n);
		if (!body)
			return fail(ENOMEM, "out of memory");
		describe_writer(tid, &w);
		memcpy(body, &w, sizeof(w));
		memcpy(body + sizeof(w), text, n);
		err = put(t, &req, file, body, sizeof(w) + n);
		free(body);
	}
	if (err != -EPROTO)
		return err;
	req.op = AGENT_WRITE;
	return put(t, &req, file, text, n);
}

int image_translate(const struct image *t, const char *file, const char *text, size_t n,
		    struct translated *translated)
{
	int (*const steps[])(const struct image *t, const char *file, const char *text, size_t n,
			     struct translated *translated) = {
		object_addresses_translate, function_names_translate, probe_names_translate};
	struct translated next;
	int err = 0;

	*translated = (struct translated){.text = malloc(n + 1), .n = n};
	if (!translated->text)
		return fail(ENOMEM, "out of memory");
	if (n)
		memcpy(translated->text, text, n);
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(*steps) && !err; i++) {
		next = (struct translated){0};
		err = steps[i](t, file, translated->text, translated->n, &next);
		translated->is_own |= next.is_own;
		if (!err && next.text) {
			free(translated->text);
			translated->text = next.text;
			translated->n = next.n;
		}
	}
	if (err)
		free(translated->text);
	return err;
}

int image_write_as(struct image *t, const char *file, const char *text, size_t n, bool truncate,
		   int tid)
{
	struct translated translated;
	int err = image_translate(t, file, text, n, &translated);

	if (err)
		return err;
	err = write_as(t, file, translated.text, translated.n, truncate, tid);
	free(translated.text);
	return err;
}

int image_put(struct image *t, const char *file, const char *text, size_t n, bool truncate)
{
	return write_as(t, file, text, n, truncate, 0);
}

int image_write(struct image *t, const char *file, const char *text, size_t n, bool truncate)
{
	return image_write_as(t, file, text, n, truncate, (int)gettid());
}
