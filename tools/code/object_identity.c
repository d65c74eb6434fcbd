/* SPDX-License-Identifier: MIT */
/* See object_identity.h. Tests: tests/unit/reader/test_object_space.c. */
#include "tools/code/object_identity.h"

#include <string.h>

#include "tools/base/hash.h"
#include "tools/code/elf_code.h"

uint64_t object_identity_base(const struct area_object *r, const char *path)
{
	uint64_t h = HASH_BYTES_SEED;

	if (object_id_bytes(r)) {
		h = hash_bytes(h, r->build_id, object_id_bytes(r));
	} else {
		h = hash_bytes(h, &r->dev, sizeof(r->dev));
		h = hash_bytes(h, &r->ino, sizeof(r->ino));
		h = hash_bytes(h, &r->mtime_ns, sizeof(r->mtime_ns));
		if (!r->ino)
			h = hash_bytes(h, path, strlen(path));
	}
	h ^= h >> 32;
	return (UINT64_C(1) << 59) | (h & 0x7ffffff) << 32;
}

bool object_file_is_the_one(const struct area_object *row, const struct elf_code *code)
{
	if (object_id_bytes(row))
		return code->build_id_bytes == object_id_bytes(row) &&
		       !memcmp(code->build_id, row->build_id, object_id_bytes(row));
	return row->dev == code->dev && row->ino == code->ino && row->mtime_ns == code->mtime_ns;
}
