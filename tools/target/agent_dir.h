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

/* The cached folders of one process. Zero at first; the owner's lock protects it. */
struct agent_dir {
	uint32_t gen; /* generation of the process's files when they were read: even */
	struct agent_dir_listing *dirs[AGENT_DIR_BUCKETS];
	struct agent_dir_listing *once; /* read while gen was odd: not cached */
};

/* agent_dir_find() - a folder that was cached at @gen; NULL: it is not cached, or outdated. */
const struct agent_dir_listing *agent_dir_find(struct agent_dir *b, uint32_t gen, const char *path);

/*
 * agent_dir_listing_new() - parse a folder. @text: the answer to AGENT_LIST, malloced; the listing
 * owns it. Return: the listing, for agent_dir_keep(), which owns it then; NULL without memory.
 */
struct agent_dir_listing *agent_dir_listing_new(const char *path, char *text);
const struct agent_dir_file *agent_dir_listing_file(const struct agent_dir_listing *d,
						    const char *name);

/* Cache @d, which was read at @gen. If @gen is odd, @d is valid only until the next call. */
void agent_dir_keep(struct agent_dir *b, uint32_t gen, struct agent_dir_listing *d);
void agent_dir_forget(struct agent_dir *b);

#endif
