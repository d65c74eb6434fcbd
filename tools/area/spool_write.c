/* SPDX-License-Identifier: MIT */
/* See spool_write.h. Tests: tests/unit/reader/test_spool.c. */
#include "tools/area/spool_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "tools/area/spool_format.h"
#include "tools/area/spool_pack.h"
#include "tools/base/fail.h"
#include "tools/base/time_ns.h"
#include "tools/code/symbols.h"

#define MAX_CPUS 8192u
#define BATCH	 500u /* pages a call */
#define AT_ONCE	 64u  /* pages a call with a limit: two pieces each, on the stack */

/* One of the two regions of a CPU, when there is a limit. */
struct half {
	uint64_t offset; /* of its chunk; 0: not in the file yet */
	uint64_t used;	 /* slots */
};

struct cpu_halves {
	struct half half[2];
	unsigned int current;
};

struct spool_writer {
	int fd;
	char *path;
	uint64_t end; /* where the next chunk goes */
	uint64_t half_slots;
	uint64_t nr_pages;
	int failed;
	bool lacks_records;	 /* of the recording, though all was written */
	struct cpu_halves *cpus; /* MAX_CPUS when there is a limit */
	unsigned char *packed;	 /* room for BATCH pages when there is none */
	void (*make_room)(void *arg);
	void *room_arg;
};

static int write_iov(struct spool_writer *w, struct iovec *iov, int nr, uint64_t offset)
{
	while (nr) {
		ssize_t n = pwritev(w->fd, iov, nr, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENOSPC;
		offset += (uint64_t)n;
		while (nr && (size_t)n >= iov->iov_len) {
			n -= (ssize_t)iov->iov_len;
			iov++;
			nr--;
		}
		if (nr) {
			iov->iov_base = (char *)iov->iov_base + n;
			iov->iov_len -= (size_t)n;
		}
	}
	return 0;
}

static int write_at(struct spool_writer *w, const void *data, size_t bytes, uint64_t offset)
{
	struct iovec iov = {(void *)data, bytes};

	return write_iov(w, &iov, 1, offset);
}

/*
 * A write failed: cut off the incomplete chunk, and write no more chunks. EFAULT is about the area,
 * not about the file.
 */
static int refuse(struct spool_writer *w, int err)
{
	if (ftruncate(w->fd, (off_t)w->end))
		w->failed = -err;
	if (err == -EFAULT)
		return fail(EFAULT, "an area shrank while it was read");
	w->failed = -err;
	return fail_errno(-err, "cannot write %s", w->path);
}

int spool_begin(int fd, const char *path, const struct spool_origin *of, uint64_t max_kb,
		struct spool_writer **out)
{
	struct spool_head head = {
		.magic = SPOOL_MAGIC,
		.major = SPOOL_MAJOR,
		.minor = SPOOL_MINOR,
		.head_bytes = sizeof(head),
		.slot_bytes = sizeof(struct spool_slot),
		.nr_cpus_online = of->nr_cpus_online,
		.start_mono_ns = time_ns(CLOCK_MONOTONIC),
		.start_real_ns = time_ns(CLOCK_REALTIME),
	};
	struct spool_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w) {
		close(fd);
		return fail(ENOMEM, "out of memory for a spool");
	}
	w->fd = fd;
	w->path = strdup(path);
	if (max_kb) {
		w->half_slots = max_kb * 1024 / PAGE_BYTES / 2;
		if (!w->half_slots)
			w->half_slots = 1;
		w->cpus = calloc(MAX_CPUS, sizeof(*w->cpus));
	} else {
		w->packed = malloc(BATCH * SPOOL_PACKED_MAX);
	}
	if (!w->path || (!w->cpus && !w->packed)) {
		spool_close_writer(w);
		return fail(ENOMEM, "out of memory for a spool");
	}
	snprintf(head.uname, sizeof(head.uname), "%s", of->uname);
	snprintf(head.cmdline, sizeof(head.cmdline), "%s", of->cmdline);
	err = write_at(w, &head, sizeof(head), 0);
	if (err) {
		err = fail_errno(-err, "cannot write %s", path);
		spool_close_writer(w);
		return err;
	}
	w->end = sizeof(head);
	*out = w;
	return 0;
}

