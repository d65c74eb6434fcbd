/* SPDX-License-Identifier: MIT */
/* Sets of functions, one bit an id: filters. Under the tree's lock. */
#ifndef VESTIGE_CORE_FUNCTION_SET_H
#define VESTIGE_CORE_FUNCTION_SET_H

#include <stddef.h>
#include <stdint.h>

struct object;
struct ring;

struct function_set {
	uint64_t *bits;
	uint32_t nr; /* functions for which there is room */
	uint32_t count;
	uint8_t shown;		 /* enum area_function_filter: how the area shows its members */
	const struct ring *ring; /* in whose area it is shown */
};

/*
 * function_set_apply() - add or remove functions by one word of set_ftrace_filter's grammar.
 * @word: `glob`, `!glob`, `glob:mod:objectglob`, `N` (the N-th of available_filter_functions).
 * @n: its length.
 * Return: 0; -EINVAL if it names no function (or takes none out of a set of the graph's); -ENOMEM.
 */
int function_set_apply(struct function_set *set, const char *word, size_t n);

/*
 * The same of all words in @text, between blanks. @reset: empty the set first. The words before one
 * that fails stay.
 */
int function_set_apply_words(struct function_set *set, const char *text, size_t n, int reset);

void function_set_clear(struct function_set *set);
void function_set_free(struct function_set *set);

/* Add or remove one function. It does not change the area. Return: 0 or -ENOMEM. */
int function_set_put(struct function_set *set, uint32_t id, int add);

int function_set_has(const struct function_set *set, uint32_t id);

/* An object came, and its functions are not known yet: it is named if a word waits for it. */
void function_set_name_pending(struct function_set *set, struct object *o);

/* An object came: words of the set that waited for one of its name are applied to it. */
void function_set_take_pending(struct function_set *set, const struct object *o);

#endif
