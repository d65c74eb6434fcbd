/* SPDX-License-Identifier: MIT */
/*
 * Serves one sender of a recording. First come words and messages until the ports are agreed on.
 * Then the pages come on a socket for each CPU, and the rest of the file in messages. At the end
 * the file is written. See listen.h, and msg.h for the protocol. Tests: tests/cli/test_listen.py,
 * tests/fuzz/net.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/move_bytes.h"
#include "tools/base/time_ns.h"
#include "tools/net/dat_join.h"
#include "tools/net/listen.h"
#include "tools/net/net_io.h"
#include "tools/net/tsync.h"

#define WORD_BYTES    64u
#define MAX_WORDS     8u /* versions that a sender may try */
#define MAX_OPTIONS   16u
#define MAX_OPTION    4096u
#define MAX_SURPRISES 16u /* messages that are not understood */
#define READ_BYTES    65536u
#define GIVE_UP_BYTES 65536u /* of pages are dropped at once, for the file's head */
#define LOOK_MS	      200
#define END_NS	      UINT64_C(20000000000) /* for the end of a recording */
#define STOP_NS	      UINT64_C(2000000000)
#define MAX_SYNCS     2u

struct cpu_in {
	int socket;    /* -1: it has ended */
	bool accepted; /* TCP: it is the connection */
};

struct taking {
	const struct listen_client *c;
	int protocol; /* 1, 3 */
	bool ours;    /* it sent MSG_OURS, and waits for the answer to CLOSE */
	struct msg_tinit init;
	struct tsync syncs[MAX_SYNCS];
	unsigned int nr_syncs;
	int meta; /* the file without the CPUs' data */
	uint64_t meta_bytes;
	bool meta_whole, closed, ended;
	bool full;	  /* a limit or the disk: no more pages are kept, but the head is */
	uint64_t dropped; /* bytes of pages that came after that */
	unsigned int surprises;
	struct cpu_in *in;
	struct dat_join_cpu *cpus;
	uint8_t message[MSG_MAX_BYTES];
	size_t message_bytes; /* received of the current message */
	uint64_t bytes;	      /* received in total */
	uint64_t last_ns;     /* time of the last receive */
	char why[256];	      /* why it ended other than by CLOSE; "" */
};

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static void end_with(struct taking *t, const char *why)
{
	if (!t->ended && !t->why[0])
		snprintf(t->why, sizeof(t->why), "%s", why);
	t->ended = true;
}

