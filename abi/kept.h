/* SPDX-License-Identifier: MIT */
/*
 * The limits on areas of dead processes: a file `kept` in the folder of the areas. It exists once a
 * limit was set (`vestige clean --keep`) or reached. docs/formats/area.md.
 */
#ifndef VESTIGE_ABI_KEPT_H
#define VESTIGE_ABI_KEPT_H

#include <assert.h>
#include <stdint.h>

#define KEPT_FILE    "kept"
#define KEPT_MAGIC   0x4b545356u /* "VSTK" */
#define KEPT_VERSION 1u

/* The limits that hold without such a file. */
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
 * A bit in the mode of an area's file: its process was found dead. The file's time of change is the
 * time of that, or the last time a reader took records from it.
 */
#define KEPT_FOUND_DEAD 01000u /* S_ISVTX */

#endif
