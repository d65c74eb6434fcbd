/* SPDX-License-Identifier: MIT */
/* See send.h, and msg.h for the protocol. Tests: tests/cli/test_listen.py. */
#include "tools/net/send.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/read_at.h"
#include "tools/base/time_ns.h"
#include "tools/dat/dat_pieces.h"
#include "tools/net/net_io.h"
#include "tools/net/tsync.h"

#define PART_BYTES  65536u
#define FINISH_NS   UINT64_C(60000000000) /* of the listener to write its file */
#define TABLE_BYTES 10u			  /* "flyrecord" with its NUL, before the table of CPUs */

struct net_sender {
	int fd;
	bool ours; /* the listener is `vestige listen` */
	const char *where;
};

static int lost(const struct net_sender *s, int err)
{
	return fail(-err, "%s: %s", s->where,
		    err == -EPROTO	 ? "it is no listener of trace-cmd's protocol"
		    : err == -ECONNRESET ? "the listener has closed the connection"
		    : err == -ETIMEDOUT	 ? "the listener does not answer"
					 : strerror(-err));
}

static int put(struct net_sender *s, const void *from, size_t n)
{
	return net_write(s->fd, from, n, net_deadline());
}

static int begin(struct net_sender *s)
{
	char word[16];
	struct tsync sync;
	int err = net_read(s->fd, word, strlen(MSG_GREETING), net_deadline());

	if (!err && memcmp(word, MSG_GREETING, strlen(MSG_GREETING)) != 0)
		err = -EPROTO;
	if (!err)
		err = put(s, MSG_OURS, sizeof(MSG_OURS));
	/* "VESTIGE" or "V3"; older listeners send it without a NUL */
	if (!err)
		err = net_read(s->fd, word, 2, net_deadline());
	if (err || !memcmp(word, "V3", 2))
		return err;
	s->ours = true;
	err = net_read_word(s->fd, word, sizeof(word), net_deadline());
	if (!err && strcmp(word, "STIGE") != 0)
		err = -EPROTO;
	return err ? err : tsync_answer(s->fd, &sync);
}

int net_sender_open(const char *where, struct net_sender **out)
{
	struct net_sender *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return fail(ENOMEM, "out of memory");
	s->where = where;
	s->fd = net_connect(where);
	err = s->fd < 0 ? s->fd : begin(s);
	if (err && s->fd >= 0)
		err = lost(s, err);
	if (err) {
		net_sender_close(s);
		return err;
	}
	*out = s;
	return 0;
}

bool net_sender_synced(const struct net_sender *s)
{
	return s->ours;
}

