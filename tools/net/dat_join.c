/* SPDX-License-Identifier: MIT */
/* See dat_join.h. Tests: tests/cli/test_listen.py, tests/fuzz/net.c. */
#include "tools/net/dat_join.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/move_bytes.h"
#include "tools/dat/dat_format.h"

#define MAX_LINKS 64u /* sections of options in a chain */

/* The file's version and byte order, for reading and writing its numbers. */
struct form {
	const char *name;
	const uint8_t *at; /* the file without the CPUs' data */
	uint64_t bytes;
	bool big;
	int version;
};

static uint64_t number(const struct form *f, uint64_t at, unsigned int width)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < width; i++)
		v |= (uint64_t)f->at[at + i] << 8 * (f->big ? width - 1 - i : i);
	return v;
}

static void put(const struct form *f, FILE *to, uint64_t v, unsigned int width)
{
	for (unsigned int i = 0; i < width; i++)
		fputc((int)(v >> 8 * (f->big ? width - 1 - i : i) & 0xff), to);
}

static int bad(const struct form *f, const char *what)
{
	return fail(EPROTO, "%s is no trace.dat: %s", f->name, what);
}

/* The offset behind the NUL of a text at @at; 0: there is no NUL. */
static uint64_t behind_text(const struct form *f, uint64_t at)
{
	const uint8_t *end = at < f->bytes ? memchr(f->at + at, 0, f->bytes - at) : NULL;

	return end ? (uint64_t)(end - f->at) + 1 : 0;
}

/* Magic, version, byte order. @behind: of the page's size. */
static int parse_head(struct form *f, uint64_t *behind)
{
	uint64_t at;

	if (f->bytes < DAT_MAGIC_BYTES || memcmp(f->at, DAT_MAGIC, DAT_MAGIC_BYTES) != 0)
		return bad(f, "its first bytes are others");
	at = behind_text(f, DAT_MAGIC_BYTES);
	if (!at || at - DAT_MAGIC_BYTES != 2 || (f->at[at - 2] != '6' && f->at[at - 2] != '7'))
		return bad(f, "its version is neither 6 nor 7");
	f->version = f->at[at - 2] - '0';
	if (f->bytes - at < 6)
		return bad(f, "it is cut");
	f->big = f->at[at] == 1;
	*behind = at + 6;
	return 0;
}

static void put_option(const struct form *f, FILE *to, uint16_t id, const void *data, uint32_t n)
{
	put(f, to, id, 2);
	put(f, to, n, 4);
	fwrite(data, 1, n, to);
}

static void put_offset(const struct form *f, const struct dat_join *j, FILE *to)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRId64, j->offset_ns);

	if (j->synced)
		put_option(f, to, DAT_OFFSET, text, (uint32_t)n + 1);
}

static uint64_t whole(const struct dat_join *j, uint32_t cpu)
{
	return j->cpus[cpu].bytes / j->page_bytes * j->page_bytes;
}

static uint64_t aligned(const struct dat_join *j, uint64_t at)
{
	return (at + j->page_bytes - 1) / j->page_bytes * j->page_bytes;
}

static void put_zeros(FILE *to, uint64_t n)
{
	while (n--)
		fputc(0, to);
}

static int put_pages(const struct dat_join *j, FILE *to)
{
	/* pages are freed only after all data before them has been written */
	int err = j->free ? stream_error(to) : 0;

	for (uint32_t cpu = 0; cpu < j->nr_cpus && !err; cpu++)
		err = move_bytes(j->cpus[cpu].fd, whole(j, cpu), to, j->free);
	return err ? fail_errno(-err, "cannot write the pages") : 0;
}

static int join_v6(const struct form *f, const struct dat_join *j, FILE *to)
{
	uint64_t at;

	if (j->with_options) {
		if (f->bytes < 2 || number(f, f->bytes - 2, 2) != DAT_DONE)
			return bad(f, "its options have no end");
		fwrite(f->at, 1, f->bytes - 2, to);
	} else {
		fwrite(f->at, 1, f->bytes, to);
		put(f, to, j->nr_cpus, 4);
		fwrite("options  ", 1, 10, to);
	}
	put_offset(f, j, to);
	put(f, to, DAT_DONE, 2);
	fwrite("flyrecord", 1, 10, to);
	at = (uint64_t)ftell(to) + j->nr_cpus * UINT64_C(16);
	for (uint32_t cpu = 0; cpu < j->nr_cpus; cpu++) {
		at = aligned(j, at);
		put(f, to, at, 8);
		put(f, to, whole(j, cpu), 8);
		at += whole(j, cpu);
	}
	at = (uint64_t)ftell(to);
	put_zeros(to, aligned(j, at) - at);
	return put_pages(j, to);
}

/*
 * Version 7: follow the chain of options to its last link, which is 0. @at: the offset of the first
 * link, in the head; gets the offset of the last one. @clock: gets the name of the clock.
 */
