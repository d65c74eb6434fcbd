/* SPDX-License-Identifier: MIT */
/* See restore.h. Tests: tests/cli/test_restore.py. */
#include "tools/record/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/open_regular.h"
#include "tools/dat/dat_format.h"
#include "tools/dat/dat_pieces.h"
#include "tools/export/dat_file.h"
#include "tools/net/dat_join.h"
#include "tools/record/kernel_meta.h"

#define MAX_CPUS 8192u

static int put_machine(const struct restore_options *o, FILE *f)
{
	int err;
	struct target *top =
		o->tracing ? target_kernel_at(o->tracing, &err) : target_kernel(NULL, &err);

	if (!top)
		return err;
	err = kernel_meta_put(top, o->kallsyms ? o->kallsyms : "/proc/kallsyms", f);
	target_put(top);
	return err;
}

static int write_partial(const struct restore_options *o, const struct dat_file *to)
{
	int fd = dup(to->fd), err;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r+");

	if (!f) {
		err = errno;
		if (fd >= 0)
			close(fd);
		return dat_file_failed(to, -err);
	}
	err = put_machine(o, f);
	if ((ferror(f) | fclose(f)) && !err)
		err = dat_file_failed(to, errno ? -errno : -EIO);
	return err;
}

int restore_partial(const struct restore_options *o)
{
	struct dat_file to;
	int err = dat_file_create(&to, o->output);

	if (err)
		return err;
	err = write_partial(o, &to);
	if (!err)
		return dat_file_commit(&to);
	dat_file_abort(&to);
	return err;
}

/* The CPU number at the end of a name. Return: it, or -1. */
static long cpu_of(const char *name)
{
	const char *at = strrchr(name, '.');
	char *end;
	unsigned long n;

	if (!at || strncmp(at, ".cpu", 4) != 0 || at[4] < '0' || at[4] > '9')
		return -1;
	n = strtoul(at + 4, &end, 10);
	return *end || n >= MAX_CPUS ? -1 : (long)n;
}

struct cpus {
	struct dat_join_cpu *at;
	const char **names; /* NULL: of no file */
	uint32_t nr;
};

static int open_cpu(struct cpus *c, uint32_t cpu, const char *name)
{
	struct dat_join_cpu *to = &c->at[cpu];
	struct stat st;

	if (c->names[cpu])
		return fail(EEXIST, "'%s' and '%s' are both of CPU %u", c->names[cpu], name, cpu);
	c->names[cpu] = name;
	to->fd = open_regular(name, &st);
	if (to->fd < 0)
		return to->fd;
	to->bytes = (uint64_t)st.st_size;
	return 0;
}

static int open_cpus(struct cpus *c, char *const *files, int nr)
{
	bool named = true;
	int err = 0;

	for (int i = 0; i < nr; i++)
		named &= cpu_of(files[i]) >= 0;
	for (int i = 0; i < nr; i++) {
		uint32_t cpu = (uint32_t)(named ? cpu_of(files[i]) : i);

		c->nr = cpu >= c->nr ? cpu + 1 : c->nr;
	}
	if (c->nr > MAX_CPUS)
		return fail(E2BIG, "more than %u files", MAX_CPUS);
	c->at = calloc(c->nr, sizeof(*c->at));
	c->names = calloc(c->nr, sizeof(*c->names));
	if (!c->at || !c->names)
		return fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i < c->nr; i++)
		c->at[i].fd = -1;
	for (int i = 0; i < nr && !err; i++)
		err = open_cpu(c, (uint32_t)(named ? cpu_of(files[i]) : i), files[i]);
	return err;
}

static void close_cpus(struct cpus *c)
{
	for (uint32_t i = 0; c->at && i < c->nr; i++)
		if (c->at[i].fd >= 0)
			close(c->at[i].fd);
	free(c->at);
	free(c->names);
}

/* Behind magic and version: byte order, bytes of a long, bytes of a page. */
static int read_head(struct dat_join *j)
{
	uint8_t head[DAT_MAGIC_BYTES + 8];
	const uint8_t *page = head + DAT_MAGIC_BYTES + 4;

	if (pread(j->fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return fail(EINVAL, "%s is no trace.dat: it is cut", j->name);
	j->with_options = head[DAT_MAGIC_BYTES] == '7';
	for (unsigned int i = 0; i < 4; i++)
		j->page_bytes |= (uint32_t)page[i] << 8 * (head[DAT_MAGIC_BYTES + 2] ? 3 - i : i);
	if (j->page_bytes < 64 || j->page_bytes & (j->page_bytes - 1))
		return fail(EINVAL, "%s is no trace.dat: its page has %" PRIu32 " bytes", j->name,
			    j->page_bytes);
	return 0;
}

/* Check the result: if the partial file was complete already, the new pages are not found in it. */
static int check_result(const char *path, const struct dat_join *j)
{
	struct dat_reader *d;
	uint64_t bytes = 0, got = 0, end = 0;
	int err = dat_open(path, true, &d);

	if (err)
		return fail(-err, "%s does not go with these files", j->name);
	for (uint32_t i = 0; i < j->nr_cpus; i++)
		bytes += j->cpus[i].bytes / j->page_bytes * j->page_bytes;
	for (uint32_t i = 0; i < d->buffers[0].nr_cpus; i++) {
		const struct dat_stream *s = &d->buffers[0].streams[i];

		got += s->end - s->start;
		if (s->end > s->start)
			end = s->end;
	}
	if (d->nr_buffers != 1 || got != bytes ||
	    (bytes && d->version == 6 && end != d->file_bytes))
		err = fail(EINVAL, "%s is no partial file: it has records of its own", j->name);
	reader_close(&d->head);
	return err;
}

static void note_cut(const struct cpus *c, uint32_t page_bytes)
{
	for (uint32_t i = 0; i < c->nr; i++)
		if (c->at[i].bytes % page_bytes)
			note("'%s': %" PRIu64 " bytes of a page that is not whole are left out",
			     c->names[i], c->at[i].bytes % page_bytes);
}

static uint64_t number(const uint8_t *at, unsigned int bytes, bool big)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < bytes; i++)
		n |= (uint64_t)at[big ? bytes - 1 - i : i] << 8 * i;
	return n;
}

