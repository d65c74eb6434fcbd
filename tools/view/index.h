/* SPDX-License-Identifier: MIT */
/*
 * The index of a recording: its outline (columns_outline()) in a file, so that `view` has a picture
 * before it has read the recording. Only the first picture depends on it; the recording replaces
 * it.
 *
 *	struct index_head | names | tracks, each with its rows | places where records were lost
 *
 * All numbers are in the machine's byte order; each part begins at a multiple of 8 bytes. An index
 * of another version, of another state of the file, incomplete or with a wrong hash is not used and
 * is written anew. One with the right hash is still untrusted: each count, length and number is
 * checked. Tests: tests/cli/test_view_index.py, fuzz target index.
 */
#ifndef VESTIGE_TOOLS_INDEX_H
#define VESTIGE_TOOLS_INDEX_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/view/columns.h"

#define INDEX_MAGIC   UINT64_C(0x5845444e49534556) /* "VESINDEX" */
#define INDEX_VERSION 3u

/* The file and its state: each change of the file gives another id. */
struct index_id {
	uint64_t dev, ino, bytes, mtime_ns;
};

struct index_head {
	uint64_t magic;
	uint32_t version, head_bytes;
	uint64_t file_bytes; /* of the index */
	uint64_t hash;	     /* of all behind the head, then of the head with this field 0 */
	struct index_id id;
	uint64_t first, last, nr_calls, too_deep, nr_events;
	uint32_t has_states, nr_names, nr_tracks, nr_lost;
};
static_assert(sizeof(struct index_head) == 120, "index_head is part of the format");

/* Behind each: its texts, one behind the other without a NUL. */
struct index_name {
	uint64_t ip;
	uint32_t text_bytes;
	uint32_t object_bytes, place_bytes; /* + 1; 0: there is none */
	uint32_t reserved;
};

/* Behind it: its name, then its rows. */
struct index_track {
	uint32_t kind;
	int32_t id, pid;
	uint32_t process, stack, name_bytes, nr_rows, buffer_bytes;
};

/*
 * Behind it, if the row is whole: start, length (64 bits each), name, extra (32 bits each) of each
 * span. Else struct span_node of each leaf.
 */
struct index_row {
	uint64_t nr, whole;
};

struct index_lost {
	uint64_t ts, nr;
	uint32_t cpu, reserved;
};

/*
 * index_place() - the path of a file's index: beside it (PATH.index) if the folder belongs to this
 * user and no other user may write there; else in $XDG_CACHE_HOME/vestige, which is made (0700).
 * @path: the recording. @id: set. @out: freed by the caller.
 * Return: 0; -errno with fail() set: ENOENT, EINVAL (no regular file), EACCES (no folder is only
 * this user's), ...
 */
int index_place(const char *path, struct index_id *id, char **out);

/*
 * index_load() - the outline that the index of a file has.
 * @index: from index_place(). @v: of the recording, borrowed as by columns_read().
 * Return: 0; -ENOENT: there is none; -ESTALE: it is of another file, state or version; -EINVAL: it
 * is damaged, or no regular file that belongs to this user; -ENOMEM, ... fail() is set.
 */
int index_load(const char *index, const struct index_id *id, struct view *v, struct columns **out);

/*
 * index_save() - write it: a new file beside it, which takes its place when it is complete.
 * @c: an outline. Return: 0 or -errno with fail() set; nothing is left behind then.
 */
int index_save(const char *index, const struct index_id *id, const struct columns *c);

/* The hash for @head, with @bytes (a multiple of 8) at @data behind it. head->hash is not read. */
uint64_t index_hash(const struct index_head *head, const void *data, size_t bytes);

#endif
