/* SPDX-License-Identifier: MIT */
/* See tsync.h. Tests: tests/cli/test_listen.py, in time namespaces; tests/fuzz/net.c. */
#include "tools/net/tsync.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tools/base/time_ns.h"
#include "tools/net/msg.h"
#include "tools/net/net_io.h"

#define PTP "ptp"

enum { PTP_START = 1, PTP_PROBE = 2, PTP_PROBES = 3, PTP_OFFSET = 4, PTP_END = 5 };

#define START_BYTES  8u /* series, flags */
#define SAMPLE_BYTES 12u
#define PROBES_HEAD  8u /* series, number */
/* The size of trace-cmd's message; a sender of probes uses only the first half. */
#define PROBES_BYTES (PROBES_HEAD + 2 * TSYNC_PROBES * SAMPLE_BYTES)
#define OFFSET_BYTES 16u
#define MAX_TIME     (INT64_MAX / 4)

static int put(int fd, uint32_t id, const void *data, uint32_t bytes, uint64_t deadline)
{
	uint8_t out[MSG_MAX_BYTES];

	return net_write(fd, out, msg_put_tsync(out, PTP, id, data, bytes), deadline);
}

/* Receive the next message of this protocol, with at least @bytes of data. */
static int get(int fd, uint8_t *in, uint32_t *id, struct msg *m, uint64_t deadline)
{
	char name[MSG_NAME_BYTES];
	int err = net_read_msg(fd, in, m, deadline);

	if (!err)
		err = msg_tsync(m, name, id);
	return err ? err : strcmp(name, PTP) ? -EPROTO : 0;
}

static int expect(int fd, uint32_t id, uint8_t *in, struct msg *m, uint32_t bytes,
		  uint64_t deadline)
{
	uint32_t is;
	int err = get(fd, in, &is, m, deadline);

	return err ? err : is != id || m->data_bytes < bytes ? -EPROTO : 0;
}

/* The times of a probe: sent, received by the peer (the peer's clock), answer received. */
struct tsync_probe {
	int64_t sent, there, back;
};

/*
 * The offset that is consistent with all @n probes. If the clocks drift too much for one offset, it
 * is the offset by the fastest probe. Return: 0; -ERANGE: no probe has valid times.
 */
static int offset_of(const struct tsync_probe *probes, size_t n, struct tsync *out)
{
	int64_t low = INT64_MIN, high = INT64_MAX;
	const struct tsync_probe *best = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct tsync_probe *p = &probes[i];

		if (p->there < 0 || p->there > MAX_TIME || p->sent < 0 || p->back < p->sent ||
		    p->back > MAX_TIME)
			continue;
		if (p->sent - p->there > low)
			low = p->sent - p->there;
		if (p->back - p->there < high)
			high = p->back - p->there;
		if (!best || p->back - p->sent < best->back - best->sent)
			best = p;
	}
	if (!best)
		return -ERANGE;
	if (low > high) {
		low = best->sent - best->there;
		high = best->back - best->there;
	}
	out->offset_ns = low + (high - low) / 2;
	out->error_ns = (uint64_t)(high - low + 1) / 2;
	out->at_ns = (uint64_t)(best->sent + (best->back - best->sent) / 2);
	return 0;
}

/* One probe and its answer. */
static int probe(int fd, uint32_t number, struct tsync_probe *p, uint64_t deadline)
{
	uint8_t in[MSG_MAX_BYTES], count[4];
	struct msg m;
	int err;

	msg_set32(count, number);
	p->sent = (int64_t)time_ns(CLOCK_MONOTONIC);
	err = put(fd, PTP_PROBE, count, sizeof(count), deadline);
	if (!err)
		err = expect(fd, PTP_PROBE, in, &m, sizeof(count), deadline);
	p->back = (int64_t)time_ns(CLOCK_MONOTONIC);
	return err ? err : msg_get32(m.data) != number ? -EPROTO : 0;
}

/* Receive the times at which the peer got the probes. */
static int take_times(const struct msg *m, struct tsync_probe *probes)
{
	if (msg_get32(m->data + 4) != TSYNC_PROBES ||
	    m->data_bytes < PROBES_HEAD + TSYNC_PROBES * SAMPLE_BYTES)
		return -EPROTO;
	for (uint32_t i = 0; i < TSYNC_PROBES; i++) {
		const uint8_t *at = m->data + PROBES_HEAD + i * SAMPLE_BYTES;

		if (msg_get32(at + 8) != i + 1)
			return -EPROTO;
		probes[i].there = (int64_t)msg_get64(at);
	}
	return 0;
}

int tsync_measure(int fd, struct tsync *out)
{
	struct tsync_probe probes[TSYNC_PROBES];
	uint8_t in[MSG_MAX_BYTES], start[START_BYTES], offset[OFFSET_BYTES];
	uint64_t deadline = net_deadline();
	struct msg m;
	int err;

	msg_set32(start, 1); /* the series; no flag: the system's clock, not a marker's */
	msg_set32(start + 4, 0);
	err = put(fd, PTP_START, start, sizeof(start), deadline);
	if (!err)
		err = expect(fd, PTP_START, in, &m, 0, deadline);
	for (uint32_t i = 0; i < TSYNC_PROBES && !err; i++)
		err = probe(fd, i + 1, &probes[i], deadline);
	if (!err)
		err = put(fd, PTP_END, NULL, 0, deadline);
	if (!err)
		err = expect(fd, PTP_PROBES, in, &m, PROBES_HEAD, deadline);
	if (!err)
		err = take_times(&m, probes);
	if (!err)
		err = offset_of(probes, TSYNC_PROBES, out);
	if (err)
		return err;
	/* trace-cmd's sign: the peer's clock less ours */
	msg_set64(offset, out->at_ns);
	msg_set64(offset + 8, (uint64_t)-out->offset_ns);
	return put(fd, PTP_OFFSET, offset, sizeof(offset), deadline);
}

int tsync_answer(int fd, struct tsync *out)
{
	uint8_t in[MSG_MAX_BYTES], times[PROBES_BYTES] = {0};
	uint64_t deadline = net_deadline();
	uint32_t id, nr = 0;
	struct msg m;
	int err = expect(fd, PTP_START, in, &m, START_BYTES, deadline);

	if (err)
		return err;
	memcpy(times, m.data, 4);
	err = put(fd, PTP_START, m.data, START_BYTES, deadline);
	while (!err && !(err = get(fd, in, &id, &m, deadline)) && id == PTP_PROBE) {
		uint8_t *at = times + PROBES_HEAD + nr * SAMPLE_BYTES;

		if (nr == TSYNC_PROBES || m.data_bytes < 4)
			return -EPROTO;
		msg_set64(at, time_ns(CLOCK_MONOTONIC));
		memcpy(at + 8, m.data, 4);
		nr++;
		err = put(fd, PTP_PROBE, at + 8, 4, deadline);
	}
	if (err || id != PTP_END)
		return err ? err : -EPROTO;
	msg_set32(times + 4, nr);
	err = put(fd, PTP_PROBES, times, sizeof(times), deadline);
	if (!err)
		err = expect(fd, PTP_OFFSET, in, &m, OFFSET_BYTES, deadline);
	if (!err)
		*out = (struct tsync){.offset_ns = (int64_t)(0 - msg_get64(m.data + 8)),
				      .at_ns = msg_get64(m.data)};
	return err;
}
