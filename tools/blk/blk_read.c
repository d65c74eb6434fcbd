/* SPDX-License-Identifier: MIT */
/* See blk_read.h. */
#include "tools/blk/blk_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"

#define BUF_BYTES (256u << 10) /* more than the longest record */
#define BATCH	  512u	       /* records of one read of a file, as in blkparse */

struct held {
	struct blk_event e;
	unsigned char *pdu; /* malloced; NULL: none */
};

/* One file. held[first .. nr) are records that were read and not given yet. */
struct stream {
	int fd; /* -1: it was read to its end */
	unsigned char *buf;
	size_t at, end;	 /* of the bytes in buf */
	uint64_t offset; /* of buf[at] in the file */
	char *path;
	unsigned int input, cpu;
	bool of_cpu;  /* a file of one CPU */
	bool swapped; /* the other byte order */
	bool known;   /* `swapped` is known */
	struct held *held;
	size_t first, nr, room;
	/*
	 * For one stream of all CPUs: held[first .. ready) may be given, in order of time. A record
	 * has to wait until a later batch was read, because CPUs write whole buffers.
	 */
	size_t ready;
	uint64_t newest_ns;  /* of the batches before the last one */
	struct stream *next; /* in order of time of the first held record */
};

struct name {
	uint32_t pid;
	char comm[BLK_COMM_BYTES + 1];
};

struct sequence {
	uint32_t cpu, last;
};

struct skips {
	struct sequence *of_cpu;
	size_t nr, room;
	uint64_t gaps, records;
};

struct blk_reader {
	struct stream **streams;
	size_t nr_streams, room_streams;
	struct stream *order;
	struct blk_input *inputs;
	struct skips *skips; /* of each input */
	unsigned int nr_inputs, room_inputs;
	bool is_stream, messages;
	struct name *names; /* by pid */
	size_t nr_names, room_names;
	bool has_start;
	uint64_t zero_ns, start_at_ns;
	struct timespec start;
	void (*note)(void *arg, const struct blk_record *rec);
	void *note_arg;
	bool given; /* the first record of the first stream */
};

static size_t name_place(const struct blk_reader *r, uint32_t pid)
{
	return LOWER_BOUND(i, 0, r->nr_names, r->names[i].pid < pid);
}

const char *blk_reader_name(const struct blk_reader *r, uint32_t pid)
{
	size_t i = name_place(r, pid);

	return i < r->nr_names && r->names[i].pid == pid ? r->names[i].comm : NULL;
}

int blk_reader_add_name(struct blk_reader *r, uint32_t pid, const char *comm, unsigned int bytes)
{
	size_t i = name_place(r, pid);
	unsigned int n = bytes < BLK_COMM_BYTES ? bytes : BLK_COMM_BYTES;

	if (i < r->nr_names && r->names[i].pid == pid)
		return 0;
	if (ARRAY_ROOM(r->names, r->nr_names, r->room_names, 64))
		return fail(ENOMEM, "out of memory for the names of processes");
	memmove(r->names + i + 1, r->names + i, (r->nr_names++ - i) * sizeof(*r->names));
	r->names[i] = (struct name){.pid = pid};
	if (n)
		memcpy(r->names[i].comm, comm, n);
	return 0;
}

static void swap_event(struct blk_event *e)
{
	e->magic = __builtin_bswap32(e->magic);
	e->sequence = __builtin_bswap32(e->sequence);
	e->time_ns = __builtin_bswap64(e->time_ns);
	e->sector = __builtin_bswap64(e->sector);
	e->bytes = __builtin_bswap32(e->bytes);
	e->action = __builtin_bswap32(e->action);
	e->pid = __builtin_bswap32(e->pid);
	e->device = __builtin_bswap32(e->device);
	e->cpu = __builtin_bswap32(e->cpu);
	e->error = __builtin_bswap16(e->error);
	e->pdu_bytes = __builtin_bswap16(e->pdu_bytes);
}