/* A file without a name in the folder. */
static int unnamed(const struct listen_client *c)
{
	char name[64];
	int fd = openat(c->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	snprintf(name, sizeof(name), ".vestige-listen.%d", getpid());
	fd = openat(c->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		unlinkat(c->dir, name, 0);
	return fd;
}

static void set_full(struct taking *t, const char *why)
{
	t->full = true;
	if (!t->why[0])
		snprintf(t->why, sizeof(t->why), "%s", why);
	/* the pages are of no use without the file's head, so wait for it */
	if (t->meta_whole)
		t->ended = true;
}

/* Do the limits allow @n bytes more? */
static bool may_take(struct taking *t, size_t n)
{
	const struct listen_client *c = t->c;

	if (t->bytes + n > c->max_bytes) {
		set_full(t, "it is larger than --max-size");
		return false;
	}
	if (atomic_fetch_add(c->total, n) + n > c->max_total) {
		atomic_fetch_sub(c->total, n);
		set_full(t, "all recordings are larger than --max-total");
		return false;
	}
	t->bytes += n;
	return true;
}

/* Drop the newest pages, to have room for the file's head. Return: false: there are no pages. */
static bool give_up_pages(struct taking *t, uint64_t n)
{
	struct dat_join_cpu *most = NULL;
	uint64_t left;

	for (uint32_t i = 0; i < t->init.cpus; i++)
		if (!most || t->cpus[i].bytes > most->bytes)
			most = &t->cpus[i];
	if (!most || !most->bytes)
		return false;
	left = most->bytes > n ? most->bytes - n : 0;
	left -= left % t->init.page_bytes;
	if (ftruncate(most->fd, (off_t)left))
		return false;
	atomic_fetch_sub(t->c->total, most->bytes - left);
	t->bytes -= most->bytes - left;
	most->bytes = left;
	return true;
}

/* Return: 0 or -errno. */
static int put(int fd, uint64_t at, const void *from, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pwrite(fd, (const char *)from + done, n - done, (off_t)(at + done));

		if (got <= 0 && errno != EINTR)
			return got ? -errno : -ENOSPC;
		done += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

/* Keep pages of a CPU, while there is room for them. */
static void keep_pages(struct taking *t, struct dat_join_cpu *c, const void *from, size_t n)
{
	int err;

	t->last_ns = time_ns(CLOCK_MONOTONIC);
	if (t->full || !may_take(t, n)) {
		t->dropped += n;
		/* the head does not come for very long */
		if (t->dropped > t->c->max_bytes)
			t->ended = true;
		return;
	}
	err = put(c->fd, c->bytes, from, n);
	if (!err)
		c->bytes += n;
	else
		set_full(t, strerror(-err));
}

/* Keep a part of the file's head. */
static void keep_meta(struct taking *t, const void *from, size_t n)
{
	int err = 0;

	t->last_ns = time_ns(CLOCK_MONOTONIC);
	while (!may_take(t, n))
		if (!give_up_pages(t, GIVE_UP_BYTES)) {
			t->ended = true;
			return;
		}
	while ((err = put(t->meta, t->meta_bytes, from, n)) && is_full(err)) {
		set_full(t, strerror(-err));
		if (!give_up_pages(t, GIVE_UP_BYTES))
			break;
	}
	if (err)
		end_with(t, strerror(-err));
	else
		t->meta_bytes += n;
}

static int say(const struct taking *t, const void *words, size_t n)
{
	return net_write(t->c->fd, words, n, net_deadline());
}

/* A sender of ours: a series of probes now, and another one when its recording has ended. */
static int sync_clocks(struct taking *t)
{
	static const char answer[] = "VESTIGE";
	uint8_t bytes[MSG_MAX_BYTES];
	char name[MSG_NAME_BYTES];
	struct msg m;
	uint32_t id = TSYNC_PROBE;
	int err = say(t, answer, sizeof(answer));

	t->ours = true;
	while (!err && id == TSYNC_PROBE) {
		struct pollfd p = {t->c->fd, POLLIN, 0};

		if (t->nr_syncs == MAX_SYNCS)
			return -EPROTO;
		err = tsync_measure(t->c->fd, &t->syncs[t->nr_syncs]);
		if (err)
			return err;
		t->nr_syncs++;
		/* while it records it sends no message; net_tune() finds a host that is gone */
		while (poll(&p, 1, -1) < 0)
			;
		err = net_read_msg(t->c->fd, bytes, &m, net_deadline());
		if (!err)
			err = msg_tsync(&m, name, &id);
		if (!err && (strcmp(name, TSYNC_NONE) || (id != TSYNC_PROBE && id != TSYNC_STOP)))
			err = -EPROTO;
	}
	return err;
}

static int begin_v3(struct taking *t)
{
	static const char magic[sizeof(MSG_V3_MAGIC) + 1] = MSG_V3_MAGIC;
	uint8_t bytes[MSG_MAX_BYTES];
	struct msg m;
	int err = say(t, "V3", 3);

	t->protocol = 3;
	if (!err)
		err = net_read(t->c->fd, bytes, sizeof(magic), net_deadline());
	if (!err && memcmp(bytes, magic, sizeof(magic)) != 0)
		err = -EPROTO;
	if (!err)
		err = say(t, "OK", 2);
	if (!err)
		err = net_read_msg(t->c->fd, bytes, &m, net_deadline());
	return err ? err : msg_tinit(&m, &t->init);
}

/*
 * Version 1: @cpus is the first word; then come the page size, and options, each behind its size.
 */
static int begin_v1(struct taking *t, const char *cpus)
{
	char word[WORD_BYTES], option[MAX_OPTION + 1];
	uint64_t deadline = net_deadline();
	uint32_t nr = 0;
	int err = net_read_word(t->c->fd, word, sizeof(word), deadline);

	t->protocol = 1;
	t->init.cpus = msg_number(cpus, MSG_MAX_CPUS);
	t->init.page_bytes = err ? 0 : msg_number(word, MSG_MAX_PAGE);
	if (!t->init.cpus || t->init.page_bytes < 64 ||
	    t->init.page_bytes & (t->init.page_bytes - 1))
		return err ? err : -EPROTO;
	err = net_read_word(t->c->fd, word, sizeof(word), deadline);
	if (!err && strcmp(word, "0") != 0 && !(nr = msg_number(word, MAX_OPTIONS)))
		err = -EPROTO;
	while (!err && nr--) {
		uint32_t n;

		err = net_read_word(t->c->fd, word, sizeof(word), deadline);
		n = err ? 0 : msg_number(word, MAX_OPTION);
		if (!err && !n)
			err = -EPROTO;
		if (!err)
			err = net_read(t->c->fd, option, n, deadline);
		option[n] = '\0';
		t->init.tcp |= !err && !strcmp(option, "tcp");
	}
	return err;
}

static int begin(struct taking *t)
{
	char word[WORD_BYTES];
	int err = say(t, MSG_GREETING, strlen(MSG_GREETING));

	for (unsigned int i = 0; i < MAX_WORDS && !err; i++) {
		err = net_read_word(t->c->fd, word, sizeof(word), net_deadline());
		if (err)
			break;
		if (!strcmp(word, MSG_V3))
			return begin_v3(t);
		if (!strcmp(word, MSG_OURS) && !t->ours)
			err = sync_clocks(t);
		else if (!strncmp(word, "-1V", 3))
			err = say(t, "V3", 3);
		else
			return begin_v1(t, word);
	}
	return err ? err : -EPROTO;
}

/* A socket and a file for each CPU; the sender gets the ports. */
static int open_cpus(struct taking *t)
{
	uint8_t bytes[MSG_MAX_BYTES];
	uint16_t ports[MSG_MAX_CPUS];
	size_t n = 0;

	t->in = calloc(t->init.cpus, sizeof(*t->in));
	t->cpus = calloc(t->init.cpus, sizeof(*t->cpus));
	t->meta = unnamed(t->c);
	if (!t->in || !t->cpus)
		return fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i < t->init.cpus; i++)
		t->in[i].socket = t->cpus[i].fd = -1;
	for (uint32_t i = 0; i < t->init.cpus; i++) {
		t->cpus[i].fd = unnamed(t->c);
		if (t->meta < 0 || t->cpus[i].fd < 0)
			return fail_errno(errno, "cannot make a file");
		t->in[i].socket = net_bind_beside(t->c->fd, t->init.tcp ? SOCK_STREAM : SOCK_DGRAM,
						  &ports[i]);
		if (t->in[i].socket < 0)
			return t->in[i].socket;
	}
	if (t->protocol == 3) {
		n = msg_put_rinit(bytes, t->init.cpus, ports);
	} else {
		for (uint32_t i = 0; i < t->init.cpus; i++)
			n += (size_t)sprintf((char *)bytes + n, "%s%u", i ? "," : "", ports[i]);
		n++;
	}
	return say(t, bytes, n);
}

/* Is @a the host of the connection? */
static bool same_host(const struct taking *t, const struct sockaddr_storage *a)
{
	struct sockaddr_storage peer = {0};
	socklen_t n = sizeof(peer);

	if (getpeername(t->c->fd, (struct sockaddr *)&peer, &n))
		return false;
	if (peer.ss_family == AF_INET && a->ss_family == AF_INET)
		return ((struct sockaddr_in *)&peer)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)a)->sin_addr.s_addr;
	if (peer.ss_family == AF_INET6 && a->ss_family == AF_INET6)
		return !memcmp(&((struct sockaddr_in6 *)&peer)->sin6_addr,
			       &((const struct sockaddr_in6 *)a)->sin6_addr,
			       sizeof(struct in6_addr));
	return peer.ss_family == AF_UNIX;
}

