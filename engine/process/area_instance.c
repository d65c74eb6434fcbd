/* SPDX-License-Identifier: MIT */
/*
 * The areas of instances: PID.STARTTIME@NAME beside the process's own, with the same format and the
 * same ids of objects and functions, so that each can be read by itself. The tables of objects and
 * functions are copied when the instance is made, and again when objects come or go. A function's
 * `filter` is the instance's own; `enabled` and `callbacks` are in the process's area alone. Under
 * the tree lock. fork: see area_fork_instance(). Costs: 16 bytes for each function. Tests:
 * tests/engine/fire/instances.
 */
#include "engine/process/area_impl.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/process/area_dead.h"

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

/*
 * Create the file. An existing one was left by an image that exec replaced; nothing else makes one.
 */
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

/* Copy rows from @from to @to. Return: 0 or -ENOSPC. */
static int copy_rows(struct area_header *head, enum area_table_id id, uint32_t from, uint32_t to)
{
	const struct area_table *t = AREA_TABLE(area, id);
	int err = area_reserve_in(head, id, to);

	if (!err && to > from)
		memcpy(area_entry_in(head, id, from), area_entry(id, from),
		       (size_t)(to - from) * t->entry_bytes);
	return err;
}

static void publish_rows(struct area_header *head, enum area_table_id id, uint32_t count)
{
	__atomic_store_n(&AREA_TABLE(head, id)->count, count, __ATOMIC_RELEASE);
}

/* How many rows the process's area has; read once, as another thread may add some. */
static uint32_t count_of(enum area_table_id id)
{
	return __atomic_load_n(&AREA_TABLE(area, id)->count, __ATOMIC_ACQUIRE);
}

void area_sync_instance(struct area_header *head)
{
	static const enum area_table_id grown[] = {AREA_STRINGS,   AREA_REFUSED, AREA_CLOCKS,
						   AREA_FUNCTIONS, AREA_FORMATS, AREA_EVENTS,
						   AREA_PRINTKS};
	uint32_t i, f, nr_objects = count_of(AREA_OBJECTS);

	/* in this order a reader that finds an object also finds its path and its functions */
	for (i = 0; i < ARRAY_SIZE(grown); i++) {
		uint32_t had = AREA_TABLE(head, grown[i])->count, count = count_of(grown[i]);

		if (copy_rows(head, grown[i], had, count))
			return;
		for (f = had; grown[i] == AREA_FUNCTIONS && f < count; f++) {
			struct area_function *row = area_function_in(head, f);

			row->enabled = row->filter = row->callbacks = 0;
		}
		publish_rows(head, grown[i], count);
	}
	if (!copy_rows(head, AREA_OBJECTS, 0, nr_objects))
		publish_rows(head, AREA_OBJECTS, nr_objects);
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

/* Make the area of an instance of that name, which is empty. */
static int make_instance(const char *name, struct area_header **head)
{
	struct area_header h = {
		.pid = area->pid,
		.uid = area->uid,
		.start_time = area->start_time,
		.pid_ns = area->pid_ns,
		.time_ns = area->time_ns,
		.clock = area->clock,
		.nr_cpus = area->nr_cpus,
		.func_commands = area->func_commands,
	};
	struct area_config config = area_made;
	char path[AREA_PATH_BYTES + AREA_INSTANCE_BYTES];
	int err = make_path(path, sizeof(path), name);

	if (err)
		return err;
	memcpy(h.image_id, area->image_id, sizeof(h.image_id));
	memcpy(h.exe, area->exe, sizeof(h.exe));
	str_copy(h.instance, sizeof(h.instance), name);
	err = area_check_space(area_lay_out(&h, &config), 0);
	if (!err)
		err = make_area(path, &config, &h, head);
	if (err == -ENOMEM || err == -EFBIG) {
		/* address space or file size is limited: make it without room to grow */
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
		area_unlink(path);
	area->nr_instances--;
	if (unmap)
		sys_munmap(head, head->file_bytes);
}

/*
 * Call @what for each file in @folder whose name is @file and the mark. Return: the sum of its
 * results.
 */
static uint32_t each_instance(int folder, const char *file,
			      uint32_t (*what)(int folder, const char *name, const void *arg),
			      const void *arg)
{
	char buf[4096] __attribute__((aligned(8)));
	size_t n = strlen(file);
	uint32_t sum = 0;
	long got, at;

	arch_syscall(SYS_lseek, folder, 0, 0, 0, 0, 0);
	while ((got = sys_getdents(folder, buf, sizeof(buf))) > 0) {
		for (at = 0; at < got; at += ((const struct sys_dirent *)(buf + at))->bytes) {
			const struct sys_dirent *e = (const struct sys_dirent *)(buf + at);

			if (str_starts(e->name, file) && e->name[n] == AREA_INSTANCE_MARK)
				sum += what(folder, e->name, arg);
		}
	}
	return sum;
}

static uint32_t unlink_one(int folder, const char *name, const void *arg)
{
	(void)arg;
	return !sys_unlink_at(folder, name);
}

uint32_t area_unlink_instances(int folder, const char *file)
{
	return each_instance(folder, file, unlink_one, NULL);
}

/* As each_instance(), for the instances of our own area. */
static uint32_t each_replaced(uint32_t (*what)(int folder, const char *name, const void *arg),
			      const void *arg)
{
	char folder[AREA_PATH_BYTES];
	size_t dir = area_name_at(area_file());
	uint32_t sum;
	int fd;

	str_copy(folder, dir + 1, area_file());
	fd = sys_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	sum = each_instance(fd, area_file() + dir, what, arg);
	sys_close(fd);
	return sum;
}

void area_drop_replaced_instances(void)
{
	each_replaced(unlink_one, NULL);
}

static uint32_t one_holds(int folder, const char *name, const void *arg)
{
	int fd = (int)arch_syscall(SYS_openat, folder, (long)name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0, 0, 0);
	uint32_t some;

	(void)arg;
	if (fd < 0)
		return 0;
	some = area_file_holds(fd) != 0;
	sys_close(fd);
	return some;
}

int area_replaced_instances_hold(void)
{
	return each_replaced(one_holds, NULL) != 0;
}

/* @arg: the name of the kept area. */
static uint32_t keep_one(int folder, const char *name, const void *arg)
{
	char to[AREA_PATH_BYTES + AREA_INSTANCE_BYTES];
	const char *own = name;
	struct seq_buf s;

	while (*own && *own != AREA_INSTANCE_MARK)
		own++;
	seq_init(&s, to, sizeof(to) - 1);
	seq_puts(&s, arg);
	seq_puts(&s, own);
	to[s.len] = 0;
	if (s.lost || !one_holds(folder, name, NULL) ||
	    arch_syscall(SYS_renameat, folder, (long)name, folder, (long)to, 0, 0))
		unlink_one(folder, name, NULL);
	return 0;
}

void area_keep_replaced_instances(const char *file)
{
	each_replaced(keep_one, file);
}