static void fill(struct blk_record *rec, const struct held *h)
{
	*rec = (struct blk_record){.e = h->e, .pdu = h->pdu, .pdu_bytes = h->e.pdu_bytes};
	if (!(h->e.action & BLK_ACT_CGROUP) || h->e.pdu_bytes < BLK_CGROUP_BYTES)
		return;
	memcpy(&rec->cgroup, h->pdu, sizeof(rec->cgroup));
	rec->pdu += BLK_CGROUP_BYTES;
	rec->pdu_bytes -= BLK_CGROUP_BYTES;
}

static bool is_message(const struct blk_reader *r, const struct blk_event *e)
{
	return e->action == BLK_NOTE_MESSAGE ||
	       (r->messages && e->action == (BLK_NOTE_MESSAGE | BLK_ACT_CGROUP));
}

static int take_note(struct blk_reader *r, const struct stream *s, const struct held *h)
{
	struct blk_record rec;
	uint32_t day[2];
	int err = 0;

	fill(&rec, h);
	if (h->e.action == BLK_NOTE_PROCESS) {
		err = blk_reader_add_name(r, h->e.pid, (const char *)rec.pdu, rec.pdu_bytes);
	} else if (h->e.action == BLK_NOTE_TIMESTAMP && rec.pdu_bytes == sizeof(day)) {
		memcpy(day, rec.pdu, sizeof(day));
		r->start.tv_sec = s->swapped ? __builtin_bswap32(day[0]) : day[0];
		r->start.tv_nsec = s->swapped ? __builtin_bswap32(day[1]) : day[1];
		r->start_at_ns = h->e.time_ns;
		r->has_start = true;
	}
	if (!err && r->note)
		r->note(r->note_arg, &rec);
	return err;
}

/* Make @n bytes available at s->buf + s->at. Return: their number, less at the end; -errno. */
static ssize_t have(struct stream *s, size_t n)
{
	while (s->end - s->at < n) {
		ssize_t got;

		memmove(s->buf, s->buf + s->at, s->end - s->at);
		s->end -= s->at;
		s->at = 0;
		got = read(s->fd, s->buf + s->end, BUF_BYTES - s->end);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_errno(errno, "cannot read '%s'", s->path);
		if (!got)
			return (ssize_t)s->end;
		s->end += (size_t)got;
	}
	return (ssize_t)n;
}

static void take(struct stream *s, void *to, size_t n)
{
	memcpy(to, s->buf + s->at, n);
	s->at += n;
	s->offset += n;
}

/* Read one record. Return: 1; 0: the end of the file, or the rest cannot be read; -errno. */
static int read_one(struct stream *s, struct held *h)
{
	ssize_t n = have(s, sizeof(h->e));

	h->pdu = NULL;
	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(h->e)) {
		if (n)
			note("%s: the last record is cut: %zd of %zu bytes", s->path, n,
			     sizeof(h->e));
		return 0;
	}
	take(s, &h->e, sizeof(h->e));
	if (!s->known) {
		s->swapped = (__builtin_bswap32(h->e.magic) & ~0xffu) == BLK_MAGIC;
		s->known = true;
	}
	if (s->swapped)
		swap_event(&h->e);
	if ((h->e.magic & ~0xffu) != BLK_MAGIC) {
		note("%s: no record of blktrace at byte %" PRIu64
		     ": the rest of the file is left out",
		     s->path, s->offset - sizeof(h->e));
		return 0;
	}
	if ((h->e.magic & 0xffu) != BLK_VERSION) {
		note("%s: records of version %u, known is version %u: they are left out", s->path,
		     h->e.magic & 0xffu, BLK_VERSION);
		return 0;
	}
	if (!h->e.pdu_bytes)
		return 1;
	n = have(s, h->e.pdu_bytes);
	if (n < (ssize_t)h->e.pdu_bytes) {
		if (n >= 0)
			note("%s: the payload of the last record is cut", s->path);
		return n < 0 ? (int)n : 0;
	}
	h->pdu = malloc(h->e.pdu_bytes);
	if (!h->pdu)
		return fail(ENOMEM, "out of memory for a record's payload");
	take(s, h->pdu, h->e.pdu_bytes);
	return 1;
}

static void end_file(struct stream *s)
{
	if (s->fd > STDIN_FILENO)
		close(s->fd);
	s->fd = -1;
	free(s->buf);
	s->buf = NULL;
}

