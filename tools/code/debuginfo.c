/* SPDX-License-Identifier: MIT */
/*
 * See debuginfo.h. libdwfl opens an object when an address in it is first looked up, as a file and
 * not as a part of a process. Tests: tests/cli/test_views.py, tests/engine/args.
 */
#include "tools/code/debuginfo.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/code/debug_file.h"
#include "tools/code/elf_code.h"
#include "tools/code/object_identity.h"

struct object {
	uint64_t base;
	const char *path;
	bool tried;
	Dwfl *dwfl;
	Dwfl_Module *module;
};

struct debuginfo {
	struct object *objects;
	size_t nr;
};

struct debuginfo *debuginfo_new(const struct symbols *symbols)
{
	struct debuginfo *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->nr = symbols_nr_objects(symbols);
	d->objects = calloc(d->nr + 1, sizeof(*d->objects));
	if (!d->objects) {
		free(d);
		return NULL;
	}
	for (size_t i = 0; i < d->nr; i++) {
		d->objects[i].base = symbols_object_at(symbols, i)->base;
		d->objects[i].path = symbols_object_at(symbols, i)->path;
	}
	return d;
}

void debuginfo_free(struct debuginfo *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->nr; i++)
		if (d->objects[i].dwfl)
			dwfl_end(d->objects[i].dwfl);
	free(d->objects);
	free(d);
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

static void open_object(struct object *o)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = debug_file_find,
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

Dwfl_Module *debuginfo_module(struct debuginfo *d, uint64_t addr, Dwarf_Addr *at)
{
	for (size_t i = 0; i < d->nr; i++) {
		struct object *o = &d->objects[i];
		Dwarf_Addr bias;

		if (addr - o->base > UINT32_MAX)
			continue;
		if (!o->tried)
			open_object(o);
		if (!o->module || !dwfl_module_getdwarf(o->module, &bias))
			continue;
		*at = addr - o->base + bias;
		return o->module;
	}
	return NULL;
}
