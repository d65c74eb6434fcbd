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
	 * Whether the object must be scanned as soon as it is loaded: what the compiler put into
	 * its functions costs time until then, or cannot be changed later. NULL: no.
	 */
	int (*urgent)(struct object *o);
	/*
	 * Find the functions of one object that this hook can trace, and call function_add() for
	 * each, sorted by address; call function_refuse() for functions that only look as if they
	 * could be traced. Sets the counts and the status of the object's row. Return: 0 or -errno.
	 */
	int (*scan)(struct object *o);
	/*
	 * Patch the text of one object as @how says. @how: one byte for each function of the
	 * object, enum ops_how. The hook clears the bytes of functions that it cannot patch. @kind:
	 * the records of the top instance's tracer, or of its last one: RECORD_FUNCTION, or
	 * RECORD_ENTRY for a graph. It changes only while none of its sites is armed. Return: 0;
	 * -errno: nothing was done; single refusals are counted.
	 */
	int (*arm)(struct object *o, uint8_t *how, enum record_kind kind);
	/*
	 * Called before calls that make records of @kind are armed, or after the graph's filters
	 * have changed while they are armed. Return: 0 or -errno. NULL: nothing to do.
	 */
	int (*prepare)(enum record_kind kind);
	/* No call is armed any more. NULL: nothing to do. */
	void (*finish)(enum record_kind kind);
	/*
	 * Called before a graph is armed, when it may have changed which instances want one.
	 * Return: 0 or -errno. NULL: nothing to do.
	 */
	int (*settle)(void);
	/*
	 * For a detach: no call of the object is armed; restore its text, as far as that is
	 * possible while threads run. arm() may be called again later. Return: the number of
	 * functions that stay changed, or -errno. NULL: nothing to do.
	 */
	int (*rest)(struct object *o);
	/* The object is no longer mapped: free what scan() made. */
	void (*forget)(struct object *o);
};

void hook_register(const struct hook *hook);

/* The @i-th hook that registered; NULL: there is none. */
const struct hook *hook_at(uint32_t i);

#endif
