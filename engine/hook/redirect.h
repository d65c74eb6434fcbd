/* SPDX-License-Identifier: MIT */
/*
 * Redirects: functions that were built without any flag. A jump replaces a function's first
 * instructions and leads to an island, which begins with an ordinary site (text/redirect_island.h).
 * object/entries.h finds the functions that can be redirected, and how.
 */
#ifndef VESTIGE_HOOK_REDIRECT_H
#define VESTIGE_HOOK_REDIRECT_H

#include "engine/hook/text/redirect_island.h"
#include "engine/process/object.h"

/* The instructions that are replaced, as the file has them. */
struct redirect {
	uint8_t text[REDIRECT_MAX_MOVED];
	uint8_t bytes; /* their length */
	/* offset of the long jump from the short one; 0: the long jump is at the entry */
	int16_t padding;
};

/*
 * redirect_choose() - choose the objects, before the first is scanned. @names: NULL or "0": none.
 * Else the program, objects outside of the system's library folders, and the objects that it names
 * with *, ?, [], separated by commas ("1" names none). The string must stay. `pid:N,` in front: in
 * process N alone, not in processes that inherit the environment. With the word "all", each
 * function is redirected when its object is loaded. Without it, functions that are wanted at that
 * time are redirected then, and any other when it is first wanted, with all threads stopped.
 */
void redirect_choose(const char *names);
int redirect_all(void);

int redirect_is_wanted(const struct object *o);

/*
 * redirect_scan() - for an object without sites: function_add() the functions that can be
 * redirected, function_refuse() the others. The object's rows of both tables are empty so far.
 * @file: the object's file, mapped. Return: one row for each function, to be freed with
 * redirect_free(); NULL: the object is left alone; *@err: 0 or -errno.
 */
struct redirect *redirect_scan(struct object *o, const struct elf_file *file, int *err);
void redirect_free(struct redirect *r, uint32_t nr);

/*
 * Memory near the text for all islands of an object, with their unwind rules, and a slot for each.
 */
struct redirect_map {
	uint8_t *islands; /* NULL: there are none */
	uint32_t nr;
	size_t code_bytes; /* bytes of islands and rows; the rest, whole pages, comes after */
	void *slots;	   /* behind islands and rows */
};

/* Map it. @slot_bytes: size of a slot. Return: 0; -ENOMEM: there is no room near the text. */
int redirect_map(struct redirect_map *m, uint64_t text_lo, uint64_t text_hi, uint32_t nr,
		 size_t slot_bytes);
void redirect_unmap(struct redirect_map *m, size_t slot_bytes);

static inline uint8_t *redirect_island(const struct redirect_map *m, uint32_t i)
{
	return m->islands + (size_t)i * REDIRECT_ISLAND_BYTES;
}

/* The address of the @i-th island's unwind rules. */
uint64_t redirect_row(const struct redirect_map *m, uint32_t i);

/*
 * redirect_make() - make the @i-th island behind its site, and the bytes for the text. @from: the
 * first instruction that is replaced. The map's code must be writable. Return: 0; -ERANGE,
 * -EOPNOTSUPP: an instruction cannot run there.
 */
int redirect_make(const struct redirect_map *m, uint32_t i, const struct redirect *r,
		  uint64_t from);

/*
 * The address of the copy of the instruction at @address on the @i-th island, which has been made;
 * 0: there is none.
 */
uint64_t redirect_copy_of(const struct redirect_map *m, uint32_t i, uint64_t address);

/* How many bytes at the function's first instruction its jump replaces. */
uint32_t redirect_jump_bytes(const struct redirect *r);

/* Write the function's jumps. No thread may be in the function, and its text must be writable. */
void redirect_write(const struct redirect_map *m, uint32_t i, const struct redirect *r,
		    uint64_t from);

#endif
