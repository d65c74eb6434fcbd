/* SPDX-License-Identifier: MIT */
/* Shared by the files area*.c. */
#ifndef VESTIGE_PROCESS_AREA_IMPL_H
#define VESTIGE_PROCESS_AREA_IMPL_H

#include "engine/process/area.h"

#define AREA_PATH_BYTES 512

/* The offset of the last part of a path. */
size_t area_name_at(const char *path);

/* The fields of /proc/PID/stat that are needed. */
struct proc_stat {
	char state;
	uint64_t nr_threads, start_time;
};

/* Read @path. Return: 0; -errno, -ENOENT: there is no such process. */
int area_read_stat(const char *path, struct proc_stat *stat);

/* The configuration of the process's area. */
extern struct area_config area_made;

/*
 * Fill in a header's format, tables and sizes from a configuration. Return: the size of the file.
 */
uint64_t area_lay_out(struct area_header *h, const struct area_config *config);

/*
 * area_map() - give a new file its size, map it, and fill in header and buffer. Return: 0 and the
 * mapping in *@head; -errno: nothing is mapped.
 */
int area_map(int fd, const struct area_config *config, const struct area_header *h,
	     struct area_header **head);

/*
 * area_check_space() - whether an area of @bytes leaves the program enough of the addresses that
 * RLIMIT_AS allows: three quarters of those that are not mapped. @freed: bytes that will be
 * unmapped behind that. Return: 0 or -ENOMEM.
 */
int area_check_space(uint64_t bytes, uint64_t freed);

/* Back the bytes @from .. @to of a table. Any context. Return: 0 or -errno. */
int area_back_table(struct area_header *head, enum area_table_id id, uint64_t from, uint64_t to);

/*
 * area_make_room() - a file with the name of our area exists. If it is the area of the image that
 * exec replaced, it is kept under another name if it has records, and else removed. If it is the
 * area of another engine in this image, or of a process of another PID namespace, that engine was
 * first. @own: our header, filled in. Return: 0; -EEXIST: another engine was first; -errno.
 */
int area_make_room(const struct area_header *own);

/*
 * Remove the areas of a process's instances. @file: the name of the process's own area in @folder.
 * Return: the number of areas removed.
 */
uint32_t area_unlink_instances(int folder, const char *file);

/*
 * Areas of instances that were left by the image that exec replaced. area_drop_replaced_instances()
 * - remove them. area_replaced_instances_hold() - whether one has records.
 * area_keep_replaced_instances() - areas with records become instances of the area @file, which is
 * the kept one of that image; the others are removed.
 */
void area_drop_replaced_instances(void);
int area_replaced_instances_hold(void);
void area_keep_replaced_instances(const char *file);

/* In a fork's child: copy the state that is also valid for the child from the parent's area. */
void area_copy_kept(const struct area_header *from, struct area_header *to);

#endif