int spool_create(const char *path, const char *cmdline, uint64_t max_kb, struct spool_writer **out)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct spool_origin here = {.cmdline = cmdline,
				    .nr_cpus_online = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN)};
	char name[256];
	struct utsname u;
	int err;

	if (fd < 0)
		return fail_errno(errno, "cannot create %s", path);
	uname(&u);
	snprintf(name, sizeof(name), "%.60s %.60s %.60s %.60s", u.sysname, u.nodename, u.release,
		 u.machine);
	here.uname = name;
	err = spool_begin(fd, path, &here, max_kb, out);
	if (err)
		unlink(path);
	return err;
}

/* Has the file no room for all of a write? A part of it may fit. */
static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG;
}

static int write_chunk(struct spool_writer *w, uint32_t type, uint32_t member, const void *data,
		       size_t bytes)
{
	struct spool_chunk c = {
		.magic = SPOOL_CHUNK_MAGIC,
		.type = type,
		.member = member,
		.length = bytes,
		.used = bytes,
	};
	int err;

	for (;;) {
		struct iovec iov[2] = {{&c, sizeof(c)}, {(void *)data, bytes}};

		err = write_iov(w, iov, 2, w->end);
		if (!w->make_room || (err != -ENOSPC && err != -EDQUOT))
			break;
		w->make_room(w->room_arg);
		w->make_room = NULL;
	}
	if (!err)
		w->end += sizeof(c) + bytes;
	return err;
}

static int put_chunk(struct spool_writer *w, uint32_t type, uint32_t member, const void *data,
		     size_t bytes)
{
	int err = write_chunk(w, type, member, data, bytes);

	return err ? refuse(w, err) : 0;
}

int spool_put_meta(struct spool_writer *w, uint32_t member, const struct meta *m)
{
	size_t bytes;
	void *block;
	int err = meta_pack(m, &block, &bytes);

	if (err)
		return err;
	err = put_chunk(w, SPOOL_META, member, block, bytes);
	free(block);
	return err;
}

int spool_put_clock(struct spool_writer *w, const struct area_clock *pair)
{
	return put_chunk(w, SPOOL_CLOCK, 0, pair, sizeof(*pair));
}

struct slot_head {
	uint32_t member;
	uint32_t reserved;
	uint64_t publish_seq;
};

/* Add @nr slots to @iov. */
static int lay_out(struct iovec *iov, struct slot_head *heads, uint32_t member,
		   const struct spool_page *pages, unsigned int nr)
{
	int n = 0;

	for (unsigned int i = 0; i < nr; i++) {
		heads[i] = (struct slot_head){member, 0, pages[i].publish_seq};
		iov[n++] = (struct iovec){&heads[i], sizeof(heads[i])};
		iov[n++] = (struct iovec){(void *)pages[i].page, PAGE_BYTES};
	}
	return n;
}

static int put_packed(struct spool_writer *w, uint32_t member, const struct spool_page *pages,
		      unsigned int nr)
{
	unsigned int most = nr;

	/* on a full disk smaller and smaller chunks, until no page fits */
	while (nr) {
		unsigned int n = nr < most ? nr : most;
		size_t bytes = 0;
		int err;

		for (unsigned int i = 0; i < n; i++)
			bytes += spool_pack(pages[i].page, member, pages[i].publish_seq,
					    w->packed + bytes);
		err = write_chunk(w, SPOOL_PACKED, 0, w->packed, bytes);
		if (err && (!is_full(err) || n == 1 || ftruncate(w->fd, (off_t)w->end)))
			return refuse(w, err);
		if (err) {
			most = n / 2;
			continue;
		}
		w->nr_pages += n;
		pages += n;
		nr -= n;
	}
	return 0;
}

static int set_used(struct spool_writer *w, const struct half *h)
{
	uint64_t used = h->used * sizeof(struct spool_slot);

	return write_at(w, &used, sizeof(used), h->offset + offsetof(struct spool_chunk, used));
}

/* Make room in the current half of @c; if it is full, switch to the other one. */
static int half_ready(struct spool_writer *w, struct cpu_halves *c)
{
	struct half *h = &c->half[c->current];
	struct spool_chunk chunk = {
		.magic = SPOOL_CHUNK_MAGIC,
		.type = SPOOL_PAGES,
		.length = w->half_slots * sizeof(struct spool_slot),
	};
	int err;

	if (h->offset && h->used < w->half_slots)
		return 0;
	if (h->offset) {
		c->current = !c->current;
		h = &c->half[c->current];
		h->used = 0;
		if (h->offset)
			return set_used(w, h);
	}
	err = write_at(w, &chunk, sizeof(chunk), w->end);
	if (!err && ftruncate(w->fd, (off_t)(w->end + sizeof(chunk) + chunk.length)))
		err = -errno;
	if (err)
		return err;
	h->offset = w->end;
	w->end += sizeof(chunk) + chunk.length;
	return 0;
}