void net_sender_close(struct net_sender *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

/* The second series of probes, and the end of the synchronization. */
static int end_sync(struct net_sender *s)
{
	static const uint8_t cpu[2];
	uint8_t bytes[MSG_MAX_BYTES];
	struct tsync sync;
	int err = put(s, bytes, msg_put_tsync(bytes, TSYNC_NONE, TSYNC_PROBE, cpu, sizeof(cpu)));

	if (!err)
		err = tsync_answer(s->fd, &sync);
	return err ? err : put(s, bytes, msg_put_tsync(bytes, TSYNC_NONE, TSYNC_STOP, NULL, 0));
}

/*
 * Receive a word of the listener. It may lack a NUL; one that is there is skipped before the next
 * word.
 */
static int expect_word(struct net_sender *s, const char *want)
{
	char word[8];
	int err = net_read(s->fd, word, 1, net_deadline());

	if (!err && !word[0])
		err = net_read(s->fd, word, 1, net_deadline());
	if (!err)
		err = net_read(s->fd, word + 1, strlen(want) - 1, net_deadline());
	return err ? err : memcmp(word, want, strlen(want)) ? -EPROTO : 0;
}

static int agree(struct net_sender *s, const struct msg_tinit *t, uint16_t *ports)
{
	static const char magic[sizeof(MSG_V3_MAGIC) + 1] = MSG_V3_MAGIC;
	uint8_t bytes[MSG_MAX_BYTES];
	struct msg m;
	int err = s->ours ? end_sync(s) : 0;

	if (!err)
		err = put(s, MSG_V3, sizeof(MSG_V3));
	if (!err)
		err = expect_word(s, "V3");
	if (!err)
		err = put(s, magic, sizeof(magic));
	if (!err)
		err = expect_word(s, "OK");
	if (!err)
		err = put(s, bytes, msg_put_tinit(bytes, t));
	if (!err)
		err = net_read_msg(s->fd, bytes, &m, net_deadline());
	return err ? err : msg_rinit(&m, t->cpus, ports);
}

/* Send the file up to its table of CPUs. */
static int send_meta(struct net_sender *s, int file, uint64_t n)
{
	uint8_t bytes[MSG_MAX_BYTES];
	char part[MSG_MAX_DATA];
	int err = 0;

	for (uint64_t done = 0; done < n && !err;) {
		size_t want = n - done < sizeof(part) ? (size_t)(n - done) : sizeof(part);

		err = read_at(file, part, want, done);
		if (!err)
			err = put(s, bytes,
				  msg_put(bytes, MSG_SEND_DATA, NULL, 0, part, (uint32_t)want));
		done += want;
	}
	return err ? err : put(s, bytes, msg_put(bytes, MSG_FIN_DATA, NULL, 0, NULL, 0));
}

/* @done, @total: bytes of all CPUs. */
static int send_cpu(struct net_sender *s, int file, const struct dat_stream *from, uint16_t port,
		    const struct net_watch *w, uint64_t *done, uint64_t total)
{
	int fd = net_connect_beside(s->fd, port), err = 0;
	static char part[PART_BYTES]; /* the stack may be small */
	char end;

	if (fd < 0)
		return fd;
	for (uint64_t at = from->start; at < from->end && !err;) {
		size_t want = from->end - at < PART_BYTES ? (size_t)(from->end - at) : PART_BYTES;

		err = read_at(file, part, want, at) ?: net_write(fd, part, want, net_deadline());
		at += want;
		*done += want;
		w->step(w->arg, *done, total);
		if (!err && atomic_load(w->stop))
			err = -EINTR;
	}
	/* the end of the connection shows that the listener has read all */
	if (!err)
		shutdown(fd, SHUT_WR);
	if (!err && net_read(fd, &end, 1, time_ns(CLOCK_MONOTONIC) + FINISH_NS) == -ETIMEDOUT)
		err = -ETIMEDOUT;
	close(fd);
	return err;
}

/*
 * Send CLOSE. Then `vestige listen` answers when the file is written; trace-cmd closes the
 * connection.
 */
static int finish(struct net_sender *s)
{
	uint64_t deadline = time_ns(CLOCK_MONOTONIC) + FINISH_NS;
	uint8_t bytes[MSG_MAX_BYTES];
	struct msg m;
	int err = put(s, bytes, msg_put(bytes, MSG_CLOSE, NULL, 0, NULL, 0));

	while (!err) {
		err = net_read_msg(s->fd, bytes, &m, deadline);
		if (!err && m.command == MSG_CLOSE_RESP)
			return 0;
	}
	return err == -ECONNRESET && !s->ours ? 0 : err;
}

int net_sender_send(struct net_sender *s, const char *path, const struct net_watch *w)
{
	uint64_t done = 0, total = 0;
	uint16_t ports[MSG_MAX_CPUS];
	struct msg_tinit t = {.tcp = true};
	struct dat_reader *d;
	int err = dat_open(path, true, &d);

	if (err)
		return err;
	t.cpus = d->buffers[0].nr_cpus;
	t.page_bytes = d->page_bytes;
	if (d->version != 6 || !t.cpus || t.cpus > MSG_MAX_CPUS)
		err = -EINVAL;
	if (!err)
		err = agree(s, &t, ports);
	if (!err)
		err = send_meta(s, d->layout.fd, d->buffers[0].at - TABLE_BYTES);
	for (uint32_t i = 0; i < t.cpus && !err; i++)
		total += d->buffers[0].streams[i].end - d->buffers[0].streams[i].start;
	for (uint32_t i = 0; i < t.cpus && !err; i++)
		err = send_cpu(s, d->layout.fd, &d->buffers[0].streams[i], ports[i], w, &done,
			       total);
	if (!err)
		err = finish(s);
	reader_close(&d->head);
	if (err == -EINTR)
		return fail(EINTR, "interrupted: not all was sent to %s", s->where);
	return err ? lost(s, err) : 0;
}
