/* SPDX-License-Identifier: MIT */
/*
 * A ways file: what entries.h has found in one ELF file, so that it need not be found again. The
 * tools write it, the engine reads it. It holds for the very bytes that the analysis reads (a digest
 * of them is in it) and for this version of the analysis (a digest of object/'s sources).
 *
 * The reader takes nothing on trust: the size, a digest of the whole, the versions, and each number
 * of each row are checked. A file that does not fit in all of it is no ways file. Format: native
 * words; it is for the machine that has written it. No state; memory is the caller's.
 * Tests: tests/unit/test_ways_file.c, tests/fuzz/ways.c, tests/cli/test_ways.py.
 */
#ifndef VESTIGE_OBJECT_WAYS_FILE_H
#define VESTIGE_OBJECT_WAYS_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "object/entries.h"

#define WAYS_FILE_SUFFIX    ".ways"
#define WAYS_FILE_MAX_BYTES (64u << 20)
/* root's, which all users may read; others have $XDG_CACHE_HOME/vestige or ~/.cache/vestige */
#define WAYS_FOLDER_OF_ROOT "/var/cache/vestige"
#define WAYS_FOLDER_IN_HOME "/.cache"
#define WAYS_FOLDER_NAME    "/vestige"

struct ways_head {
	char magic[8];
	uint32_t format;
	uint32_t nr;	   /* rows behind the head */
	uint64_t analysis; /* of the sources: ways_file_version() */
	uint64_t object;   /* ways_file_object() */
	uint64_t object_bytes;
	uint8_t walks, copies; /* of entry_walkers, entry_copiers: the row's number + 1; 0: none */
	uint8_t reserved[6];
	uint64_t digest; /* of the file, with 0 here */
};

struct ways_row {
	uint32_t at, bytes;
	uint8_t way, why, skip, moved;
	uint8_t flags;
	uint8_t reserved;
	int16_t padding;
};

/* The version of the analysis. */
uint64_t ways_file_version(void);

/* A digest of all of an object that the analysis reads. */
uint64_t ways_file_object(const struct elf_image *image);

/*
 * ways_file_pack() - write what entries_find_ways() has found.
 * @out: NULL: only say how many bytes it takes. Return: bytes; 0: it cannot be written (addresses
 * above 4 GiB, or too many functions).
 */
size_t ways_file_pack(const struct entries *e, uint8_t *out);

/*
 * ways_file_unpack() - what entries_open() and entries_find_ways() would find in @object, from a
 * ways file. `never`, the map and what is not an input of redirects are not in it.
 * Return: 0, to be undone by entries_close(); -ESTALE: it is of other bytes or of another analysis;
 * -EBADMSG: it is no ways file, or damaged; -ENOEXEC, -ENOMEM as of entries_open().
 */
int ways_file_unpack(struct entries *e, const uint8_t *object, uint64_t object_bytes,
		     const uint8_t *ways, size_t bytes, void *(*get)(size_t bytes),
		     void (*put)(void *p, size_t bytes));

/*
 * ways_file_is_trusted() - whether a file that is open may be used by @user: the user's own or root's,
 * no other can write to it, and its size may be a ways file's. A link is refused when it is opened.
 */
bool ways_file_is_trusted(const struct stat *st, uid_t user);

/*
 * ways_file_name() - the file's name by the object's build-id. @name: of WAYS_FILE_NAME_BYTES.
 * Return: 0, or -EINVAL: no such build-id is used.
 */
#define WAYS_FILE_MAX_ID     64u
#define WAYS_FILE_NAME_BYTES (2 * WAYS_FILE_MAX_ID + sizeof(WAYS_FILE_SUFFIX))
int ways_file_name(const uint8_t *id, uint32_t id_bytes, char *name);

#endif
