/* SPDX-License-Identifier: MIT */
/* See call_path.h. Tests: tests/cli/test_export.py. */
#include "tools/export/call_path.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

int call_path_of(struct call_path *p, const struct call_tree *t, uint32_t i)
{
	p->nr = 0;
	for (; i && !t->nodes[i].thread; i = t->nodes[i].parent) {
		if (ARRAY_ROOM(p->functions, p->nr, p->room, 64)) {
			p->nr = 0;
			return fail(ENOMEM, "out of memory");
		}
		p->functions[p->nr++] = t->nodes[i].function;
	}
	p->tid = i ? (int32_t)t->nodes[i].function : 0;
	return 0;
}

void call_path_free(struct call_path *p)
{
	free(p->functions);
	*p = (struct call_path){0};
}
