/* SPDX-License-Identifier: MIT */
/*
 * Words `glob:mod:OBJECT` of set_ftrace_filter and set_ftrace_notrace for objects that are not
 * loaded. They are stored, listed, and applied when an object with that name is loaded.
 */
#ifndef VESTIGE_CORE_FUNCTION_PENDING_H
#define VESTIGE_CORE_FUNCTION_PENDING_H

#include "engine/core/function_word.h"

struct function_set;

/*
 * pending_change() - store a word, or with `!` forget it. All functions here: under the tree lock.
 * Return: 0; -EINVAL: the set cannot have such words, or does not have this one; -ENOSPC: the row
 * of the area is full; -ENOMEM.
 */
int pending_change(struct function_set *set, const struct function_word *w);

/* Forget all words of the set. */
void pending_clear(struct function_set *set);

/* Whether the set has any word: then it is not empty, though it has no function. */
int pending_any(const struct function_set *set);

/*
 * pending_apply() - an object was loaded. @take: applies a word to it, and returns whether the word
 * matched; then it is forgotten.
 */
void pending_apply(struct function_set *set, int (*take)(void *arg, const char *word, size_t n),
		   void *arg);

#endif