/* Would a read block? */
static bool waits(const struct stream *s)
{
	struct pollfd p = {.fd = s->fd, .events = POLLIN};

	return s->end - s->at < sizeof(struct blk_event) && !poll(&p, 1, 0);
}

static int by_time(const void *a, const void *b)
{
	const struct blk_event *x = &((const struct held *)a)->e;
	const struct blk_event *y = &((const struct held *)b)->e;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Read a batch. Return: 0 or -errno. */
static int read_batch(struct blk_reader *r, struct stream *s)
{
	int got = 1, err = 0;

	if (s->nr > s->first)
		memmove(s->held, s->held + s->first, (s->nr - s->first) * sizeof(*s->held));
	s->nr -= s->first;
	s->first = 0;
	for (unsigned int n = 0; !err && n < BATCH && (s->of_cpu || !n || !waits(s));) {
		struct held h;

		got = read_one(s, &h);
		if (got <= 0)
			break;
		if (s->of_cpu && h.e.cpu != s->cpu) {
			note("%s: a record of CPU %u in the file of CPU %u is left out", s->path,
			     h.e.cpu, s->cpu);
		} else if (BLK_HAS(&h.e, BLK_CAT_NOTIFY) && !is_message(r, &h.e)) {
			err = take_note(r, s, &h);
		} else if (ARRAY_ROOM(s->held, s->nr, s->room, BATCH)) {
			err = fail(ENOMEM, "out of memory for records");
		} else {
			s->held[s->nr++] = h;
			n++;
			continue;
		}
		free(h.pdu);
	}
	if (got <= 0)
		end_file(s);
	return got < 0 ? got : err;
}

/* Read batches until a record may be given, or the stream has ended. Return: 0 or -errno. */
static int refill(struct blk_reader *r, struct stream *s)
{
	s->ready = s->first;
	while (s->ready == s->first) {
		int err = s->fd < 0 ? 0 : read_batch(r, s);
		uint64_t newest = s->newest_ns;

		if (err)
			return err;
		s->ready = s->nr;
		if (s->of_cpu || s->first == s->nr)
			return 0;
		qsort(s->held + s->first, s->nr - s->first, sizeof(*s->held), by_time);
		s->newest_ns = s->held[s->nr - 1].e.time_ns;
		if (s->fd < 0)
			return 0;
		for (s->ready = s->first; s->ready < s->nr; s->ready++)
			if (s->held[s->ready].e.time_ns > newest)
				break;
	}
	return 0;
}

/*
 * Insert @s by the time of its next record. At equal times it comes behind the first stream and
 * before the others, as in blkparse.
 */
static void put_in_order(struct blk_reader *r, struct stream *s)
{
	uint64_t t = s->held[s->first].e.time_ns;
	struct stream **at = &r->order;

	if (*at && t >= (*at)->held[(*at)->first].e.time_ns) {
		at = &(*at)->next;
		while (*at && (*at)->held[(*at)->first].e.time_ns < t)
			at = &(*at)->next;
	}
	s->next = *at;
	*at = s;
}

static int add_stream(struct blk_reader *r, int fd, const char *path, unsigned int input,
		      unsigned int cpu, bool of_cpu)
{
	struct stream *s = calloc(1, sizeof(*s));
	int err;

	if (!s || !(s->path = strdup(path)) || !(s->buf = malloc(BUF_BYTES)) ||
	    ARRAY_ROOM(r->streams, r->nr_streams, r->room_streams, 8)) {
		if (s) {
			free(s->path);
			free(s->buf);
		}
		free(s);
		if (fd > STDIN_FILENO)
			close(fd);
		return fail(ENOMEM, "out of memory for %s", path);
	}
	r->streams[r->nr_streams++] = s;
	s->fd = fd;
	s->input = input;
	s->cpu = cpu;
	s->of_cpu = of_cpu;
	err = refill(r, s);
	if (!err && s->nr) {
		if (!r->is_stream)
			r->inputs[input].device = s->held[0].e.device;
		put_in_order(r, s);
	}
	return err;
}

static int add_input(struct blk_reader *r, const char *name, uint32_t device)
{
	char *copy = name ? strdup(name) : NULL;
	unsigned int room = r->room_inputs;
	struct skips *skips;

	if ((name && !copy) || ARRAY_ROOM(r->inputs, r->nr_inputs, room, 8))
		goto no_memory;
	skips = reallocarray(r->skips, room, sizeof(*skips));
	if (!skips)
		goto no_memory;
	r->skips = skips;
	r->room_inputs = room;
	r->skips[r->nr_inputs] = (struct skips){0};
	r->inputs[r->nr_inputs++] = (struct blk_input){.name = copy, .device = device};
	return 0;
no_memory:
	free(copy);
	return fail(ENOMEM, "out of memory for the list of devices");
}

/*
 * Add all files of a name. Return: 0; -ENOENT without fail(): there is none; -errno with fail()
 * set.
 */
static int add_files(struct blk_reader *r, const char *folder, const char *name)
{
	char *base = strdup(name), *end, *path;
	const char *last;
	int err = base ? 0 : fail(ENOMEM, "out of memory for %s", name);
	unsigned int cpu = 0;
	struct stat st;

	if (err)
		return err;
	end = strstr(base, ".blktrace.");
	if (end)
		*end = '\0';
	last = strrchr(base, '/');
	err = add_input(r, last ? last + 1 : base, 0);
	for (; !err; cpu++) {
		int fd;

		if (asprintf(&path, "%s%s%s.blktrace.%u", folder ? folder : "", folder ? "/" : "",
			     base, cpu) < 0) {
			err = fail(ENOMEM, "out of memory for %s", name);
			break;
		}
		if (stat(path, &st)) {
			free(path);
			break;
		}
		if (st.st_size) {
			fd = open(path, O_RDONLY | O_CLOEXEC);
			err = fd < 0 ? fail_errno(errno, "cannot open '%s'", path)
				     : add_stream(r, fd, path, r->nr_inputs - 1, cpu, true);
		}
		free(path);
	}
	free(base);
	return err ? err : cpu ? 0 : -ENOENT;
}

static int add_one_stream(struct blk_reader *r, const char *folder, const char *name)
{
	char *path = NULL;
	struct stat st;
	int fd = STDIN_FILENO, err;

	if (strcmp(name, "-")) {
		if (asprintf(&path, "%s%s%s", folder ? folder : "", folder ? "/" : "", name) < 0)
			return fail(ENOMEM, "out of memory for %s", name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			err = errno;
			free(path);
			return err == ENOENT
				       ? fail(ENOENT, "there is no %s.blktrace.0 and no file %s",
					      name, name)
				       : fail_errno(err, "cannot open '%s'", name);
		}
		if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
			close(fd);
			free(path);
			return fail(EISDIR, "%s is a folder: name a recording in it", name);
		}
	}
	r->is_stream = true;
	err = add_stream(r, fd, path ? path : "stdin", 0, 0, false);
	free(path);
	return err;
}

