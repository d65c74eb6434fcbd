/* SPDX-License-Identifier: MIT */
/*
 * What was written to a session (VESTIGE_SESSION), for those that join it: they do it before their own code
 * runs, so that the shortest of them is traced from its beginning. Who serves the session's files
 * keeps the file SESSION_FILE_PREFIX NAME in the areas' folder, replaced as a whole, under an exclusive flock() as long as
 * it lives; one without that lock is left over. Behind the head are `bytes` of
 *
 *	struct session_write, the file's path and a NUL, the text, and zeros up to a multiple of 8
 */
#ifndef VESTIGE_ABI_SESSION_H
#define VESTIGE_ABI_SESSION_H

#include <assert.h>
#include <stdint.h>

#define SESSION_FILE_PREFIX    ".session-"
#define SESSION_FILE_MAGIC     UINT64_C(0x3173736573747376) /* "vstsess1" */
#define SESSION_FILE_MAX_BYTES (1u << 20)

enum session_write_flag {
	SESSION_WRITE_TRUNCATES = 1,
	SESSION_WRITE_INSTANCE = 2, /* the path is an instance's, which is made */
};

struct session_file_head {
	uint64_t magic;
	uint64_t
		seq; /* of its last write; the upper half tells who counts: area_header.session_seq */
	uint64_t bytes;
};
static_assert(sizeof(struct session_file_head) == 24, "session_file_head is part of the format");

struct session_write {
	uint32_t flags;
	uint32_t path_bytes; /* with its NUL */
	uint32_t text_bytes;
	uint32_t reserved;
};
static_assert(sizeof(struct session_write) == 16, "session_write is part of the format");

#endif