static void close_cpu(struct cpu_in *in)
{
	close(in->socket);
	in->socket = -1;
}

static void take_cpu(struct taking *t, uint32_t cpu)
{
	struct cpu_in *in = &t->in[cpu];
	struct sockaddr_storage from = {0};
	socklen_t n = sizeof(from);
	static char bytes[READ_BYTES]; /* the stack may be small */
	ssize_t got;

	if (t->init.tcp && !in->accepted) {
		int fd = accept4(in->socket, (struct sockaddr *)&from, &n,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (!same_host(t, &from)) {
			close(fd);
			return;
		}
		close(in->socket);
		*in = (struct cpu_in){fd, true};
		return;
	}
	got = recvfrom(in->socket, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from,
		       &n);
	if (t->init.tcp && !got)
		close_cpu(in);
	else if (t->init.tcp && got < 0 && errno != EAGAIN && errno != EINTR)
		close_cpu(in);
	/* a datagram of another size or from another host is not the sender's */
	if (got > 0 && (t->init.tcp || (got == (ssize_t)t->init.page_bytes && same_host(t, &from))))
		keep_pages(t, &t->cpus[cpu], bytes, (size_t)got);
}

static void take_message(struct taking *t)
{
	uint8_t answer[MSG_HEAD_BYTES];
	struct msg m;

	if (msg_parse(t->message, t->message_bytes, &m)) {
		end_with(t, "a message has a wrong length");
		return;
	}
	t->message_bytes = 0;
	if (m.command == MSG_SEND_DATA && !t->meta_whole) {
		keep_meta(t, m.data, m.data_bytes);
	} else if (m.command == MSG_FIN_DATA) {
		t->meta_whole = true;
		t->ended |= t->full;
	} else if (m.command == MSG_CLOSE) {
		t->closed = t->ended = true;
	} else if (++t->surprises > MAX_SURPRISES) {
		end_with(t, "its messages are not understood");
	} else if (m.command != MSG_NOT_SUPP) {
		say(t, answer, msg_put(answer, MSG_NOT_SUPP, NULL, 0, NULL, 0));
	}
}

/* Receive messages; in version 1: the bytes of the file. */
static void take_control(struct taking *t)
{
	static char bytes[READ_BYTES]; /* the stack may be small */
	uint32_t size = MSG_HEAD_BYTES;
	ssize_t got;

	if (t->protocol == 1) {
		got = recv(t->c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (got > 0)
			keep_meta(t, bytes, (size_t)got);
	} else {
		if (t->message_bytes >= MSG_HEAD_BYTES)
			size = msg_size(t->message);
		got = recv(t->c->fd, t->message + t->message_bytes, size - t->message_bytes,
			   MSG_DONTWAIT);
		if (got > 0)
			t->message_bytes += (size_t)got;
	}
	if (!got && t->protocol == 1)
		/* in this version the end of the connection is the end of the recording */
		t->closed = t->meta_whole = t->ended = true;
	else if (!got || (got < 0 && errno != EAGAIN && errno != EINTR))
		end_with(t, "the connection was cut");
	if (got <= 0 || t->protocol == 1)
		return;
	t->last_ns = time_ns(CLOCK_MONOTONIC);
	if (t->message_bytes < MSG_HEAD_BYTES)
		return;
	size = msg_size(t->message);
	if (!size)
		end_with(t, "a message has a wrong length");
	else if (t->message_bytes == size)
		take_message(t);
}

/* Look once at all sockets. Return: whether there was anything. */
static bool look(struct taking *t, struct pollfd *fds, int ms)
{
	nfds_t nr = t->init.cpus + 1;

	fds[0] = (struct pollfd){t->ended ? -1 : t->c->fd, POLLIN, 0};
	for (uint32_t i = 0; i < t->init.cpus; i++)
		fds[i + 1] = (struct pollfd){t->in[i].socket, POLLIN, 0};
	if (poll(fds, nr, ms) <= 0)
		return false;
	for (uint32_t i = 0; i < t->init.cpus; i++)
		if (fds[i + 1].revents)
			take_cpu(t, i);
	if (fds[0].revents && !t->ended)
		take_control(t);
	return true;
}

static bool any_open(const struct taking *t)
{
	for (uint32_t i = 0; i < t->init.cpus; i++)
		if (t->in[i].socket >= 0 && (!t->init.tcp || t->in[i].accepted))
			return true;
	return false;
}

static void collect(struct taking *t)
{
	struct pollfd *fds = calloc(t->init.cpus + 1, sizeof(*fds));
	/* TCP has an end of the stream, so a slow sender may have more time */
	uint64_t quiet = t->c->quiet_ms * (t->init.tcp ? UINT64_C(4000000) : UINT64_C(1000000));
	uint64_t until;
	bool more = true;

	if (!fds)
		return;
	t->last_ns = time_ns(CLOCK_MONOTONIC);
	while (!t->ended && !stopped) {
		look(t, fds, LOOK_MS);
		if (t->protocol == 3 && !t->meta_whole &&
		    time_ns(CLOCK_MONOTONIC) - t->last_ns > NET_PATIENCE_NS)
			end_with(t, "it is silent");
	}
	/* after a stop, receive what has arrived already */
	until = time_ns(CLOCK_MONOTONIC) + STOP_NS;
	while (!t->ended && look(t, fds, 0) && time_ns(CLOCK_MONOTONIC) < until)
		;
	if (!t->ended)
		end_with(t, "the listener was stopped");
	/* receive the pages that are still on their way */
	t->last_ns = time_ns(CLOCK_MONOTONIC);
	until = t->last_ns + END_NS;
	while (!t->full && (more || any_open(t)) && time_ns(CLOCK_MONOTONIC) < until &&
	       time_ns(CLOCK_MONOTONIC) - t->last_ns < quiet)
		more = look(t, fds, t->c->quiet_ms ? 20 : 0);
	free(fds);
}

/* The offset of the clocks during the recording, from the two series, and its greatest error. */
static struct tsync sync_of(const struct taking *t)
{
	struct tsync s = t->syncs[0];

	if (t->nr_syncs == MAX_SYNCS) {
		int64_t drift = t->syncs[1].offset_ns - s.offset_ns;

		s.error_ns = s.error_ns > t->syncs[1].error_ns ? s.error_ns : t->syncs[1].error_ns;
		s.error_ns += (uint64_t)(drift < 0 ? -drift : drift) / 2;
		s.offset_ns += drift / 2;
	}
	return s;
}

/* Give the file a name that no other file has. Return: 0 or -errno with fail() set. */
static int name_file(const struct listen_client *c, const char *tmp, char *name, size_t room)
{
	for (unsigned int i = 1; i < 1000; i++) {
		if (i == 1)
			snprintf(name, room, "%s.%s.dat", c->prefix, c->name);
		else
			snprintf(name, room, "%s.%s-%u.dat", c->prefix, c->name, i);
		if (!linkat(c->dir, tmp, c->dir, name, 0))
			return 0;
		if (errno != EEXIST)
			break;
	}
	return fail_errno(errno, "cannot write %s", name);
}

/*
 * Reserve disk space for the file; not for the pages if the filesystem can free them as they are
 * copied.
 */
static int reserve(struct taking *t, int fd, bool frees)
{
	for (;;) {
		uint64_t need = t->meta_bytes + DAT_JOIN_ROOM + MOVE_BYTES_ROOM;

		for (uint32_t i = 0; i < t->init.cpus && !frees; i++)
			need += t->cpus[i].bytes;
		/* if the filesystem cannot reserve space, a write may fail later */
		if (!fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)need) || !is_full(-errno))
			return 0;
		set_full(t, strerror(errno));
		if (!give_up_pages(t, GIVE_UP_BYTES))
			return fail_errno(ENOSPC, "cannot write the file's head");
	}
}

