/* SPDX-License-Identifier: MIT */
/*
 * Words `glob:mod:OBJECT` of set_ftrace_filter and set_ftrace_notrace that name no object which is
 * loaded: remembered, listed, and applied when one of that name comes.
 */
#ifndef VESTIGE_CORE_FUNCTION_PENDING_H
#define VESTIGE_CORE_FUNCTION_PENDING_H

#include "engine/core/function_word.h"

struct function_set;

/*
 * pending_change() - remember a word, or forget it if it is one with `!`. Under the tree's lock, as
 * all here. Return: 0; -EINVAL: the set has no such words, or there is none to forget; -ENOSPC:
 * they fill their row of the area; -ENOMEM.
 */
int pending_change(struct function_set *set, const struct function_word *w);

/* Forget all. */
void pending_clear(struct function_set *set);

/* Whether the set has any: it is not empty then, though it has no function. */
int pending_any(const struct function_set *set);

/*
 * pending_apply() - an object came.
 * @take: apply the word to it; returns whether it named a function there: it is forgotten then.
 */
void pending_apply(struct function_set *set, int (*take)(void *arg, const char *word, size_t n),
		   void *arg);

#endif
