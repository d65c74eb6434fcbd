/* SPDX-License-Identifier: MIT */
/* What the agent of a process says is in a folder, kept as long as that cannot have changed. */
#ifndef VESTIGE_TOOLS_MOUNT_BRANCH_H
#define VESTIGE_TOOLS_MOUNT_BRANCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct branch_file {
	const char *name;
	bool is_dir;
	mode_t mode; /* permission bits */
};

struct branch_dir {
	struct branch_dir *next;
	unsigned int nr;
	struct branch_file *files; /* in the agent's order */
	struct branch_file *by_name;
	char *text; /* what the names are in */
	char path[];
};

#define BRANCH_BUCKETS 256u

#define BRANCH_NO_GEN 1u

/* Folders that are known. Zero at first; under a lock of its owner's. */
struct branch {
	uint32_t gen; /* of the process's files, when they were read: even */
	struct branch_dir *dirs[BRANCH_BUCKETS];
	struct branch_dir *once; /* what was read at no such gen */
};

/* branch_find() - a folder that was kept at @gen; NULL: it is not known, or not any more. */
const struct branch_dir *branch_find(struct branch *b, uint32_t gen, const char *path);

/*
 * branch_dir_new() - a folder, of the text of AGENT_LIST, which is its own from then on.
 * Return: to be given to branch_keep() or branch_dir_free(); NULL without memory.
 */
struct branch_dir *branch_dir_new(const char *path, char *text);
void branch_dir_free(struct branch_dir *d);
const struct branch_file *branch_dir_file(const struct branch_dir *d, const char *name);

/* Keep @d, which was asked for at @gen; if that is odd, until the next call alone. */
void branch_keep(struct branch *b, uint32_t gen, struct branch_dir *d);
void branch_forget(struct branch *b);

#endif