static int write_file(struct taking *t, char *name, size_t room)
{
	struct tsync s = sync_of(t);
	struct dat_join j = {
		.name = "what it sent",
		.fd = t->meta,
		.bytes = t->meta_bytes,
		.with_options = t->protocol == 3,
		.page_bytes = t->init.page_bytes,
		.nr_cpus = t->init.cpus,
		.cpus = t->cpus,
		.synced = t->nr_syncs > 0,
		.free = move_bytes_frees(t->meta),
		.offset_ns = s.offset_ns,
	};
	char tmp[64];
	int fd, err;

	snprintf(tmp, sizeof(tmp), ".vestige-listen.%d.tmp", getpid());
	fd = openat(t->c->dir, tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return fail_errno(errno, "cannot make a file");
	err = reserve(t, fd, j.free);
	if (!err)
		err = dat_join(&j, fd);
	/* free reserved space that is not needed */
	if (!err && ftruncate(fd, lseek(fd, 0, SEEK_END)))
		err = fail_errno(errno, "cannot write");
	if (!err)
		err = name_file(t->c, tmp, name, room);
	unlinkat(t->c->dir, tmp, 0);
	close(fd);
	return err;
}

/* Report the end of the recording. */
static void report(const struct taking *t, const char *name)
{
	const struct listen_client *c = t->c;
	struct tsync s = sync_of(t);
	uint64_t off = (uint64_t)(s.offset_ns < 0 ? -s.offset_ns : s.offset_ns);
	uint64_t pages = 0, cut = 0;
	char line[1024], clock[128] = "no time synchronization";

	for (uint32_t i = 0; i < t->init.cpus; i++) {
		pages += t->cpus[i].bytes / t->init.page_bytes;
		cut += t->cpus[i].bytes % t->init.page_bytes;
	}
	if (t->nr_syncs)
		snprintf(clock, sizeof(clock),
			 "clock %c%" PRIu64 ".%09" PRIu64 " s, error %" PRIu64 " ns",
			 s.offset_ns < 0 ? '-' : '+', off / 1000000000, off % 1000000000,
			 s.error_ns);
	snprintf(line, sizeof(line), "%s: %" PRIu64 " pages of %u CPUs, %s%s%s", name, pages,
		 t->init.cpus, clock, t->why[0] ? "; it ended early: " : "", t->why);
	if (cut)
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			 "; %" PRIu64 " bytes of pages that did not come whole are left out", cut);
	c->report(c->arg, name, line);
}