int blk_reader_open(const char *folder, const char *const *names, unsigned int nr, bool messages,
		    void (*note_fn)(void *, const struct blk_record *), void *arg,
		    struct blk_reader **out)
{
	struct blk_reader *r = calloc(1, sizeof(*r));
	int err = 0;

	*out = r;
	if (!r)
		return fail(ENOMEM, "out of memory for the recording");
	r->messages = messages;
	r->note = note_fn;
	r->note_arg = arg;
	for (unsigned int i = 0; i < nr && !err; i++) {
		bool is_stdin = !strcmp(names[i], "-");

		err = is_stdin ? -ENOENT : add_files(r, folder, names[i]);
		if (err == -ENOENT && nr == 1) {
			r->nr_inputs = 0;
			free(r->inputs ? r->inputs[0].name : NULL);
			err = add_one_stream(r, folder, names[i]);
		} else if (err == -ENOENT) {
			err = is_stdin ? fail(EINVAL, "- is one recording: name nothing beside it")
				       : fail(ENOENT, "there is no file %s.blktrace.0", names[i]);
		}
	}
	if (!err && r->order)
		r->zero_ns = r->order->held[r->order->first].e.time_ns;
	if (err) {
		blk_reader_close(r);
		*out = NULL;
	}
	return err;
}

