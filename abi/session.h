/* SPDX-License-Identifier: MIT */
/*
 * What was written to a session, for its members to carry out when they start: a file beside the areas,
 * `session.NAME`, of an instance of its members `session.NAME:INSTANCE`. Who serves the session's files keeps
 * it, and holds an exclusive flock() on it: without one it means nothing any more. docs/formats/area.md.
 */
#ifndef VESTIGE_ABI_SESSION_H
#define VESTIGE_ABI_SESSION_H

#include <assert.h>
#include <stdint.h>

#define SESSION_PREFIX	  "session."
#define SESSION_MAGIC	  0x53545356u /* "VSTS" */
#define SESSION_VERSION	  1u
#define SESSION_MAX_BYTES (1u << 20)

struct session_head {
	uint32_t magic;
	uint32_t version;
	uint64_t gen; /* odd while it is written; a copy is good when it was even and the same */
	/* CLOCK_MONOTONIC of the last one that is here, for the header of who has carried them out */
	uint64_t until_ns;
	uint32_t bytes; /* of the writes, which follow: each its head, its path and its text */
	uint32_t nr;
};
static_assert(sizeof(struct session_head) == 32, "session_head is part of the format");

/* Make the instance of that path's name; a write begins with an open that truncates. */
enum session_write_flags { SESSION_MKDIR = 1, SESSION_TRUNCATE = 2 };

struct session_write {
	uint32_t flags;
	uint32_t path_bytes;
	uint32_t text_bytes;
};
static_assert(sizeof(struct session_write) == 12, "session_write is part of the format");

#endif