static void drop(const struct listen_client *c, const char *what)
{
	char line[512];

	snprintf(line, sizeof(line), "%s: no recording: %s", c->name, what);
	c->report(c->arg, NULL, line);
}

static void serve(struct taking *t)
{
	struct sigaction act = {.sa_handler = stop};
	uint8_t answer[MSG_HEAD_BYTES];
	char name[512];
	int err = begin(t);

	fail(EPROTO, "%s", err ? strerror(-err) : "");
	if (!err)
		err = open_cpus(t);
	if (err) {
		drop(t->c, err == -EPROTO      ? "it does not speak trace-cmd's protocol"
			   : err == -ETIMEDOUT ? "it is silent"
					       : fail_text());
		return;
	}
	sigaction(SIGTERM, &act, NULL);
	collect(t);
	if (!t->meta_whole) {
		drop(t->c, t->why[0] ? t->why : "it did not send the file's head whole");
		return;
	}
	if (write_file(t, name, sizeof(name))) {
		drop(t->c, fail_text());
		return;
	}
	/* without this answer the sender keeps its file */
	if (t->closed && t->ours && !t->full)
		say(t, answer, msg_put(answer, MSG_CLOSE_RESP, NULL, 0, NULL, 0));
	report(t, name);
}

void listen_client_serve(const struct listen_client *c)
{
	static struct taking t;

	t = (struct taking){.c = c, .meta = -1};
	serve(&t);
	for (uint32_t i = 0; i < t.init.cpus; i++) {
		if (t.in && t.in[i].socket >= 0)
			close(t.in[i].socket);
		if (t.cpus && t.cpus[i].fd >= 0)
			close(t.cpus[i].fd);
	}
	free(t.in);
	free(t.cpus);
	if (t.meta >= 0)
		close(t.meta);
	close(c->fd);
}
