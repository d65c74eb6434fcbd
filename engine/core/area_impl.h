/* SPDX-License-Identifier: MIT */
/* What area.c and area_instance.c share. */
#ifndef VESTIGE_CORE_AREA_IMPL_H
#define VESTIGE_CORE_AREA_IMPL_H

#include "engine/core/area.h"

#define AREA_PATH_BYTES 512

/* As the process's area was made. */
extern struct area_config area_made;

/* Compute a header's tables and sizes for a configuration. Return: the size of the file. */
uint64_t area_lay_out(struct area_header *h, const struct area_config *config);

/*
 * area_map() - give a new file its size, map it, and fill in header and buffer.
 * Return: 0 and the mapping in *@head, or -errno: nothing is mapped then.
 */
int area_map(int fd, const struct area_config *config, const struct area_header *h,
	     struct area_header **head);

/* The image that exec replaced has left areas of instances: they go. */
void area_drop_replaced_instances(void);

/* In a fork's child: what the parent's area says that holds for the child's too. */
void area_copy_kept(const struct area_header *from, struct area_header *to);

#endif
