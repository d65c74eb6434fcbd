/* SPDX-License-Identifier: MIT */
/*
 * The identity of an object: its build-id; without one its device, inode and time of change.
 * An object of an area and a file are the same object if these are equal.
 */
#ifndef VESTIGE_TOOLS_OBJECT_IDENTITY_H
#define VESTIGE_TOOLS_OBJECT_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/area.h"

struct elf_code;

/* Bytes of the build-id of @o, never more than the row holds; 0: it has none. */
static inline unsigned int object_id_bytes(const struct area_object *o)
{
	return o->build_id_bytes > AREA_BUILD_ID_MAX ? AREA_BUILD_ID_MAX : o->build_id_bytes;
}

/*
 * object_identity_base() - the first address of the range of 4 GiB for an object's identity. If two
 * objects have the same, object_space_assign() moves one of them.
 * @path: of the object; used if it has neither build-id nor inode.
 */
uint64_t object_identity_base(const struct area_object *row, const char *path);

/*
 * The address in that range for @addr, as in the object's program headers (run-time address -
 * bias).
 */
static inline uint64_t object_space_addr(uint64_t base, uint64_t addr)
{
	return base + (uint32_t)addr;
}

/* Is @code, a file as it is now, the object that ran? */
bool object_file_is_the_one(const struct area_object *row, const struct elf_code *code);

#endif
