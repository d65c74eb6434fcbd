/* SPDX-License-Identifier: MIT */
/*
 * The ELF objects of the processes of a recording: their place in the address space of a trace.dat
 * and the symbols of their code.
 *
 * The identity of an object is its build-id; without one its device, inode and time of change;
 * without a file its name. Its range of 4 GiB begins at a hash of the identity, between 2^59 and
 * 2^60, so no address in it can be a run-time address. If two objects of one recording have the
 * same hash, the one with the greater identity gets the next free range: the result depends only on
 * the set of objects.
 */
#ifndef VESTIGE_TOOLS_OBJECT_SPACE_H
#define VESTIGE_TOOLS_OBJECT_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/area/meta.h"
#include "tools/code/object_identity.h"
#include "tools/code/symbols.h"

struct object_space;

/* An empty space; NULL and errno if memory is short. */
struct object_space *object_space_new(void);
void object_space_free(struct object_space *s);

/*
 * object_space_add() - add object @i of @m, which must outlive the space.
 * Return: the number of the distinct object (same object in two processes: same number), or -ENOMEM
 * with fail() set.
 */
int object_space_add(struct object_space *s, const struct meta *m, uint32_t i);

/* Give each distinct object its range; after the last add. Return: 0 or -ENOMEM. */
int object_space_assign(struct object_space *s);

/* First address of the range of distinct object @n. */
uint64_t object_space_base(const struct object_space *s, int n);

/*
 * object_space_load() - read the symbols of every object and add them to @symbols.
 *
 * A file that is not the one that ran (another build-id, or inode or time) gives no names: its code
 * is then named `NAME:changed`. A function without a symbol is NAME+0xOFFSET, if the engine found
 * it, or the unwinding table has it and no symbol table has all names. Code between all these has
 * the name of its section. Entries of the PLT are `NAME@plt`.
 * @note: called with one line for each file that could not be used; may be NULL.
 * Return: 0 or -ENOMEM with fail() set. A file that cannot be read is no error.
 */
int object_space_load(struct object_space *s, struct symbols *symbols,
		      void (*note)(const char *line));

/*
 * object_space_paths() - add each object's range and file to @symbols; no file is read.
 * object_space_load() does it too. Return: 0 or -ENOMEM with fail() set.
 */
int object_space_paths(const struct object_space *s, struct symbols *symbols);

#endif
