/* SPDX-License-Identifier: MIT */
/* The file that tells those who join a session what was written to it: abi/session.h. */
#ifndef VESTIGE_TOOLS_MOUNT_SESSION_FILE_H
#define VESTIGE_TOOLS_MOUNT_SESSION_FILE_H

#include "tools/mount/writes.h"

/* Zero at first; one thread at a time. */
struct session_file {
	int fd; /* locked; 0: there is no file */
	char *path;
};

/*
 * session_file_put() - have it tell what is in @w by now.
 * @dir: the areas' folder. No error: those who join are then told when they are found.
 */
void session_file_put(struct session_file *f, const char *dir, const char *session,
		      const struct writes *w);

/* It goes. */
void session_file_free(struct session_file *f);

/* The number of a write by this process, as area_header.session_seq has it. */
uint64_t session_file_seq(const struct writes *w);

/* How many writes a member has done itself, by what its area tells. */
uint64_t session_file_done(uint64_t session_seq);

#endif