static int last_link(const struct form *f, uint64_t *at, char clock[32])
{
	for (unsigned int i = 0; i < MAX_LINKS; i++) {
		uint64_t section = number(f, *at, 8), end;
		bool done = false;

		if (!section)
			return 0;
		if (section > f->bytes || f->bytes - section < DAT_SECTION_BYTES ||
		    number(f, section, 2) != DAT_DONE || number(f, section + 2, 2))
			return bad(f, "its options");
		end = number(f, section + 8, 8);
		section += DAT_SECTION_BYTES;
		if (end > f->bytes - section)
			return bad(f, "its options are cut");
		end += section;
		while (!done && end - section >= 6) {
			uint64_t id = number(f, section, 2), n = number(f, section + 2, 4);
			const char *data = (const char *)f->at + section + 6, *open, *close;

			if (n > end - section - 6 || (id == DAT_DONE && n < 8))
				return bad(f, "an option is cut");
			done = id == DAT_DONE;
			if (done)
				*at = section + 6;
			open = id == DAT_TRACECLOCK ? memchr(data, '[', n) : NULL;
			close = open ? memchr(open, ']', n - (size_t)(open - data)) : NULL;
			if (close)
				snprintf(clock, 32, "%.*s",
					 (int)(close - open < 32 ? close - open - 1 : 31),
					 open + 1);
			section += 6 + n;
		}
		if (!done)
			return bad(f, "its options have no end");
	}
	return bad(f, "its options have no end");
}

static void put_section(const struct form *f, FILE *to, uint16_t id, uint64_t bytes)
{
	put(f, to, id, 2);
	put(f, to, 0, 2); /* not compressed */
	put(f, to, 0, 4);
	put(f, to, bytes, 8);
}

/* The option that names the buffer, whose section is at @section and whose pages begin at @at. */
static int put_buffer_option(const struct form *f, const struct dat_join *j, FILE *to,
			     const char *clock, uint64_t section, uint64_t at)
{
	size_t bytes = 0;
	char *data = NULL;
	FILE *o = open_memstream(&data, &bytes);

	if (!o)
		return fail(ENOMEM, "out of memory");
	put(f, o, section, 8);
	fputc(0, o); /* the top buffer has no name */
	fwrite(clock, 1, strlen(clock) + 1, o);
	put(f, o, j->page_bytes, 4);
	put(f, o, j->nr_cpus, 4);
	for (uint32_t cpu = 0; cpu < j->nr_cpus; cpu++) {
		put(f, o, cpu, 4);
		put(f, o, at, 8);
		put(f, o, whole(j, cpu), 8);
		at += whole(j, cpu);
	}
	if (fclose(o)) {
		free(data);
		return fail(ENOMEM, "out of memory");
	}
	put_option(f, to, DAT_BUFFER, data, (uint32_t)bytes);
	free(data);
	return 0;
}

static int join_v7(const struct form *f, const struct dat_join *j, uint64_t behind, FILE *to)
{
	uint64_t link = behind_text(f, behind), section, data, options, end;
	char clock[32] = "local";
	int err;

	link = link ? behind_text(f, link) : 0;
	if (!link || f->bytes - link < 8)
		return bad(f, "it is cut");
	err = last_link(f, &link, clock);
	if (err)
		return err;
	fwrite(f->at, 1, f->bytes, to);
	section = f->bytes;
	data = aligned(j, section + DAT_SECTION_BYTES);
	end = data;
	for (uint32_t cpu = 0; cpu < j->nr_cpus; cpu++)
		end += whole(j, cpu);
	put_section(f, to, DAT_BUFFER, end - section - DAT_SECTION_BYTES);
	put_zeros(to, data - section - DAT_SECTION_BYTES);
	err = put_pages(j, to);
	if (err)
		return err;
	options = (uint64_t)ftell(to);
	put_section(f, to, DAT_DONE, 0);
	put_offset(f, j, to);
	err = put_buffer_option(f, j, to, clock, section, data);
	if (err)
		return err;
	put(f, to, DAT_DONE, 2);
	put(f, to, 8, 4);
	put(f, to, 0, 8);
	end = (uint64_t)ftell(to);
	fseek(to, (long)options + 8, SEEK_SET);
	put(f, to, end - options - DAT_SECTION_BYTES, 8);
	fseek(to, (long)link, SEEK_SET);
	put(f, to, options, 8);
	return 0;
}

int dat_join(const struct dat_join *j, int out)
{
	struct form f = {.name = j->name, .bytes = j->bytes};
	uint64_t behind;
	FILE *to;
	int err, fd, failed;

	if (!j->bytes)
		return bad(&f, "it is empty");
	f.at = mmap(NULL, j->bytes, PROT_READ, MAP_PRIVATE, j->fd, 0);
	if (f.at == MAP_FAILED)
		return fail_errno(errno, "cannot read %s", j->name);
	err = parse_head(&f, &behind);
	if (!err && f.version == 7 && !j->with_options)
		err = bad(&f, "version 7 needs protocol 3");
	fd = err ? -1 : dup(out);
	to = fd < 0 ? NULL : fdopen(fd, "r+");
	if (!err && !to)
		err = fail_errno(errno, "cannot write");
	if (!err)
		err = f.version == 6 ? join_v6(&f, j, to) : join_v7(&f, j, behind, to);
	failed = to && !err ? stream_error(to) : 0;
	if (to && fclose(to) && !failed)
		failed = -errno;
	if (!err && failed)
		err = fail_errno(-failed, "cannot write");
	munmap((void *)f.at, j->bytes);
	return err;
}
