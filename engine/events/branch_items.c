/* SPDX-License-Identifier: MIT */
/*
 * Passes the branch sites of vestige/branch.h in objects to their source (sources/branch.h).
 * fork: nothing. Tests: tests/engine/tracers/branch.
 */
#include "engine/events/object_items.h"
#include "engine/sources/branch.h"

static void come(const struct object_items *h)
{
	branch_sites_add(h->object, h->branches, h->branches_end);
}

static void gone(const struct object_items *h)
{
	branch_sites_forget(h->object);
}

ITEMS_READER(ITEMS_BRANCHES, come, gone);