static int put_limited(struct spool_writer *w, uint32_t member, unsigned int cpu,
		       const struct spool_page *pages, unsigned int nr)
{
	struct cpu_halves *c = &w->cpus[cpu];
	struct slot_head heads[AT_ONCE];
	struct iovec iov[2 * AT_ONCE];
	unsigned int most = AT_ONCE;
	int err = 0;

	while (nr && !err) {
		struct half *h;
		unsigned int fit;

		err = half_ready(w, c);
		if (err)
			break;
		h = &c->half[c->current];
		fit = nr < most ? nr : most;
		if (w->half_slots - h->used < fit)
			fit = (unsigned int)(w->half_slots - h->used);
		err = write_iov(w, iov, lay_out(iov, heads, member, pages, fit),
				h->offset + sizeof(struct spool_chunk) +
					h->used * sizeof(struct spool_slot));
		if (is_full(err) && fit > 1) {
			most = fit / 2;
			err = 0;
			continue;
		}
		if (err)
			break;
		h->used += fit;
		err = set_used(w, h);
		w->nr_pages += fit;
		pages += fit;
		nr -= fit;
	}
	return err ? refuse(w, err) : 0;
}

int spool_put_pages(struct spool_writer *w, uint32_t member, unsigned int cpu,
		    const struct spool_page *pages, unsigned int nr)
{
	while (nr) {
		unsigned int n = nr < BATCH ? nr : BATCH;
		int err;

		if (w->failed)
			return -w->failed;
		if (w->half_slots)
			err = put_limited(w, member, cpu < MAX_CPUS ? cpu : MAX_CPUS - 1, pages, n);
		else
			err = put_packed(w, member, pages, n);
		if (err)
			return err;
		pages += n;
		nr -= n;
	}
	return 0;
}

int spool_put_open(struct spool_writer *w, uint32_t member, const void *page)
{
	if (w->failed)
		return -w->failed;
	return put_chunk(w, SPOOL_OPEN, 0, w->packed, spool_pack(page, member, 0, w->packed));
}

int spool_reads_pages(const struct spool_writer *w)
{
	return w->packed != NULL;
}

void spool_on_full(struct spool_writer *w, void (*make_room)(void *arg), void *arg)
{
	w->make_room = make_room;
	w->room_arg = arg;
}

int spool_failed(const struct spool_writer *w)
{
	return w->failed;
}

void spool_lacks_records(struct spool_writer *w)
{
	w->lacks_records = true;
}

int spool_end(struct spool_writer *w, uint64_t end_mono_ns)
{
	struct spool_end end = {
		.end_mono_ns = end_mono_ns,
		.nr_pages = w->nr_pages,
		.flags = w->failed || w->lacks_records ? SPOOL_END_INCOMPLETE : 0,
	};

	return put_chunk(w, SPOOL_END, 0, &end, sizeof(end));
}

int spool_put_names(struct spool_writer *w, const char *text, size_t bytes)
{
	static const char zeros[8];
	struct spool_chunk c = {
		.magic = SPOOL_CHUNK_MAGIC,
		.type = SPOOL_NAMES,
		.length = (bytes + 7) & ~(uint64_t)7,
		.used = bytes,
	};
	struct iovec iov[] = {
		{&c, sizeof(c)}, {(void *)text, bytes}, {(void *)zeros, c.length - bytes}};
	int err = write_iov(w, iov, 3, w->end);

	if (err)
		return refuse(w, err);
	w->end += sizeof(c) + c.length;
	return 0;
}

int spool_put_symbols(struct spool_writer *w, struct symbols *s)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *mem = open_memstream(&text, &bytes);
	int err;

	if (!mem)
		return fail(ENOMEM, "out of memory for the symbols");
	err = symbols_print_kallsyms(s, mem);
	if (fclose(mem) && !err)
		err = fail(ENOMEM, "out of memory for the symbols");
	if (!err)
		err = spool_put_names(w, text, bytes);
	free(text);
	return err;
}

void spool_close_writer(struct spool_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	free(w->cpus);
	free(w->packed);
	free(w->path);
	free(w);
}

uint64_t spool_bytes(const struct spool_writer *w)
{
	return w->end;
}
