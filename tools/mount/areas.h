/* SPDX-License-Identifier: MIT */
/* Which areas there are: the folders' names, read anew when a folder has changed. */
#ifndef VESTIGE_TOOLS_MOUNT_AREAS_H
#define VESTIGE_TOOLS_MOUNT_AREAS_H

#include <sys/types.h>

#include "tools/target/target.h"

struct area_file {
	int pid;
	unsigned long long start;
	unsigned int uid;  /* whose folder */
	ino_t ino;	   /* exec puts another file in its place */
	char instance[64]; /* "": the process itself, which comes before its instances */
};

/* By pid, start, uid and instance. */
struct areas {
	unsigned int refs;
	size_t nr;
	struct area_file files[];
};

/*
 * areas_now() - what there is. As long as nothing changes it is the same object.
 * Return: to be given back with areas_put(); NULL without memory.
 */
struct areas *areas_now(void);
struct areas *areas_ref(struct areas *a);
void areas_put(struct areas *a);

/* Order of two files, whatever they are by now: negative, 0 or positive. */
int areas_compare(const struct area_file *a, const struct area_file *b);

/*
 * areas_open() - one of them as a target.
 * @t: on success to be closed with target_close(). Return: 0 or -errno.
 */
int areas_open(const struct area_file *file, struct target *t);

#endif
