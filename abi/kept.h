/* SPDX-License-Identifier: MIT */
/*
 * How much of what dead processes left is kept: a file `kept` in the folder of the areas. It is
 * there when somebody set a limit (`vestige clean --keep`), or when one was reached.
 * docs/formats/area.md.
 */
#ifndef VESTIGE_ABI_KEPT_H
#define VESTIGE_ABI_KEPT_H

#include <assert.h>
#include <stdint.h>

#define KEPT_FILE    "kept"
#define KEPT_MAGIC   0x4b545356u /* "VSTK" */
#define KEPT_VERSION 1u

/* The limits where there is no such file. */
#define KEPT_DEFAULT_FILES 4000u
#define KEPT_DEFAULT_BYTES (UINT64_C(1) << 30) /* and no more than this part of the file system: */
#define KEPT_DEFAULT_PART  8u		       /* an eighth */

#define KEPT_DEFAULT  UINT64_MAX /* as without the file */
#define KEPT_NO_LIMIT (UINT64_MAX - 1)

struct kept {
	uint32_t magic;
	uint32_t version;
	uint64_t max_files;
	uint64_t max_bytes; /* of memory that they take */
	/* what the limit has removed so far; CLOCK_REALTIME in seconds of the first and the last
	 * time */
	uint64_t removed_files, removed_bytes;
	uint64_t first_removed_s, last_removed_s;
};
static_assert(sizeof(struct kept) == 56, "struct kept is part of the format");

/*
 * Of the mode of an area's file: its process was found dead. The time of change of such a file is
 * when that was, or when a reader last took records from it.
 */
#define KEPT_FOUND_DEAD 01000u /* S_ISVTX */

#endif
