/* SPDX-License-Identifier: MIT */
/*
 * The operations of a hook. A hook is a way in which a call of a function reaches the engine. Hooks
 * register themselves in constructor context; core never names one.
 */
#ifndef VESTIGE_CORE_HOOK_H
#define VESTIGE_CORE_HOOK_H

#include "abi/record.h"
#include "engine/process/object.h"

struct hook {
	const char *name;
	/*
	 * Whether the object is to be scanned as soon as it is there: what the compiler put into
	 * its functions costs until then, or cannot be changed later. NULL: no.
	 */
	int (*urgent)(struct object *o);
	/*
	 * Find the functions of one object that this hook can trace, and function_add() each in
	 * order of address; function_refuse() those that look as if they should be and are not.
	 * Sets the object row's counts and status. Return: 0 or -errno.
	 */
	int (*scan)(struct object *o);
	/*
	 * Make the text of one object agree with @how.
	 * @how: one byte a function of the object, enum ops_how. The hook clears the bytes of
	 * functions that it cannot patch. @kind: what the top instance's tracer makes, or made
	 * last: RECORD_FUNCTION, or RECORD_ENTRY of the graph; it changes only when nothing of it
	 * is armed.
	 * Return: 0, or -errno when none of it could be done; single refusals are counted.
	 */
	int (*arm)(struct object *o, uint8_t *how, enum record_kind kind);
	/*
	 * Calls that make records of @kind are about to be armed, or are armed and the graph's
	 * filters have changed. Return: 0 or -errno. NULL: nothing to do.
	 */
	int (*prepare)(enum record_kind kind);
	/* Nothing is armed any more. NULL: nothing to do. */
	void (*finish)(enum record_kind kind);
	/*
	 * Which instances want a graph may have changed; before anything is armed for it. Return: 0
	 * or -errno. NULL: nothing to do.
	 */
	int (*settle)(void);
	/*
	 * Nothing of the object is armed, and the engine is to sleep: make its text as it was, as far
	 * as that can be done while threads run. arm() comes again. Return: how many functions stay
	 * changed, or -errno. NULL: nothing to do.
	 */
	int (*rest)(struct object *o);
	/* The object is no longer mapped: free what scan() made. */
	void (*forget)(struct object *o);
};

void hook_register(const struct hook *hook);

/* The @i-th that registered; NULL: there is none. */
const struct hook *hook_at(uint32_t i);

#endif
