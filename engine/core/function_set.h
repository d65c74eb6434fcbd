/* SPDX-License-Identifier: MIT */
/* Sets of functions, one bit for each id: filters. Under the tree lock. */
#ifndef VESTIGE_CORE_FUNCTION_SET_H
#define VESTIGE_CORE_FUNCTION_SET_H

#include <stddef.h>
#include <stdint.h>

struct object;
struct ring;

struct function_set {
	uint64_t *bits;
	uint32_t nr; /* functions for which there are bits */
	uint32_t count;
	uint8_t shown;		 /* enum area_function_filter: bit in the area for its members */
	const struct ring *ring; /* the ring whose area shows it */
};

/*
 * function_set_apply() - add or remove functions by one word of set_ftrace_filter's grammar. @word:
 * @n bytes: `glob`, `!glob`, `glob:mod:objectglob`, `N` (the N-th of available_filter_functions).
 * Return: 0; -EINVAL: no function matches (or it removes none from a set of the graph's); -ENOMEM.
 */
int function_set_apply(struct function_set *set, const char *word, size_t n);

/*
 * function_set_apply_words() - the same for all words in @text, separated by blanks. @reset: empty
 * the set first. If a word fails, the words before it have been applied.
 */
int function_set_apply_words(struct function_set *set, const char *text, size_t n, int reset);

void function_set_clear(struct function_set *set);
void function_set_free(struct function_set *set);

/* Add or remove one function, without changing the area. Return: 0 or -ENOMEM. */
int function_set_put(struct function_set *set, uint32_t id, int add);

int function_set_has(const struct function_set *set, uint32_t id);

/*
 * An object was loaded, and its functions are not known yet: mark it as named if a word waits for
 * it.
 */
void function_set_name_pending(struct function_set *set, struct object *o);

/* An object was loaded: apply the words that waited for its name. */
void function_set_take_pending(struct function_set *set, const struct object *o);

#endif
