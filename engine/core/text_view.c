/* SPDX-License-Identifier: MIT */
/*
 * See text_view.h. A memfd is mapped twice: at the text's address, private and executable, where
 * threads see each store at once because no thread writes through that mapping; and elsewhere,
 * shared and writable, while the text changes. Each change begins with a new memfd. So no process
 * writes to the copy after the change, and a fork's child may share it.
 *
 * mmap() replaces the pages under the lock of the address space: a thread that executes there waits
 * in a page fault, and then finds the same bytes.
 *
 * Owns the table of views, which is empty between changes. Control context, one caller at a time.
 * fork: the tree lock is held, so there is no view. Costs a copy of the pages for each change, only
 * in such processes. Tests: tests/cli/test_denied_exec.py.
 */
#include "engine/core/text_view.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#endif
#define MFD_EXECUTABLE 0x10u /* MFD_EXEC, since Linux 6.3 */
#define PAGE	       UINT64_C(4096)

struct view {
	uint64_t lo, hi;
	uint64_t at; /* address at which lo is written */
};

static struct view *views;
static uint32_t nr_views, room;
static uint8_t reported;

int text_view_is_due(int err)
{
	return err == -EACCES || err == -EPERM;
}

static int make_room(void)
{
	uint32_t more = room ? 2 * room : PAGE / sizeof(*views);
	struct view *rows;

	if (nr_views < room)
		return 0;
	rows = sys_map_table(more * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	if (views) {
		memcpy(rows, views, nr_views * sizeof(*rows));
		sys_munmap(views, room * sizeof(*rows));
	}
	views = rows;
	room = more;
	return 0;
}

/* Make a memfd of @bytes, and map it writable at *@at. Return: its descriptor, or -errno. */
static int make_memory(size_t bytes, uint64_t *at)
{
	int err = area_check_file_limit(bytes), fd;
	long p;

	if (err)
		return err;
	fd = sys_memfd_create("vestige-text", MFD_CLOEXEC | MFD_EXECUTABLE);
	if (fd == -EINVAL)
		fd = sys_memfd_create("vestige-text", MFD_CLOEXEC);
	if (fd < 0)
		return fd;
	/* allocate the memory before it is written, so that no store raises SIGBUS */
	err = sys_fallocate(fd, 0, bytes);
	p = err ? err
		: sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (sys_failed(p)) {
		sys_close(fd);
		return (int)p;
	}
	*at = (uint64_t)p;
	return fd;
}

static void drop(uint32_t i)
{
	sys_munmap((void *)views[i].at, views[i].hi - views[i].lo);
	views[i] = views[--nr_views];
}

/* The index of the first view with pages of the range; nr_views: there is none. */
static uint32_t find(uint64_t lo, uint64_t hi)
{
	uint32_t i;

	for (i = 0; i < nr_views && (views[i].lo >= hi || views[i].hi <= lo); i++)
		;
	return i;
}

int text_view_open(uint64_t lo, uint64_t hi)
{
	uint64_t from = lo, to = hi, at;
	uint32_t i = find(lo, hi);
	long p;
	int fd;

	if (i < nr_views && views[i].lo <= lo && views[i].hi >= hi)
		return 0;
	for (i = 0; i < nr_views; i++) {
		if (views[i].lo >= hi || views[i].hi <= lo)
			continue;
		from = views[i].lo < from ? views[i].lo : from;
		to = views[i].hi > to ? views[i].hi : to;
	}
	fd = make_room();
	if (!fd)
		fd = make_memory(to - from, &at);
	if (fd < 0)
		return fd;
	memcpy((void *)at, (const void *)from, to - from);
	p = sys_mmap((void *)from, to - from, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		     0);
	sys_close(fd);
	if (sys_failed(p)) {
		sys_munmap((void *)at, to - from);
		return (int)p;
	}
	while ((i = find(from, to)) < nr_views)
		drop(i);
	views[nr_views++] = (struct view){from, to, at};
	if (!reported)
		area_status("memory of this process may not become writable and executable: code "
			    "that changes is a copy, `vestige-text` in /proc/PID/maps",
			    NULL, 0);
	reported = 1;
	return 0;
}

int text_view_close(uint64_t lo, uint64_t hi)
{
	uint32_t i, nr = nr_views;

	while ((i = find(lo, hi)) < nr_views)
		drop(i);
	return nr != nr_views;
}

uint64_t text_view_of(uint64_t at)
{
	uint32_t i = nr_views ? find(at, at + 1) : 0;

	return i < nr_views ? views[i].at + (at - views[i].lo) : at;
}

/* If the tree lock could not be taken, the parent's change continues in memory of its own. */
static void leave(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_LEAVE)
		while (nr_views)
			drop(0);
}

int text_view_try(void)
{
	uint64_t at;
	int fd = make_memory(PAGE, &at);
	long p;

	if (fd < 0)
		return fd;
	p = sys_mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	sys_close(fd);
	sys_munmap((void *)at, PAGE);
	if (sys_failed(p))
		return (int)p;
	sys_munmap((void *)p, PAGE);
	return 0;
}

LIFECYCLE(LIFECYCLE_PROCESS, NULL, leave, NULL);
