/* SPDX-License-Identifier: MIT */
/* See area_printks.h. Tests: tests/unit/test_printk_text.c, tests/engine/events/bprint. */
#include "tools/area/area_printks.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/area/meta.h"
#include "tools/base/fail.h"

int printks_add_meta(struct printks *p, const struct meta *m)
{
	int err = 0;

	for (uint32_t i = 0; i < m->nr_printks && !err; i++) {
		const struct area_printk *row = &m->printks[i];
		const char *text = m->formats + row->text;

		if (row->text < m->format_bytes)
			err = printks_add(p, row->number, text,
					  strnlen(text, m->format_bytes - row->text));
	}
	return err;
}

int printks_add_new(struct printks *p, int fd, uint32_t *seen, const char *what)
{
	struct area_header head = {0};
	uint32_t now;
	struct meta *m;
	struct stat st;
	int err;

	if (pread(fd, &head, sizeof(head), 0) < 0 || fstat(fd, &st) < 0)
		return fail_errno(errno, "cannot read %s", what);
	now = meta_has_table(&head, AREA_PRINTKS) ? AREA_TABLE(&head, AREA_PRINTKS)->count : 0;
	if (now == *seen)
		return 0;
	*seen = now;
	err = meta_load(fd, 0, (uint64_t)st.st_size, what, &m);
	if (err)
		return err;
	err = printks_add_meta(p, m);
	meta_free(m);
	return err ? err : 1;
}