void blk_reader_close(struct blk_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nr_streams; i++) {
		struct stream *s = r->streams[i];

		for (size_t k = s->first; k < s->nr; k++)
			free(s->held[k].pdu);
		end_file(s);
		free(s->held);
		free(s->path);
		free(s);
	}
	for (unsigned int i = 0; i < r->nr_inputs; i++) {
		free(r->inputs[i].name);
		free(r->skips[i].of_cpu);
	}
	free(r->streams);
	free(r->inputs);
	free(r->skips);
	free(r->names);
	free(r);
}

/* Find the input of a stream's record, and count the records that are missing before it. */
static int find_input(struct blk_reader *r, const struct blk_event *e, unsigned int *input)
{
	struct skips *k;
	size_t i;

	for (*input = 0; *input < r->nr_inputs; ++*input)
		if (r->inputs[*input].device == e->device)
			break;
	if (*input == r->nr_inputs) {
		int err = add_input(r, NULL, e->device);

		if (err)
			return err;
	}
	k = &r->skips[*input];
	if (is_message(r, e) || !e->sequence)
		return 0;
	for (i = 0; i < k->nr; i++)
		if (k->of_cpu[i].cpu == e->cpu)
			break;
	if (i == k->nr) {
		if (ARRAY_ROOM(k->of_cpu, k->nr, k->room, 8))
			return fail(ENOMEM, "out of memory for the numbers of records");
		k->of_cpu[k->nr++] = (struct sequence){e->cpu, e->sequence};
		return 0;
	}
	if (e->sequence > k->of_cpu[i].last + 1) {
		k->gaps++;
		k->records += e->sequence - k->of_cpu[i].last - 1;
	}
	if (e->sequence > k->of_cpu[i].last)
		k->of_cpu[i].last = e->sequence;
	return 0;
}

/* Step over the first record and sort its stream in again. Return: 0 or -errno. */
static int advance(struct blk_reader *r)
{
	struct stream *s = r->order;
	int err = 0;

	r->given = false;
	free(s->held[s->first++].pdu);
	r->order = s->next;
	s->next = NULL;
	if (s->first == s->ready)
		err = refill(r, s);
	if (err || s->first == s->ready)
		return err;
	/* at equal times it stays first */
	if (r->order && s->held[s->first].e.time_ns <= r->order->held[r->order->first].e.time_ns) {
		s->next = r->order;
		r->order = s;
	} else {
		put_in_order(r, s);
	}
	return 0;
}

int blk_reader_next(struct blk_reader *r, unsigned int *input, struct blk_record *rec)
{
	int err = r->given ? advance(r) : 0;

	if (err || !r->order)
		return err;
	fill(rec, &r->order->held[r->order->first]);
	r->given = true;
	rec->e.time_ns -= r->zero_ns;
	*input = r->order->input;
	err = r->is_stream ? find_input(r, &rec->e, input) : 0;
	return err ? err : 1;
}

const struct blk_input *blk_reader_inputs(const struct blk_reader *r, unsigned int *nr)
{
	*nr = r->nr_inputs;
	return r->inputs;
}

const char *blk_reader_file(const struct blk_reader *r, unsigned int i)
{
	return !r->is_stream && i < r->nr_streams ? r->streams[i]->path : NULL;
}

uint64_t blk_reader_zero(const struct blk_reader *r)
{
	return r->zero_ns;
}

bool blk_reader_start(const struct blk_reader *r, struct timespec *out)
{
	int64_t ns;

	*out = (struct timespec){0};
	if (!r->has_start)
		return false;
	ns = (int64_t)(r->zero_ns - r->start_at_ns) + r->start.tv_nsec;
	out->tv_sec = r->start.tv_sec + ns / 1000000000;
	out->tv_nsec = ns % 1000000000;
	if (out->tv_nsec < 0) {
		out->tv_nsec += 1000000000;
		out->tv_sec--;
	}
	return true;
}

void blk_reader_skips(const struct blk_reader *r, unsigned int input, uint64_t *gaps,
		      uint64_t *records)
{
	*gaps = r->skips[input].gaps;
	*records = r->skips[input].records;
}
