/* SPDX-License-Identifier: MIT */
/*
 * Copies the area to a file: the used part of each table, and the pages that have memory, at the
 * same offsets, so that the copy is as sparse as the area. No state; nothing for fork. Tests:
 * tests/engine/fire/inside.
 */
#include "engine/process/area_copy.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/process/area.h"
#include "engine/process/clock.h"

static int copy_range(int fd, uint64_t offset, uint64_t bytes)
{
	const uint8_t *from = (const uint8_t *)area + offset;

	while (bytes) {
		long n = sys_pwrite(fd, from, bytes, offset);

		if (n <= 0)
			return n ? (int)n : -ENOSPC;
		from += n;
		offset += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return 0;
}

static int copy_pages_of(int fd, uint32_t first, uint32_t nr)
{
	return copy_range(fd, area->pages_offset + (uint64_t)first * PAGE_BYTES,
			  (uint64_t)nr * PAGE_BYTES);
}

static int copy_descs_of(int fd, uint32_t first, uint32_t nr)
{
	const struct area_table *t = &area->tables[AREA_PAGES];

	return copy_range(fd, t->offset + (uint64_t)first * t->entry_bytes,
			  (uint64_t)nr * t->entry_bytes);
}

/* Copy only each CPU's quota: the pages between have no memory, and must not get any. */
static int copy_quotas(int fd, int (*copy)(int fd, uint32_t first, uint32_t nr))
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < area->tables[AREA_CPUS].count && !err; i++) {
		const struct area_cpu *row = area_entry(AREA_CPUS, i);
		const struct area_snapshot *snap = area_entry(AREA_SNAPSHOTS, i);

		err = copy(fd, row->first_page, row->nr_backed);
		if (!err)
			err = copy(fd, snap->first_page, snap->nr_backed);
	}
	return err;
}

int snapshot_to_file(const char *path)
{
	int fd = area_check_file_limit(area->file_bytes), i, err;

	if (!fd)
		fd = sys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fd;
	clock_add_pair();
	err = sys_ftruncate(fd, area->file_bytes);
	if (!err)
		err = copy_range(fd, 0, sizeof(*area));
	/*
	 * pages before their descriptors: a page that is published meanwhile is then copied as it
	 * was before
	 */
	if (!err)
		err = copy_quotas(fd, copy_pages_of);
	if (!err)
		err = copy_quotas(fd, copy_descs_of);
	for (i = 0; i < AREA_NR_TABLES && !err; i++)
		if (i != AREA_PAGES)
			err = copy_range(fd, AREA_TABLE(area, i)->offset,
					 (uint64_t)AREA_TABLE(area, i)->count *
						 AREA_TABLE(area, i)->entry_bytes);
	sys_close(fd);
	if (err)
		sys_unlink(path);
	return err;
}
