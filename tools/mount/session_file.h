/* SPDX-License-Identifier: MIT */
/* What members of a session find when they start: the file of abi/session.h. */
#ifndef VESTIGE_TOOLS_MOUNT_SESSION_FILE_H
#define VESTIGE_TOOLS_MOUNT_SESSION_FILE_H

#include "tools/mount/writes.h"
#include "tools/target/areas_dir.h"

/* Zero at first; one thread at a time. */
struct session_file {
	bool open;
	bool others; /* another server keeps it: there are two of the session */
	int fd, dir_fd;
	uint64_t gen;
	char name[160];
};

/*
 * session_file_write() - show the writes to those who start from now on; the file is made when there is none.
 * What cannot be shown comes to members later, by their agents. @instance: "" the members themselves.
 */
void session_file_write(struct session_file *f, const struct areas_dir *dir, const char *session,
			const char *instance, const struct writes *w);

/* Take it away. */
void session_file_remove(struct session_file *f);

#endif