/*
 * Check the pages of a CPU, which are sub-buffers: each begins with its time and its used bytes,
 * and the times ascend. Return: 0 or -EINVAL with fail() set.
 */
static int check_pages(const struct cpus *c, const struct dat_join *j)
{
	uint8_t head[DAT_MAGIC_BYTES + 8], page[16];
	unsigned int long_bytes;
	bool big;

	if (pread(j->fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return fail(EINVAL, "%s is no trace.dat: it is cut", j->name);
	big = head[DAT_MAGIC_BYTES + 2];
	long_bytes = head[DAT_MAGIC_BYTES + 3] == 4 ? 4 : 8;
	for (uint32_t i = 0; i < c->nr; i++) {
		uint64_t last = 0;

		if (c->names[i] && c->at[i].bytes && c->at[i].bytes < j->page_bytes)
			return fail(EINVAL,
				    "'%s' has no records of a CPU: it is shorter than a page of "
				    "%" PRIu32 " bytes",
				    c->names[i], j->page_bytes);
		for (uint64_t at = 0; at + j->page_bytes <= c->at[i].bytes; at += j->page_bytes) {
			uint64_t ts, used;

			if (pread(c->at[i].fd, page, sizeof(page), (off_t)at) !=
			    (ssize_t)sizeof(page))
				return fail_errno(errno ? errno : EIO, "cannot read '%s'",
						  c->names[i]);
			ts = number(page, 8, big);
			/*
			 * the upper bits flag lost records; a head may have 8 as the size of a long
			 * that has 4 bytes
			 */
			used = number(page + 8, long_bytes, big) & SUBBUF_COMMIT_MASK;
			if (used > j->page_bytes - 12 || ts < last)
				return fail(EINVAL,
					    "'%s' has no records of a CPU: its page at %" PRIu64
					    " is none of a ring buffer",
					    c->names[i], at);
			last = ts;
		}
	}
	return 0;
}

static int join(const struct restore_options *o, struct dat_join *j, const struct cpus *c)
{
	struct dat_file to;
	struct stat st;
	int err = fstat(j->fd, &st) ? fail_errno(errno, "cannot read %s", j->name) : read_head(j);

	if (err)
		return err;
	j->bytes = (uint64_t)st.st_size;
	err = check_pages(c, j);
	if (err)
		return err;
	err = dat_file_create(&to, o->output);
	if (err)
		return err;
	err = dat_join(j, to.fd);
	if (!err)
		err = check_result(to.tmp, j);
	if (err) {
		dat_file_abort(&to);
		return err;
	}
	note_cut(c, j->page_bytes);
	return dat_file_commit(&to);
}

/* Write this machine's data to a file in memory. */
static int open_machine(const struct restore_options *o, FILE **out)
{
	FILE *f = tmpfile();
	int err;

	if (!f)
		return fail_errno(errno, "cannot make a file");
	err = put_machine(o, f);
	if ((fflush(f) || ferror(f)) && !err)
		err = fail_errno(errno ? errno : EIO, "cannot write");
	if (err)
		fclose(f);
	else
		*out = f;
	return err;
}

static int open_given(const char *path, FILE **out)
{
	struct stat st;
	int fd = open_regular(path, &st);

	if (fd < 0)
		return fd;
	*out = fdopen(fd, "r");
	if (*out)
		return 0;
	close(fd);
	return fail(ENOMEM, "out of memory");
}

int restore(const struct restore_options *o, char *const *files, int nr)
{
	struct cpus c = {0};
	char name[300];
	FILE *front = NULL;
	int err = open_cpus(&c, files, nr);

	if (!err)
		err = o->partial ? open_given(o->partial, &front) : open_machine(o, &front);
	if (!err) {
		struct dat_join j = {
			.name = name, .fd = fileno(front), .nr_cpus = c.nr, .cpus = c.at};

		snprintf(name, sizeof(name), o->partial ? "'%s'" : "this machine", o->partial);
		err = join(o, &j, &c);
		fclose(front);
	}
	close_cpus(&c);
	return err;
}
