/* SPDX-License-Identifier: MIT */
/*
 * See dynamic.h. The tables are the program's own and are read in place, but whether they lie in the
 * object is checked, and so are their ends. Nothing is kept. Costs a few ns a relocation.
 * Tests: tests/engine/targets (fentry-*, mcount-*, cyg-*), tests/engine/graph/avoid.
 */
#include "engine/hook/dynamic.h"

#include "engine/base/compiler.h"
#include "engine/base/mem.h"

/* What of PT_DYNAMIC is needed. */
struct dynamic {
	uint64_t lo, hi, bias; /* the object's */
	const ElfW(Sym) * symbols;
	const char *strings;
	uint64_t strings_bytes;
	const ElfW(Rela) * rela[2];
	uint64_t rela_bytes[2];
};

/* The loader has added the bias to the addresses of its table already, or not yet. */
static const void *address_of(const struct dynamic *d, uint64_t value)
{
	return (const void *)(value >= d->lo && value < d->hi ? value : d->bias + value);
}

static int inside(const struct dynamic *d, const void *p, uint64_t bytes)
{
	uint64_t at = (uint64_t)p;

	return at >= d->lo && at <= d->hi && bytes <= d->hi - at;
}

static int read_dynamic(struct dynamic *d, const struct object *o)
{
	const ElfW(Dyn) *dyn = NULL, *end = NULL;
	uint32_t i;

	for (i = 0; i < o->nr_phdr; i++) {
		if (o->phdr[i].p_type == PT_DYNAMIC) {
			dyn = (const void *)(d->bias + o->phdr[i].p_vaddr);
			end = dyn + o->phdr[i].p_memsz / sizeof(*dyn);
		}
	}
	for (; dyn && dyn < end && dyn->d_tag != DT_NULL; dyn++) {
		uint64_t value = dyn->d_un.d_val;

		switch (dyn->d_tag) {
		case DT_SYMTAB:
			d->symbols = address_of(d, value);
			break;
		case DT_STRTAB:
			d->strings = address_of(d, value);
			break;
		case DT_STRSZ:
			d->strings_bytes = value;
			break;
		case DT_RELA:
			d->rela[0] = address_of(d, value);
			break;
		case DT_RELASZ:
			d->rela_bytes[0] = value;
			break;
		case DT_JMPREL:
			d->rela[1] = address_of(d, value);
			break;
		case DT_PLTRELSZ:
			d->rela_bytes[1] = value;
			break;
		default:
			break;
		}
	}
	return d->symbols && d->strings && inside(d, d->strings, d->strings_bytes);
}

int dynamic_name_is(const struct dynamic_name *n, const char *name)
{
	uint64_t bytes = strlen(name) + 1;

	return bytes <= n->room && !memcmp(n->at, name, bytes);
}

void dynamic_names(const struct object *o,
		   void (*each)(void *arg, uint64_t slot, uint32_t type,
				const struct dynamic_name *name),
		   void *arg)
{
	const struct area_object *row = object_row(o);
	struct dynamic d = {.lo = row->lo, .hi = row->hi, .bias = row->bias};
	uint64_t n;
	uint32_t t;

	if (!read_dynamic(&d, o))
		return;
	for (t = 0; t < ARRAY_SIZE(d.rela); t++) {
		const ElfW(Rela) *r = d.rela[t];

		if (!r || !inside(&d, r, d.rela_bytes[t]))
			continue;
		for (n = d.rela_bytes[t] / sizeof(*r); n--; r++) {
			const ElfW(Sym) *sym = d.symbols + ELF64_R_SYM(r->r_info);
			struct dynamic_name name;

			if (!ELF64_R_SYM(r->r_info) || !inside(&d, sym, sizeof(*sym)) ||
			    sym->st_name >= d.strings_bytes)
				continue;
			name.at = d.strings + sym->st_name;
			name.room = d.strings_bytes - sym->st_name;
			each(arg, d.bias + r->r_offset, (uint32_t)ELF64_R_TYPE(r->r_info), &name);
		}
	}
}
