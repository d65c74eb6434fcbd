/* SPDX-License-Identifier: MIT */
/*
 * The areas of instances: PID.STARTTIME@NAME beside the process's own, with the same format and the
 * same ids of objects and functions, so that each reads by itself. The tables that tell what there is
 * to trace are copied when the instance is made and again when objects come or go; a function's
 * `filter` is the instance's own, `enabled` and `callbacks` are told by the process's area alone.
 * Runs under the tree's lock. fork: see area_fork_instance(). Costs: 16 bytes a function.
 * Tests: tests/engine/fire/instances.
 */
#include "engine/core/area_impl.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"

static int make_path(char *path, size_t bytes, const char *name)
{
	struct seq_buf s;

	seq_init(&s, path, bytes - 1);
	seq_puts(&s, area_file());
	seq_putc(&s, AREA_INSTANCE_MARK);
	seq_puts(&s, name);
	path[s.len] = 0;
	return s.lost ? -ENAMETOOLONG : 0;
}

/* A file of that name is of an image that exec replaced: nobody else makes one. */
static int create(const char *path)
{
	int fd = -EEXIST, tries;

	for (tries = 0; tries < 3 && fd == -EEXIST; tries++) {
		fd = sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd == -EEXIST)
			sys_unlink(path);
	}
	return fd;
}

/* Rows from @from on. Return: 0 or -ENOSPC. */
static int copy_rows(struct area_header *head, enum area_table_id id, uint32_t from)
{
	const struct area_table *t = AREA_TABLE(area, id);
	uint32_t to = t->count;
	int err = area_reserve_in(head, id, to);

	if (!err && to > from)
		memcpy(area_entry_in(head, id, from), area_entry(id, from),
		       (size_t)(to - from) * t->entry_bytes);
	return err;
}

static void publish_rows(struct area_header *head, enum area_table_id id)
{
	__atomic_store_n(&AREA_TABLE(head, id)->count, AREA_TABLE(area, id)->count,
			 __ATOMIC_RELEASE);
}

void area_sync_instance(struct area_header *head)
{
	static const enum area_table_id grown[] = {AREA_STRINGS,   AREA_REFUSED, AREA_CLOCKS,
						   AREA_FUNCTIONS, AREA_FORMATS, AREA_EVENTS,
						   AREA_PRINTKS};
	uint32_t i, f;

	/* a reader that finds an object finds its path and its functions too */
	for (i = 0; i < ARRAY_SIZE(grown); i++) {
		uint32_t had = AREA_TABLE(head, grown[i])->count;

		if (copy_rows(head, grown[i], had))
			return;
		for (f = had; grown[i] == AREA_FUNCTIONS && f < area->tables[AREA_FUNCTIONS].count;
		     f++) {
			struct area_function *row = area_function_in(head, f);

			row->enabled = row->filter = row->callbacks = 0;
		}
		publish_rows(head, grown[i]);
	}
	if (!copy_rows(head, AREA_OBJECTS, 0))
		publish_rows(head, AREA_OBJECTS);
}

static int make_area(const char *path, const struct area_config *config, struct area_header *h,
		     struct area_header **head)
{
	int fd = create(path), err;

	if (fd < 0)
		return fd;
	h->file_bytes = area_lay_out(h, config);
	err = area_map(fd, config, h, head);
	sys_close(fd);
	if (err)
		sys_unlink(path);
	return err;
}

/* The area of an instance of that name, with nothing in it. */
static int make_instance(const char *name, struct area_header **head)
{
	struct area_header h = {
		.magic = AREA_MAGIC,
		.major = AREA_MAJOR,
		.minor = AREA_MINOR,
		.header_bytes = sizeof(h),
		.page_bytes = PAGE_BYTES,
		.nr_tables = AREA_NR_FIRST_TABLES,
		.nr_more_tables = AREA_NR_MORE_TABLES,
		.pid = area->pid,
		.uid = area->uid,
		.start_time = area->start_time,
		.clock = area->clock,
		.nr_cpus = area->nr_cpus,
	};
	struct area_config config = area_made;
	char path[AREA_PATH_BYTES + AREA_INSTANCE_BYTES];
	int err = make_path(path, sizeof(path), name);

	if (err)
		return err;
	memcpy(h.image_id, area->image_id, sizeof(h.image_id));
	memcpy(h.exe, area->exe, sizeof(h.exe));
	str_copy(h.instance, sizeof(h.instance), name);
	err = make_area(path, &config, &h, head);
	if (err == -ENOMEM || err == -EFBIG) {
		/* where address space or file size is limited: without room to grow */
		config.cpu_room = config.cpu_pages;
		config.snapshot = 0;
		config.hist_room = 0;
		err = make_area(path, &config, &h, head);
	}
	return err;
}

static void go_live(struct area_header *head)
{
	area_sync_instance(head);
	__atomic_store_n(&head->state, AREA_LIVE, __ATOMIC_RELEASE);
	area->nr_instances++;
}

int area_add_instance(const char *name, struct area_header **head)
{
	int err = make_instance(name, head);

	if (err)
		return err;
	go_live(*head);
	return 0;
}

int area_fork_instance(const struct area_header *parent, struct area_header **head)
{
	int err = make_instance(parent->instance, head);

	if (err)
		return err;
	area_copy_kept(parent, *head);
	go_live(*head);
	return 0;
}

void area_drop_instance(struct area_header *head, int unmap)
{
	char path[AREA_PATH_BYTES + AREA_INSTANCE_BYTES];

	if (!make_path(path, sizeof(path), head->instance))
		sys_unlink(path);
	area->nr_instances--;
	if (unmap)
		sys_munmap(head, head->file_bytes);
}

/* Those of @file are in @folder, with the mark behind its name. */
static void unlink_marked(int folder, const char *file)
{
	char buf[4096] __attribute__((aligned(8)));
	size_t n = strlen(file);
	long got, at;

	while ((got = sys_getdents(folder, buf, sizeof(buf))) > 0) {
		for (at = 0; at < got; at += ((const struct sys_dirent *)(buf + at))->bytes) {
			const struct sys_dirent *e = (const struct sys_dirent *)(buf + at);

			if (str_starts(e->name, file) && e->name[n] == AREA_INSTANCE_MARK)
				sys_unlink_at(folder, e->name);
		}
	}
}

void area_drop_replaced_instances(void)
{
	char folder[AREA_PATH_BYTES];
	size_t dir = strlen(area_file());
	int fd;

	while (dir && area_file()[dir - 1] != '/')
		dir--;
	str_copy(folder, dir + 1, area_file());
	fd = sys_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	unlink_marked(fd, area_file() + dir);
	sys_close(fd);
}
