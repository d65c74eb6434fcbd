/* SPDX-License-Identifier: MIT */
/* What area.c and area_instance.c share. */
#ifndef VESTIGE_PROCESS_AREA_IMPL_H
#define VESTIGE_PROCESS_AREA_IMPL_H

#include "engine/process/area.h"

#define AREA_PATH_BYTES 512

/* Where the last part of a path begins. */
size_t area_name_at(const char *path);

/* What of /proc/PID/stat is asked for. */
struct proc_stat {
	char state;
	uint64_t nr_threads, start_time;
};

/* Return: 0, or -errno: -ENOENT when there is no such process. */
int area_read_stat(const char *path, struct proc_stat *stat);

/* As the process's area was made. */
extern struct area_config area_made;

/* Fill in a header's format, tables and sizes for a configuration. Return: the size of the file. */
uint64_t area_lay_out(struct area_header *h, const struct area_config *config);

/*
 * area_map() - give a new file its size, map it, and fill in header and buffer.
 * Return: 0 and the mapping in *@head, or -errno: nothing is mapped then.
 */
int area_map(int fd, const struct area_config *config, const struct area_header *h,
	     struct area_header **head);

/* The areas of the instances of a process go. @file: the name of its own in @folder. Return: how
 * many went. */
uint32_t area_unlink_instances(int folder, const char *file);

/*
 * The image that exec replaced has left areas of instances. area_drop_replaced_instances(): they
 * go. area_replaced_instances_hold(): whether one has records. area_keep_replaced_instances():
 * those that have some become those of the area @file, which is the kept one of that image; the
 * others go.
 */
void area_drop_replaced_instances(void);
int area_replaced_instances_hold(void);
void area_keep_replaced_instances(const char *file);

/* In a fork's child: copy the state that is valid for the child too from the parent's area. */
void area_copy_kept(const struct area_header *from, struct area_header *to);

#endif
