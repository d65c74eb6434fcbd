/* SPDX-License-Identifier: MIT */
/*
 * The limits on areas of dead processes: a file `kept` in the folder of the areas. It exists after
 * a limit was set (`vestige clean --keep`) or reached for the first time. See docs/formats/area.md.
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
#define KEPT_DEFAULT_BYTES (UINT64_C(1) << 30)
#define KEPT_DEFAULT_PART  8u /* and at most an eighth of the file system */

#define KEPT_DEFAULT  UINT64_MAX /* of max_files, max_bytes: the default, as without the file */
#define KEPT_NO_LIMIT (UINT64_MAX - 1)

struct kept {
	uint32_t magic;
	uint32_t version;
	uint64_t max_files;
	uint64_t max_bytes;			  /* memory of all these areas */
	uint64_t removed_files, removed_bytes;	  /* because of the limits, so far */
	uint64_t first_removed_s, last_removed_s; /* CLOCK_REALTIME in seconds; 0: never */
};
static_assert(sizeof(struct kept) == 56, "struct kept is part of the format");

/*
 * A bit in the mode of an area's file: its process was found dead. The file's change time (ctime)
 * is then the time of that, or the last time at which a reader took records from it.
 */
#define KEPT_FOUND_DEAD 01000u /* S_ISVTX */

#endif
