/* SPDX-License-Identifier: MIT */
/*
 * A ways file: a cache of the results of entries.h for one ELF file. The tools write it, the engine
 * reads it. It is valid only for the bytes that the analysis read (it has their digest) and for
 * this version of the analysis (it has a digest of the sources of object/).
 *
 * The file is untrusted: the reader checks the size, a digest of the whole file, the versions, and
 * each number of each row, and refuses the file if one is wrong. The format is native words, for
 * the machine that wrote it. No state; the caller supplies the memory.
 * Tests: tests/unit/test_ways_file.c, tests/fuzz/ways.c, tests/cli/test_ways.py.
 */
#ifndef VESTIGE_OBJECT_WAYS_FILE_H
#define VESTIGE_OBJECT_WAYS_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "object/entries.h"

#define WAYS_FILE_SUFFIX    ".ways"
#define WAYS_FILE_MAX_BYTES (64u << 20)
/* root's folder, readable by all; other users have $XDG_CACHE_HOME/vestige or ~/.cache/vestige */
#define WAYS_FOLDER_OF_ROOT "/var/cache/vestige"
#define WAYS_FOLDER_IN_HOME "/.cache"
#define WAYS_FOLDER_NAME    "/vestige"

struct ways_head {
	char magic[8];
	uint32_t format;
	uint32_t nr;	   /* rows behind the head */
	uint64_t analysis; /* ways_file_version() */
	uint64_t object;   /* ways_file_object() */
	uint64_t object_bytes;
	uint8_t walks, copies; /* index + 1 in entry_walkers, entry_copiers; 0: none */
	uint8_t reserved[6];
	uint64_t digest; /* of the file, computed with 0 in this field */
};

struct ways_row {
	uint32_t at, bytes;
	uint8_t way, why, skip, moved;
	uint8_t flags;
	uint8_t reserved;
	int16_t padding;
};

/* The version of the analysis: a digest of its sources. */
uint64_t ways_file_version(void);

/* A digest of all parts of an object that the analysis reads. */
uint64_t ways_file_object(const struct elf_image *image);

/*
 * ways_file_pack() - write the results of entries_find_ways().
 * @out: room for the file; NULL: only compute its size.
 * Return: bytes of the file; 0: it cannot be written (addresses above 4 GiB, or too many
 * functions).
 */
size_t ways_file_pack(const struct entries *e, uint8_t *out);

/*
 * ways_file_unpack() - fill in @e from a ways file, as entries_open() and entries_find_ways() would
 * do for @object. Only the data that redirects need is set: `never` and the map are not.
 * Return: 0, and entries_close() must follow; -ESTALE: the file is for another object or version of
 * the analysis; -EBADMSG: it is not a ways file, or is damaged; -ENOEXEC, -ENOMEM as
 * entries_open().
 */
int ways_file_unpack(struct entries *e, const uint8_t *object, uint64_t object_bytes,
		     const uint8_t *ways, size_t bytes, void *(*get)(size_t bytes),
		     void (*put)(void *p, size_t bytes));

/*
 * ways_file_is_trusted() - whether a file that is open may be used by @user: the user's own or
 * root's, no other can write to it, and its size may be a ways file's. A link is refused when it is
 * opened.
 */
bool ways_file_is_trusted(const struct stat *st, uid_t user);

/*
 * ways_file_name() - the file's name, made of the build-id. @name: WAYS_FILE_NAME_BYTES of room.
 * Return: 0, or -EINVAL: the build-id is too short or too long.
 */
#define WAYS_FILE_MAX_ID     64u
#define WAYS_FILE_NAME_BYTES (2 * WAYS_FILE_MAX_ID + sizeof(WAYS_FILE_SUFFIX))
int ways_file_name(const uint8_t *id, uint32_t id_bytes, char *name);

#endif
