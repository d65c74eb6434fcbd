/* SPDX-License-Identifier: MIT */
/* The control files of a process, from its area (struct area_files). */
#ifndef VESTIGE_TOOLS_FILE_TREE_H
#define VESTIGE_TOOLS_FILE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/area.h"

enum file_scope {
	FILE_INSTANCE,
	FILE_GLOBAL,
	FILE_CPU,    /* per_cpu/cpuN/PATH */
	FILE_OPTION, /* options/PATH */
};

struct file_row {
	const char *path;
	uint16_t mode;	  /* permission bits */
	bool branch;	  /* a folder whose files only the process knows */
	uint8_t scope;	  /* enum file_scope */
	const char *text; /* its last contents; NULL: the row has none */
	size_t bytes;
};

struct file_tree {
	uint32_t gen; /* changes when a file may have changed */
	uint32_t nr_rows;
	struct file_row *rows;
	char *text; /* holds the strings of the rows */
};

/*
 * file_tree_load() - read the rows of an area.
 * @fd: of the area; @head: its header, checked by meta_load().
 * @tree: filled in; freed with file_tree_free() whatever is returned.
 * Return: 0; -EAGAIN: the process kept writing it, or died while it wrote; -ENODATA: the area has
 * no files (version 1.0); -EINVAL, -EIO, -ENOMEM. With fail() set.
 */
int file_tree_load(int fd, const struct area_header *head, struct file_tree *tree);
void file_tree_free(struct file_tree *tree);

/* The file that a path of the tree names. */
struct file_at {
	const struct file_row *row; /* NULL: a folder */
	unsigned int cpu;	    /* UINT32_MAX: none */
	int option;		    /* FILE_OPTION: enum area_option, else -1 */
	bool branch; /* it is, or lies in, a folder whose files only the process knows */
};

/*
 * file_tree_find() - look up @path ("" is the root, no slash in front).
 * @nr_cpus: CPUs of the area. Return: 0 or -ENOENT, without fail().
 */
int file_tree_find(const struct file_tree *tree, const char *path, uint32_t nr_cpus,
		   struct file_at *at);

/* The row of that name in the root, also if it is a folder with `branch`; NULL: none. */
const struct file_row *file_tree_row(const struct file_tree *tree, const char *name);

/*
 * file_tree_list() - the names in a folder of the tree.
 * @put: called with each; returns non-zero to stop. Return: 0, @put's result, or -ENOENT.
 */
int file_tree_list(const struct file_tree *tree, const char *dir, uint32_t nr_cpus,
		   int (*put)(void *arg, const char *name, const struct file_at *at), void *arg);

#endif
