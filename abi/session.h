/* SPDX-License-Identifier: MIT */
/*
 * The writes to a session's control files, which a new member carries out when it starts. They are
 * in a file beside the areas, `session.NAME`, and in `session.NAME:INSTANCE` for an instance of the
 * members. The server of the session's files writes this file and holds an exclusive flock() on it.
 * Without that lock the file is not valid. See docs/formats/area.md.
 */
#ifndef VESTIGE_ABI_SESSION_H
#define VESTIGE_ABI_SESSION_H

#include <assert.h>
#include <stdint.h>

#include "abi/area.h"

#define SESSION_PREFIX	  "session."
#define SESSION_MAGIC	  0x53545356u /* "VSTS" */
#define SESSION_VERSION	  2u
#define SESSION_MAX_BYTES (1u << 20)

struct session_head {
	uint32_t magic;
	uint32_t version;
	uint64_t gen; /* odd while it is written; a copy is good when it was even and the same */
	/*
	 * CLOCK_MONOTONIC of the last write in the file. A member that has carried out all writes
	 * copies it into its area's header (session_ns). A member that stopped before stores
	 * session_write.end_ns of the last write that it carried out there; 0: none.
	 */
	uint64_t until_ns;
	uint32_t bytes; /* of the writes that follow: each is a session_write, its path, its text */
	uint32_t nr;
};
static_assert(sizeof(struct session_head) == 32, "session_head is part of the format");

enum session_write_flags {
	SESSION_MKDIR = 1,    /* make the instance that the path names */
	SESSION_TRUNCATE = 2, /* the write begins with an open that truncates */
	/* The text depends on the program. The SESSION_MEANING entries that follow have it. */
	SESSION_DEPENDS = 4,
	/* The text of the SESSION_DEPENDS before it, for programs with these `objects`. No path. */
	SESSION_MEANING = 8,
};

/*
 * A member carries out the writes in their order. It stops at the first SESSION_DEPENDS for which
 * no SESSION_MEANING fits; it gets that write and the later ones through its agent.
 */
struct session_write {
	uint32_t flags;
	uint32_t path_bytes;
	uint32_t text_bytes;
	uint32_t reserved;
	uint64_t end_ns;  /* CLOCK_MONOTONIC when the server had carried it out */
	uint64_t objects; /* of a SESSION_MEANING: session_objects_add() of all objects */
};
static_assert(sizeof(struct session_write) == 32, "session_write is part of the format");

#define SESSION_OBJECTS_SEED UINT64_C(0xcbf29ce484222325)

/* FNV-1a, 64 bits. */
static inline uint64_t session_hash(uint64_t h, const void *data, uint64_t n)
{
	const unsigned char *p = (const unsigned char *)data;

	while (n--)
		h = (h ^ *p++) * UINT64_C(0x100000001b3);
	return h;
}

/*
 * session_objects_add() - add an object to a hash of all objects, in the order of AREA_OBJECTS. The
 * hash has the object's build-id, or else its file. Objects that were loaded after the start do not
 * count.
 * @h: the hash so far; at first SESSION_OBJECTS_SEED.
 *
 * Return: the new hash.
 */
static inline uint64_t session_objects_add(uint64_t h, const struct area_object *o)
{
	if (o->load_stamp)
		return h;
	if (o->build_id_bytes && o->build_id_bytes <= AREA_BUILD_ID_MAX)
		return session_hash(h, o->build_id, o->build_id_bytes);
	h = session_hash(h, &o->dev, sizeof(o->dev));
	h = session_hash(h, &o->ino, sizeof(o->ino));
	return session_hash(h, &o->mtime_ns, sizeof(o->mtime_ns));
}

#endif
