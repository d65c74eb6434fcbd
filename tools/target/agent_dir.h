/* SPDX-License-Identifier: MIT */
/* The agent's listings of folders, cached as long as they cannot have changed. */
#ifndef VESTIGE_TOOLS_AGENT_DIR_H
#define VESTIGE_TOOLS_AGENT_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct agent_dir_file {
	const char *name;
	bool is_dir;
	mode_t mode; /* permission bits */
};

struct agent_dir_listing {
	struct agent_dir_listing *next;
	unsigned int nr;
	struct agent_dir_file *files; /* in the agent's order */
	struct agent_dir_file *by_name;
	char *text; /* the text that holds the names */
	char path[];
};

#define AGENT_DIR_BUCKETS 256u

#define AGENT_DIR_NO_GEN 1u

/* Folders that are known. Zero at first; under a lock of its owner's. */
struct agent_dir {
	uint32_t gen; /* of the process's files, when they were read: even */
	struct agent_dir_listing *dirs[AGENT_DIR_BUCKETS];
	struct agent_dir_listing *once; /* what was read at no such gen */
};

/* agent_dir_find() - a folder that was kept at @gen; NULL: it is not known, or not any more. */
const struct agent_dir_listing *agent_dir_find(struct agent_dir *b, uint32_t gen, const char *path);

/*
 * agent_dir_listing_new() - a folder from the text of AGENT_LIST, which it then owns.
 * Return: to be given to agent_dir_keep(); NULL without memory.
 */
struct agent_dir_listing *agent_dir_listing_new(const char *path, char *text);
const struct agent_dir_file *agent_dir_listing_file(const struct agent_dir_listing *d,
						    const char *name);

/* Keep @d, which was asked for at @gen; if that is odd, until the next call alone. */
void agent_dir_keep(struct agent_dir *b, uint32_t gen, struct agent_dir_listing *d);
void agent_dir_forget(struct agent_dir *b);

#endif
