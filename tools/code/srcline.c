/* SPDX-License-Identifier: MIT */
/*
 * See srcline.h. Results are cached, since a view looks up few addresses, often. Tests:
 * tests/cli/test_views.py.
 */
#include "tools/code/srcline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/hash.h"
#include "tools/code/debuginfo.h"

#define NR_SLOTS 4096u /* a power of two */

struct srcline {
	struct debuginfo *debug;
	struct {
		uint64_t addr;
		char *text; /* NULL: empty; "" none */
	} slots[NR_SLOTS];
};

struct srcline *srcline_new(const struct symbols *symbols)
{
	struct srcline *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->debug = debuginfo_new(symbols);
	if (!s->debug) {
		free(s);
		return NULL;
	}
	return s;
}

void srcline_free(struct srcline *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < NR_SLOTS; i++)
		free(s->slots[i].text);
	debuginfo_free(s->debug);
	free(s);
}

static char *look_up(struct srcline *s, uint64_t addr)
{
	const char *file = NULL;
	Dwfl_Module *module;
	Dwfl_Line *line;
	Dwarf_Addr at;
	char *text = NULL;
	int number = 0;

	module = debuginfo_module(s->debug, addr, &at);
	line = module ? dwfl_module_getsrc(module, at) : NULL;
	if (line)
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	if (!file || asprintf(&text, "%s:%d", file, number) < 0)
		return strdup("");
	return text;
}

const char *srcline_find(struct srcline *s, uint64_t addr)
{
	size_t i = hash_u64(addr) >> 52 & (NR_SLOTS - 1);

	if (!s->slots[i].text || s->slots[i].addr != addr) {
		free(s->slots[i].text);
		s->slots[i].text = look_up(s, addr);
		s->slots[i].addr = addr;
	}
	return s->slots[i].text && *s->slots[i].text ? s->slots[i].text : NULL;
}
