/* SPDX-License-Identifier: MIT */
/*
 * A symbol order file for the linker (lld --symbol-ordering-file, gold --section-ordering-file with
 * -ffunction-sections): the names of the program's functions, in the order of their first calls.
 * Functions of shared objects are left out, since each object is linked by itself.
 * Tests: tests/cli/test_export.py.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/export/call_export.h"

struct order {
	bool *seen; /* by number of function */
	uint32_t room;
};

static bool is_new(struct call_export *x, uint32_t function)
{
	struct order *own = x->own;
	uint32_t room = own->room;
	bool *more;

	while (room <= function)
		room = room ? 2 * room : 1024;
	if (room > own->room) {
		more = realloc(own->seen, room);
		if (!more) {
			x->err = fail(ENOMEM, "out of memory");
			return false;
		}
		memset(more + own->room, 0, room - own->room);
		own->seen = more;
		own->room = room;
	}
	if (own->seen[function])
		return false;
	return own->seen[function] = true;
}

static void enter(struct call_export *x, const struct call *call, const struct call_function *fn)
{
	const struct symbol *sym;

	if (!is_new(x, (uint32_t)call->data) || fn->module)
		return;
	sym = symbols_find(x->v->r->symbols, fn->ip);
	if (!sym || sym->addr != fn->ip)
		return;
	out_text(&x->o, sym->raw);
	out_text(&x->o, "\n");
}

static void order_free(struct call_export *x)
{
	free(((struct order *)x->own)->seen);
}

int order_export(const char *path, struct reader *r, const struct export_options *opt)
{
	static const struct call_format format = {
		.own_bytes = sizeof(struct order), .enter = enter, .free = order_free};
	int err = view_must_have_calls(opt->view);

	(void)r;
	return err ? err : call_export_each(path, opt, &format);
}
