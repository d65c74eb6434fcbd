/* SPDX-License-Identifier: MIT */
/* The file that members of a session read when they start (abi/session.h). */
#ifndef VESTIGE_TOOLS_SESSION_FILE_H
#define VESTIGE_TOOLS_SESSION_FILE_H

#include "tools/target/writes.h"
#include "tools/target/areas_dir.h"

/* Zero at first; one thread at a time. */
struct session_file {
	bool open;
	bool others; /* another process of the tools serves the session and keeps the file */
	int fd, dir_fd;
	uint64_t gen;
	char name[160];
};

/*
 * session_file_write() - put the writes into the file, for members that start from now on; the file
 * is made if there is none. Writes that do not fit reach these members later, through their agents.
 * @instance: "": the members themselves.
 */
void session_file_write(struct session_file *f, const struct areas_dir *dir, const char *session,
			const char *instance, const struct writes *w);

/* Remove the file. */
void session_file_remove(struct session_file *f);

#endif
