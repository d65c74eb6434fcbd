/* SPDX-License-Identifier: MIT */
/* See profile_rows.h. Tests: tests/unit/reader/test_profile_rows.c, tests/cli/test_top.py. */
#include "tools/area/profile_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/area/meta.h"
#include "tools/base/fail.h"
#include "tools/base/read_at.h"

/*
 * @bytes: size of our row; the area's may be longer. Return: 0 and the rows, malloced; or -errno.
 */
static int read_table(int fd, const struct area_header *head, enum area_table_id id, size_t bytes,
		      const char *what, void **rows, uint32_t *nr)
{
	const struct area_table *t = AREA_TABLE(head, id);
	char *at;
	int err;

	*rows = NULL;
	*nr = 0;
	if (!meta_has_table(head, id) || !t->count)
		return 0;
	at = malloc((size_t)t->count * t->entry_bytes);
	if (!at)
		return fail(ENOMEM, "out of memory for the counts of functions");
	err = read_at_or_fail(fd, at, (size_t)t->count * t->entry_bytes, t->offset, what);
	if (err) {
		free(at);
		return err;
	}
	for (uint32_t i = 1; t->entry_bytes > bytes && i < t->count; i++)
		memmove(at + i * bytes, at + (size_t)i * t->entry_bytes, bytes);
	*rows = at;
	*nr = t->count;
	return 0;
}

int profile_rows_read(int fd, const char *what, struct profile_rows *out)
{
	struct area_header head = {0};
	off_t bytes = lseek(fd, 0, SEEK_END);
	void *rows, *times;
	ssize_t n;
	int err;

	*out = (struct profile_rows){0};
	do
		n = pread(fd, &head, sizeof(head), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 || bytes < 0)
		return fail_errno(errno, "cannot read %s", what);
	if (n >= (ssize_t)sizeof(uint64_t) && head.header_bytes < sizeof(head) &&
	    head.header_bytes < (size_t)n)
		memset((char *)&head + head.header_bytes, 0, sizeof(head) - head.header_bytes);
	err = meta_check_head(&head, (uint64_t)bytes, what);
	if (err)
		return err;
	out->on = head.profile_on;
	out->since = head.profile_since;
	out->missed = head.profile_missed;
	/* a row's times exist before the row refers to them, so rows are read first */
	err = read_table(fd, &head, AREA_PROFILE, sizeof(*out->rows), what, &rows, &out->nr);
	out->rows = rows;
	if (!err)
		err = read_table(fd, &head, AREA_TIMES, sizeof(*out->times), what, &times,
				 &out->nr_times);
	if (!err)
		out->times = times;
	else
		profile_rows_free(out);
	return err;
}

void profile_rows_free(struct profile_rows *p)
{
	free(p->rows);
	free(p->times);
	*p = (struct profile_rows){0};
}

unsigned int profile_bucket(uint64_t ns, unsigned int *octave)
{
	*octave = 0;
	if (ns < AREA_TIMES_BUCKETS)
		return (unsigned int)ns;
	*octave = 63u - (unsigned int)__builtin_clzll(ns) - 4u;
	if (*octave >= AREA_TIMES_OCTAVES) {
		*octave = AREA_TIMES_OCTAVES - 1;
		return AREA_TIMES_BUCKETS - 1;
	}
	return (unsigned int)(ns >> (*octave - 1)) & (AREA_TIMES_BUCKETS - 1);
}

double profile_bucket_ns(unsigned int octave, unsigned int bucket)
{
	double width;

	if (!octave)
		return bucket;
	width = (double)(UINT64_C(1) << (octave - 1));
	return (AREA_TIMES_BUCKETS + bucket) * width + (width - 1) / 2;
}
