/* SPDX-License-Identifier: MIT */
/*
 * The area of this process: the shared file through which the tools see it (abi/area.h). All
 * functions run in the constructor or in the agent, never in a hook, unless their comment says
 * otherwise.
 */
#ifndef VESTIGE_PROCESS_AREA_H
#define VESTIGE_PROCESS_AREA_H

#include "abi/area.h"
#include "abi/page.h"

/* NULL: there is no area, and the engine does nothing. */
extern struct area_header *area;

struct area_config {
	const char *dir;     /* VESTIGE_DIR, or NULL for the default */
	const char *session; /* VESTIGE_SESSION, or NULL */
	uint32_t nr_cpus;    /* possible CPUs */
	uint32_t cpu_pages;  /* pages of each CPU in the top instance's buffer */
	uint32_t cpu_room;   /* pages to which a CPU's share can grow; at least cpu_pages */
	uint32_t snapshot;   /* 1: there is room for a second share of pages */
	uint32_t hist_room;  /* pieces of AREA_HIST_ROOM */
	uint32_t few_rows;   /* 1: the large tables have an eighth of their room */
	enum area_clock_id clock;
};

/*
 * area_create() - create, map and lay out the area; the pages of its top buffer have no memory yet.
 * If RLIMIT_AS and the like do not allow the size of @wanted, it has less room, a smaller buffer,
 * or smaller tables; it takes at most a quarter of the addresses that RLIMIT_AS leaves. @parent: in
 * a fork's child its parent's area, which will be unmapped, and whose tables will be copied; else
 * NULL. Return: 0; -EEXIST: another engine of this image has an area already, or a process of
 * another PID namespace has one of that name; -ENOSPC; -EACCES; -EPERM: the folder is not ours
 * alone; -errno of open() and mmap(). After an error nothing is left behind.
 */
int area_create(const struct area_config *wanted, const struct area_header *parent);

/*
 * area_before_fork() - save the rows with which a child's areas begin. Under the tree lock and the
 * heap's lock. @area_at: the area of an instance, by its index below RING_MAX; NULL: there is none.
 * Return: 0 or -ENOMEM. area_after_fork() - free them, in the parent or the child.
 */
int area_before_fork(const struct area_header *(*area_at)(uint32_t index));
void area_after_fork(void);

/* In a fork's child: a row of the parent's table as it was at the fork; NULL: it did not exist. */
const void *area_kept_row(const struct area_header *parent, enum area_table_id id, uint32_t row);

/*
 * area_fork() - in a fork's child: replace the parent's area by one of its own, with the parent's
 * tables of objects, functions and strings. @old_area: the parent's, for area_unmap(). Return: 0;
 * -errno: there is no area, and the parent's stays mapped.
 */
int area_fork(struct area_header **old_area);
/*
 * area_unmap() - unmap the parent's area in the child. @used: the child may still access it,
 * because a handler forked that had interrupted a writer. Then private memory, which no reader
 * sees, replaces it.
 */
void area_unmap(struct area_header *old_area, int used);

/*
 * area_cpu_reach() - make the first @pages of a CPU's share accessible; pool.c gives them and their
 * descriptors memory when they are needed. @head: the process's area, or an instance's. Return: 0;
 * -ENOMEM: the share has no room for them; another -errno of mprotect().
 */
int area_cpu_reach(struct area_header *head, uint32_t cpu, uint32_t pages);

/*
 * As area_cpu_reach(), for the CPU's share that writers do not use now. -ENOMEM: there is no second
 * share.
 */
int area_cpu_reach_spare(struct area_header *head, uint32_t cpu, uint32_t pages);

/*
 * area_add_instance() - make an area for an instance of this process, beside the process's own.
 * @name: not empty, without `/`, shorter than AREA_INSTANCE_BYTES. Its tables are as
 * area_sync_instance() makes them. Its buffer has no memory, and the initial size of the process's
 * buffer. Return: 0 and the mapping in *@head; -ENAMETOOLONG, -ENOMEM, -ENOSPC, or -errno of
 * open().
 */
int area_add_instance(const char *name, struct area_header **head);

/*
 * area_fork_instance() - in a fork's child that has its own area: make an area for an instance of
 * the parent. @parent: the parent's area of that instance. Return: as area_add_instance().
 */
int area_fork_instance(const struct area_header *parent, struct area_header **head);

/* Update an instance's objects, functions and strings from the process's. */
void area_sync_instance(struct area_header *head);

/* Remove an instance's file; @unmap: also unmap it. */
void area_drop_instance(struct area_header *head, int unmap);

/* The path of the area's file. */
const char *area_file(void);

/*
 * Whether the area is this process's, and not its parent's after vfork() or clone(). A thread that
 * may make no system call decides by the ring's state after fork(). There must be an area. Any
 * context.
 */
int area_is_own(void);

/* Remove the area's file; the mapping stays. */
void area_remove(void);

/*
 * area_unlink() - remove a file in the area's folder. @path: begins with the folder, as area_file()
 * does. Return: 0 or -errno.
 */
int area_unlink(const char *path);

/*
 * Open the area's folder for all later area_unlink() of this thread, which must have a descriptor
 * table of its own: the program may leave the folder by chroot(). @keep: 0: close it. One thread in
 * the process.
 */
void area_keep_folder(int keep);

/*
 * area_reserve() - make sure that the first @count entries of a table have memory. Return: 0;
 * -ENOSPC: the table or the file system is full.
 */
int area_reserve(enum area_table_id id, uint32_t count);

/* As area_reserve(), in an instance's area. */
int area_reserve_in(struct area_header *head, enum area_table_id id, uint32_t count);

/* As area_reserve(), for struct area_stack. */
int area_reserve_stack(void);

static inline struct area_stack *area_stack(void)
{
	return (struct area_stack *)((uint8_t *)area + area->stack_offset);
}

/* As area_reserve(), for struct area_oops. */
int area_reserve_oops(void);

static inline struct area_oops *area_oops(void)
{
	return (struct area_oops *)((uint8_t *)area + area->oops_offset);
}

/* The @i-th entry of a table; not checked. Any context. */
static inline void *area_entry_in(const struct area_header *head, enum area_table_id id, uint32_t i)
{
	const struct area_table *t = AREA_TABLE(head, id);

	return (uint8_t *)head + t->offset + (uint64_t)i * t->entry_bytes;
}

static inline void *area_entry(enum area_table_id id, uint32_t i)
{
	return area_entry_in(area, id, i);
}

static inline struct area_object *area_object(uint32_t i)
{
	return area_entry(AREA_OBJECTS, i);
}

static inline struct area_function *area_function(uint32_t i)
{
	return area_entry(AREA_FUNCTIONS, i);
}

static inline struct area_function *area_function_in(const struct area_header *head, uint32_t i)
{
	return area_entry_in(head, AREA_FUNCTIONS, i);
}

/*
 * Store a string. Return: its offset, or the offset of an equal string; 0 (the empty string): there
 * is no room.
 */
uint32_t area_string(const char *s);
const char *area_string_at(uint32_t offset);

/*
 * area_status() - add a line to vestige_status: something was refused, and why. @what: the
 * beginning of the line. @name: its subject, or NULL. @err: a -errno to add, or 0.
 */
void area_status(const char *what, const char *name, int err);

/*
 * area_check_file_limit() - whether a file, also one in memory, may have @bytes: beyond
 * RLIMIT_FSIZE, which the program may lower at any time, it would get a SIGXFSZ. Any context.
 * Return: 0 or -EFBIG.
 */
int area_check_file_limit(uint64_t bytes);

#endif
