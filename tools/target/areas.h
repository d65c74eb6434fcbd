/* SPDX-License-Identifier: MIT */
/* The list of areas: the folders' names, read again when a folder has changed. */
#ifndef VESTIGE_TOOLS_AREAS_H
#define VESTIGE_TOOLS_AREAS_H

#include <stdbool.h>
#include <sys/types.h>

#include "tools/target/image.h"

struct area_file {
	int pid;
	unsigned long long start;
	unsigned int uid;  /* owner of the folder */
	ino_t ino;	   /* differs after exec, which makes a new file of the same name */
	char instance[64]; /* "": the process itself, which comes before its instances */
};

/* By pid, start, uid and instance. */
struct areas {
	unsigned int refs;
	size_t nr;
	struct area_file files[];
};

/*
 * areas_now() - the current list. As long as nothing changes it is the same object.
 * Return: to be given back with areas_put(); NULL without memory.
 */
struct areas *areas_now(void);
void areas_put(struct areas *a);

/* Order of two files by the fields above alone: negative, 0 or positive. */
int areas_compare(const struct area_file *a, const struct area_file *b);

/*
 * areas_report() - report why areas are missing: a line for each folder that is not read, and one
 * with the folders that were read if there is no area.
 */
void areas_report(void (*say)(const char *line));

/*
 * areas_are_below() - are the folders of the areas below a folder, or that folder itself?
 * @dir: an absolute path without links.
 */
bool areas_are_below(const char *dir);

/*
 * areas_open() - open an area of the list as an image.
 * @t: on success to be closed with image_close(). Return: 0 or -errno.
 */
int areas_open(const struct area_file *file, struct image *t);

#endif
