/* SPDX-License-Identifier: MIT */
/* See follow_member.h. Tests: tests/tracefs/. */
#include "tools/area/follow_member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/area/area.h"
#include "tools/base/fail.h"

#define DESC_CHUNK 4096u

bool member_has_name(const struct member *m)
{
	const char *name = strrchr(m->path, '/');
	struct stat st;

	/* a new program has the old one's instances only if its session makes them anew */
	if (lstat(m->path, &st))
		return errno != ENOENT || !name || !strchr(name, AREA_INSTANCE_MARK);
	return st.st_dev == m->what.dev && st.st_ino == m->what.ino;
}

struct area_cpu *member_row(const struct member *m, unsigned int cpu)
{
	const struct area_buffer *b = m->meta->buffers;

	return m->meta->nr_buffers && cpu < b->nr_cpus ? &m->meta->cpus[b->first_cpu + cpu] : NULL;
}

/* Is this the head word of a record that its writer, perhaps preempted, has not finished? */
static bool is_being_written(uint64_t word)
{
	return !word || (record_word_kind(word) == RECORD_UNCOMMITTED &&
			 record_word_stamp(word) != RECORD_GIVEN_UP);
}

int member_read_rest(const struct member *m, uint32_t index, uint64_t *page, struct page_desc *d)
{
	struct page_head *head = (struct page_head *)page;
	uint32_t read;
	int ret = area_read_page(m->fd, &m->meta->head, index, page, d, m->path);

	if (ret <= 0)
		return ret;
	read = page_read_bytes(d->read, head->seq);
	if (read < PAGE_HEAD_BYTES)
		read = PAGE_HEAD_BYTES;
	if (d->state == PAGE_OWNED && !m->dead) {
		uint64_t end = head->commit < PAGE_BYTES ? head->commit : PAGE_BYTES, at = read;

		while (at + 8 <= end && !is_being_written(page[at / 8]) &&
		       record_word_bytes(page[at / 8]))
			at += record_word_bytes(page[at / 8]);
		head->commit = at < end ? at : end;
	}
	area_hide(member_row(m, head->cpu), d, page);
	return 1;
}

/* Call @each for the descriptors of pages that have an owner or records. */
static int each_of_share(const struct member *m, const struct area_share *s,
			 int (*each)(void *arg, uint32_t index, const struct page_desc *d),
			 void *arg)
{
	uint32_t stride = m->meta->head.tables[AREA_PAGES].entry_bytes;
	unsigned char *descs;
	int ret = 0;

	if (!s->nr)
		return 0;
	descs = malloc((size_t)DESC_CHUNK * stride);
	if (!descs)
		return fail(ENOMEM, "%s: out of memory", m->path);
	for (uint32_t at = 0; at < s->nr && ret >= 0; at += DESC_CHUNK) {
		uint32_t nr = s->nr - at < DESC_CHUNK ? s->nr - at : DESC_CHUNK;
		ssize_t n = pread(m->fd, descs, (size_t)nr * stride,
				  (off_t)area_desc_offset(&m->meta->head, s->first + at));

		nr = n > 0 ? (uint32_t)((size_t)n / stride) : 0;
		for (uint32_t i = 0; i < nr && ret >= 0; i++) {
			struct page_desc d;

			memcpy(&d, descs + (size_t)i * stride, sizeof(d));
			if (d.state == PAGE_OWNED || d.state == PAGE_PUBLISHED)
				ret = each(arg, s->first + at + i, &d);
		}
	}
	free(descs);
	return ret < 0 ? ret : 0;
}

int member_each_page(const struct member *m, unsigned int cpu,
		     int (*each)(void *arg, uint32_t index, const struct page_desc *d), void *arg)
{
	int ret = 0;

	for (unsigned int which = 0; member_row(m, cpu) && which < 2 && !ret; which++) {
		struct area_share s = area_share(m->meta, m->meta->buffers->first_cpu + cpu, which);

		ret = each_of_share(m, &s, each, arg);
	}
	return ret;
}

bool member_has_rest(struct member *m, uint32_t index, const struct page_desc *d)
{
	struct page_head head;
	bool rest;

	if (d->state == PAGE_PUBLISHED && area_done_has(&m->done, index, d->seq))
		return false;
	if (pread(m->fd, &head, sizeof(head), (off_t)area_page_offset(&m->meta->head, index)) !=
	    (ssize_t)sizeof(head))
		return false;
	if (head.commit > PAGE_BYTES)
		head.commit = PAGE_BYTES;
	rest = head.commit > PAGE_HEAD_BYTES && head.commit > page_read_bytes(d->read, head.seq);
	if (!rest && d->state == PAGE_PUBLISHED)
		area_done_put(&m->done, index, d->seq);
	return rest;
}
