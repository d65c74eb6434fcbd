/* SPDX-License-Identifier: MIT */
/*
 * See srcline.h. Each object is opened by libdwfl when an address in it is first asked for, as a file and
 * not as part of a process, so that nothing of the machine's address space matters. Answers are
 * kept: a view asks for few addresses, often. Tests: tests/cli/test_views.py.
 */
#include "tools/reader/srcline.h"

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/reader/elf_code.h"
#include "tools/reader/symbols_elf.h"

#define NR_SLOTS 4096u /* a power of two */

struct lines {
	uint64_t base;
	const char *path;
	bool tried;
	Dwfl *dwfl;
	Dwfl_Module *module;
};

struct srcline {
	struct lines *objects;
	size_t nr;
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
	s->nr = symbols_nr_objects(symbols);
	s->objects = calloc(s->nr + 1, sizeof(*s->objects));
	if (!s->objects) {
		free(s);
		return NULL;
	}
	for (size_t i = 0; i < s->nr; i++) {
		s->objects[i].base = symbols_object_at(symbols, i)->base;
		s->objects[i].path = symbols_object_at(symbols, i)->path;
	}
	return s;
}

void srcline_free(struct srcline *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr; i++)
		if (s->objects[i].dwfl)
			dwfl_end(s->objects[i].dwfl);
	for (size_t i = 0; i < NR_SLOTS; i++)
		free(s->slots[i].text);
	free(s->objects);
	free(s);
}

/* Is the file the one whose range begins at @base? */
static bool is_the_one(const char *path, uint64_t base)
{
	struct area_object row = {0};
	struct elf_code code = {0};

	if (elf_code_load(path, &code))
		return false;
	row.dev = code.dev;
	row.ino = code.ino;
	row.mtime_ns = code.mtime_ns;
	if (code.build_id_bytes <= AREA_BUILD_ID_MAX) {
		row.build_id_bytes = (uint8_t)code.build_id_bytes;
		memcpy(row.build_id, code.build_id, code.build_id_bytes);
	}
	elf_code_free(&code);
	return object_identity_base(&row, path) == base;
}

static void open_object(struct lines *o)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};

	o->tried = true;
	if (!is_the_one(o->path, o->base))
		return;
	o->dwfl = dwfl_begin(&callbacks);
	if (!o->dwfl)
		return;
	dwfl_report_begin(o->dwfl);
	o->module = dwfl_report_offline(o->dwfl, "", o->path, -1);
	dwfl_report_end(o->dwfl, NULL, NULL);
}

static char *look_up(struct srcline *s, uint64_t addr)
{
	const char *file = NULL;
	Dwfl_Line *line = NULL;
	char *text = NULL;
	int number = 0;

	for (size_t i = 0; i < s->nr && !line; i++) {
		struct lines *o = &s->objects[i];
		GElf_Addr bias;

		if (addr - o->base > UINT32_MAX)
			continue;
		if (!o->tried)
			open_object(o);
		if (o->module && dwfl_module_getdwarf(o->module, &bias))
			line = dwfl_module_getsrc(o->module, addr - o->base + bias);
	}
	if (line)
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	if (!file || asprintf(&text, "%s:%d", file, number) < 0)
		return strdup("");
	return text;
}

const char *srcline_find(struct srcline *s, uint64_t addr)
{
	size_t i = (addr * UINT64_C(0x9e3779b97f4a7c15)) >> 52 & (NR_SLOTS - 1);

	if (!s->slots[i].text || s->slots[i].addr != addr) {
		free(s->slots[i].text);
		s->slots[i].text = look_up(s, addr);
		s->slots[i].addr = addr;
	}
	return s->slots[i].text && *s->slots[i].text ? s->slots[i].text : NULL;
}
