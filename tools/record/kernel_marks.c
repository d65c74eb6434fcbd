/* SPDX-License-Identifier: MIT */
/*
 * See kernel_marks.h. The first writes take longer than later ones, since the caches are cold.
 * Tests: tests/cli/test_record_kernel.py.
 */
#include "tools/record/kernel_marks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/time_ns.h"

#define MARK	   READER_CLOCK_MARK
#define AT_LEAST   32u
#define AT_MOST	   (KERNEL_MARKS / 2)
#define BRACKET_NS UINT64_C(1000)

void kernel_marks_put(struct kernel_marks *m, int fd)
{
	uint64_t best = UINT64_MAX;
	char text[64];

	for (unsigned int i = 0; i < AT_MOST && (i < AT_LEAST || best >= BRACKET_NS); i++) {
		struct kernel_mark *k = &m->marks[m->nr];
		int n;

		if (m->nr == KERNEL_MARKS)
			return;
		n = snprintf(text, sizeof(text), MARK "%u\n", m->nr);
		k->before = time_ns(CLOCK_MONOTONIC);
		if (write(fd, text, (size_t)n) != n)
			return;
		k->after = time_ns(CLOCK_MONOTONIC);
		if (k->after - k->before < best)
			best = k->after - k->before;
		m->nr++;
	}
}

static void check_mark(const struct kernel_marks *all, const struct record *rec, bool *found,
		       uint64_t *bracket_ns, uint64_t *off_ns)
{
	const struct kernel_mark *m;
	unsigned long i;
	char text[64];
	uint64_t off;

	if (rec->kind != RECORD_PRINT || rec->data_bytes >= sizeof(text))
		return;
	memcpy(text, rec->data, rec->data_bytes);
	text[rec->data_bytes] = '\0';
	if (strncmp(text, MARK, strlen(MARK)) != 0)
		return;
	i = strtoul(text + strlen(MARK), NULL, 10);
	if (i >= all->nr)
		return;
	m = &all->marks[i];
	off = rec->ts < m->before  ? m->before - rec->ts
	      : rec->ts > m->after ? rec->ts - m->after
				   : 0;
	if (!*found || m->after - m->before < *bracket_ns)
		*bracket_ns = m->after - m->before;
	if (off > *off_ns)
		*off_ns = off;
	*found = true;
}

int kernel_marks_check(const struct kernel_marks *m, struct reader *r, uint64_t *bracket_ns,
		       uint64_t *off_ns)
{
	struct record batch[64];
	bool found = false;
	int n = 0;

	*bracket_ns = *off_ns = 0;
	for (unsigned int cpu = 0; cpu < r->nr_cpus && n >= 0; cpu++)
		while ((n = reader_read(r, cpu, batch, 64)) > 0)
			for (int i = 0; i < n; i++)
				check_mark(m, &batch[i], &found, bracket_ns, off_ns);
	if (n >= 0)
		n = r->ops->rewind(r);
	return n < 0 ? n : found ? 0 : -ENOENT;
}
