/* SPDX-License-Identifier: MIT */
/*
 * Functions that were built without any flag. The jump that replaces a function's first
 * instructions leads to an island, which begins with an ordinary site (text/redirect_island.h).
 * object/entries.h finds the functions that can be reached, and how.
 */
#ifndef VESTIGE_HOOK_REDIRECT_H
#define VESTIGE_HOOK_REDIRECT_H

#include "engine/hook/text/redirect_island.h"
#include "engine/process/object.h"

/* The instructions to be replaced, as the file has them. */
struct redirect {
	uint8_t text[REDIRECT_MAX_MOVED];
	uint8_t bytes;	 /* of it */
	int16_t padding; /* where a long jump is, from the short one; 0: it is at the entry */
};

/*
 * redirect_choose() - say for which objects, before the first is scanned.
 * @names: NULL or "0": none. Else the program, objects outside of the system's folders for
 * libraries, and those that it names with *, ?, [], separated by commas ("1" names none). It stays.
 * `pid:N,` in front: in process N alone, not in those that inherit the text.
 * With the word "all" each function is redirected when its object is loaded. Without it, the
 * functions that are wanted then are redirected, and any other when it is first wanted, with all
 * threads stopped.
 */
void redirect_choose(const char *names);
int redirect_all(void);

int redirect_is_wanted(const struct object *o);

/*
 * redirect_scan() - an object has no sites: function_add() those functions that can be redirected,
 * function_refuse() the others. Its rows of both tables are empty so far.
 * @file: the object's file, mapped. Return: one row a function, freed with redirect_free(); NULL:
 * the object is left alone, *@err says whether by an error.
 */
struct redirect *redirect_scan(struct object *o, const struct elf_file *file, int *err);
void redirect_free(struct redirect *r, uint32_t nr);

/* Memory near the text for all islands of an object, with their rows, and one slot each. */
struct redirect_map {
	uint8_t *islands; /* NULL: there are none */
	uint32_t nr;
	size_t code_bytes; /* islands and rows: from there on, whole pages */
	void *slots;	   /* behind them */
};

/* Return: 0; -ENOMEM: there is no room near by. @slot_bytes: of one. */
int redirect_map(struct redirect_map *m, uint64_t text_lo, uint64_t text_hi, uint32_t nr,
		 size_t slot_bytes);
void redirect_unmap(struct redirect_map *m, size_t slot_bytes);

static inline uint8_t *redirect_island(const struct redirect_map *m, uint32_t i)
{
	return m->islands + (size_t)i * REDIRECT_ISLAND_BYTES;
}

/* Where the @i-th island's unwind row is. */
uint64_t redirect_row(const struct redirect_map *m, uint32_t i);

/*
 * redirect_make() - make the @i-th island behind its site, and the bytes that the text will get.
 * @from: the first instruction that is replaced. The map's code is writable. Return: 0;
 * -ERANGE, -EOPNOTSUPP: an instruction cannot run there.
 */
int redirect_make(const struct redirect_map *m, uint32_t i, const struct redirect *r,
		  uint64_t from);

/* Where the instruction at @address is on the @i-th island, which has been made; 0: it is not there. */
uint64_t redirect_copy_of(const struct redirect_map *m, uint32_t i, uint64_t address);

/* Bytes at the function's first instruction that its jump takes. */
uint32_t redirect_jump_bytes(const struct redirect *r);

/* Write the jumps to it. No thread is in the function, and its text is writable. */
void redirect_write(const struct redirect_map *m, uint32_t i, const struct redirect *r,
		    uint64_t from);

#endif
