/* SPDX-License-Identifier: MIT */
/*
 * See elf_dynamic.h. The tables are the program's own and are read in place, but only after a check
 * that they and their ends are in the object. No state. Costs a few ns for each relocation. Tests:
 * tests/engine/targets (fentry-*, mcount-*, cyg-*), tests/engine/graph/avoid.
 */
#include "engine/process/elf_dynamic.h"

#include <sys/auxv.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"

/* The entries of PT_DYNAMIC that are used. */
struct dynamic {
	uint64_t lo, hi, bias; /* of the object */
	const ElfW(Sym) * symbols;
	const char *strings;
	uint64_t strings_bytes;
	const ElfW(Rela) * rela[2];
	uint64_t rela_bytes[2];
	const uint32_t *hash;
	const uint16_t *versions; /* one for each symbol */
	const uint8_t *needed, *defined;
	uint64_t nr_needed, nr_defined;
};

/* The loader may or may not have added the bias to the addresses of its table already. */
static const void *address_of(const struct dynamic *d, uint64_t value)
{
	return (const void *)(value >= d->lo && value < d->hi ? value : d->bias + value);
}

static int inside(const struct dynamic *d, const void *p, uint64_t bytes)
{
	uint64_t at = (uint64_t)p;

	return at >= d->lo && at <= d->hi && bytes <= d->hi - at;
}

/* @d: has the bounds of the object. */
static int read_entries(struct dynamic *d, const ElfW(Phdr) * phdr, uint32_t nr_phdr)
{
	const ElfW(Dyn) *dyn = NULL, *end = NULL;
	uint32_t i;

	for (i = 0; i < nr_phdr; i++) {
		if (phdr[i].p_type == PT_DYNAMIC) {
			dyn = (const void *)(d->bias + phdr[i].p_vaddr);
			end = dyn + phdr[i].p_memsz / sizeof(*dyn);
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
		case DT_GNU_HASH:
			d->hash = address_of(d, value);
			break;
		case DT_VERSYM:
			d->versions = address_of(d, value);
			break;
		case DT_VERNEED:
			d->needed = address_of(d, value);
			break;
		case DT_VERNEEDNUM:
			d->nr_needed = value;
			break;
		case DT_VERDEF:
			d->defined = address_of(d, value);
			break;
		case DT_VERDEFNUM:
			d->nr_defined = value;
			break;
		default:
			break;
		}
	}
	return d->symbols && d->strings && inside(d, d->strings, d->strings_bytes);
}

static int read_dynamic(struct dynamic *d, const struct object *o)
{
	const struct area_object *row = object_row(o);

	*d = (struct dynamic){.lo = row->lo, .hi = row->hi, .bias = row->bias};
	return read_entries(d, o->phdr, o->nr_phdr);
}

int dynamic_name_is(const struct dynamic_name *n, const char *name)
{
	uint64_t i;

	/* most names differ in their first bytes */
	for (i = 0; i < n->room && n->at[i] == name[i]; i++)
		if (!name[i])
			return 1;
	return 0;
}

void dynamic_names(const struct object *o,
		   void (*each)(void *arg, uint64_t slot, uint32_t type,
				const struct dynamic_name *name),
		   void *arg)
{
	struct dynamic d;
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
			name.symbol = (uint32_t)ELF64_R_SYM(r->r_info);
			name.index = (uint32_t)(r - d.rela[t]);
			each(arg, d.bias + r->r_offset, (uint32_t)ELF64_R_TYPE(r->r_info), &name);
		}
	}
}

static int string_is(const struct dynamic *d, uint64_t offset, const char *s)
{
	struct dynamic_name n = {d->strings + offset, d->strings_bytes - offset, 0, 0};

	return offset < d->strings_bytes && dynamic_name_is(&n, s);
}

#define VERSION_HIDDEN 0x8000u
#define VERSION_GLOBAL 1u /* this version and lower: no version */

static uint32_t version_of(const struct dynamic *d, uint32_t symbol)
{
	const uint16_t *v = d->versions + symbol;

	return d->versions && inside(d, v, sizeof(*v)) ? *v : VERSION_GLOBAL;
}

const char *dynamic_version(const struct object *o, uint32_t symbol)
{
	struct dynamic d;
	const uint8_t *at;
	uint32_t version;
	uint64_t i;

	if (!read_dynamic(&d, o))
		return NULL;
	version = version_of(&d, symbol) & ~VERSION_HIDDEN;
	for (i = 0, at = d.needed; at && version > VERSION_GLOBAL && i < d.nr_needed; i++) {
		const ElfW(Verneed) *need = (const void *)at;
		const uint8_t *aux = at + need->vn_aux;
		uint32_t k;

		for (k = 0; k < need->vn_cnt && inside(&d, aux, sizeof(ElfW(Vernaux))); k++) {
			const ElfW(Vernaux) *a = (const void *)aux;

			if (a->vna_other == version)
				return a->vna_name < d.strings_bytes ? d.strings + a->vna_name
								     : NULL;
			aux += a->vna_next;
		}
		at += need->vn_next;
		if (!inside(&d, at, sizeof(*need)))
			break;
	}
	return NULL;
}

/* The name of a version that the object defines. */
static const char *defined_version(const struct dynamic *d, uint32_t version)
{
	const uint8_t *at = d->defined;
	uint64_t i;

	for (i = 0; at && i < d->nr_defined && inside(d, at, sizeof(ElfW(Verdef))); i++) {
		const ElfW(Verdef) *def = (const void *)at;
		const ElfW(Verdaux) *aux = (const void *)(at + def->vd_aux);

		if (def->vd_ndx == version)
			return inside(d, aux, sizeof(*aux)) && aux->vda_name < d->strings_bytes
				       ? d->strings + aux->vda_name
				       : NULL;
		at += def->vd_next;
	}
	return NULL;
}

/* Whether a definition of version @v satisfies a reference to @version. */
static int version_fits(const struct dynamic *d, uint32_t v, const char *version,
			const char **found)
{
	*found = (v & ~VERSION_HIDDEN) > VERSION_GLOBAL ? defined_version(d, v & ~VERSION_HIDDEN)
							: NULL;
	if (!version)
		return !(v & VERSION_HIDDEN);
	return !*found || str_equal(*found, version);
}

/*
 * Look up the symbol of that name and version that the object defines, by its DT_GNU_HASH; NULL:
 * none.
 */
static const ElfW(Sym) *
	defined(const struct dynamic *d, const char *name, const char *version, const char **found)
{
	uint32_t h = str_hash(name), symbol, nr_buckets, first;
	const uint32_t *buckets, *chain;

	if (!d->hash || !inside(d, d->hash, 16))
		return NULL;
	nr_buckets = d->hash[0];
	first = d->hash[1];
	buckets = d->hash + 4 + (uint64_t)d->hash[2] * 2;
	if (!nr_buckets || !inside(d, buckets, (uint64_t)nr_buckets * 4))
		return NULL;
	symbol = buckets[h % nr_buckets];
	chain = buckets + nr_buckets;
	for (; symbol >= first && inside(d, chain + (symbol - first), 4); symbol++) {
		const ElfW(Sym) *sym = d->symbols + symbol;
		uint32_t other = chain[symbol - first];

		if ((other | 1) == (h | 1) && inside(d, sym, sizeof(*sym)) &&
		    sym->st_shndx != SHN_UNDEF && string_is(d, sym->st_name, name) &&
		    version_fits(d, version_of(d, symbol), version, found))
			return sym;
		if (other & 1)
			break;
	}
	return NULL;
}

static struct dynamic_function function_of(const struct dynamic *d, const char *name,
					   const char *version)
{
	struct dynamic_function f = {0, NULL};
	const ElfW(Sym) *sym = defined(d, name, version, &f.version);

	if (!sym)
		f.version = NULL;
	else if (ELF64_ST_TYPE(sym->st_info) == STT_FUNC)
		f.address = d->bias + sym->st_value;
	return f;
}

struct dynamic_function dynamic_function(const struct object *o, const char *name,
					 const char *version)
{
	struct dynamic d;

	return read_dynamic(&d, o) ? function_of(&d, name, version)
				   : (struct dynamic_function){0, NULL};
}

uint64_t dynamic_vdso(const char *name)
{
	const ElfW(Ehdr) *head = (const void *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Phdr) * phdr;
	struct dynamic d = {0};
	uint32_t i;

	if (!head)
		return 0;
	phdr = (const void *)((const uint8_t *)head + head->e_phoff);
	for (i = 0; i < head->e_phnum; i++) {
		if (phdr[i].p_type != PT_LOAD || d.hi)
			continue;
		d.lo = (uint64_t)head;
		d.bias = d.lo - (phdr[i].p_vaddr - phdr[i].p_offset);
		d.hi = d.bias + phdr[i].p_vaddr + phdr[i].p_memsz;
	}
	if (!d.hi || !read_entries(&d, phdr, head->e_phnum))
		return 0;
	return function_of(&d, name, NULL).address;
}

uint64_t dynamic_variable(const struct object *o, const char *name)
{
	const ElfW(Sym) * sym;
	const char *version;
	struct dynamic d;

	if (!read_dynamic(&d, o))
		return 0;
	sym = defined(&d, name, NULL, &version);
	return sym && ELF64_ST_TYPE(sym->st_info) == STT_OBJECT ? d.bias + sym->st_value : 0;
}

static int may_be_absent(const struct dynamic *d, const ElfW(Rela) * r)
{
	const ElfW(Sym) *sym = d->symbols + ELF64_R_SYM(r->r_info);

	return inside(d, sym, sizeof(*sym)) && sym->st_shndx == SHN_UNDEF &&
	       ELF64_ST_BIND(sym->st_info) == STB_WEAK;
}

/*
 * The loader goes through the relocations in their order, the calls' (DT_JMPREL) last. The last
 * word tells: it has 0 or an offset in the object first, and then an address. A weak name that no
 * object defines leaves its word 0, so the word before it tells.
 */
int dynamic_is_relocated(const struct object *o)
{
	struct dynamic d;
	uint32_t t;

	if (!read_dynamic(&d, o))
		return 0;
	for (t = ARRAY_SIZE(d.rela); t--;) {
		const ElfW(Rela) *first = d.rela[t], *r = first;

		if (!first || !inside(&d, first, d.rela_bytes[t]))
			continue;
		for (r += d.rela_bytes[t] / sizeof(*r); r > first;) {
			const uint64_t *word = (const uint64_t *)(d.bias + (--r)->r_offset);
			uint64_t value = inside(&d, word, sizeof(*word)) ? load_acquire(word) : 0;

			if (value || !may_be_absent(&d, r))
				return value >= d.hi - d.lo;
		}
	}
	return 0;
}

/*
 * The end of the symbols that an object imports: these are not hashed, and come before the hashed
 * ones. If none is hashed, the start of the strings limits their number. 0: not known.
 */
static uint32_t end_of_wanted(const struct dynamic *d)
{
	const uint32_t *hash = d->hash;
	uint64_t room = (uint64_t)d->strings - (uint64_t)d->symbols;

	if (!hash || !inside(d, hash, 16) ||
	    !inside(d, hash + 4 + (uint64_t)hash[2] * 2, (uint64_t)hash[0] * 4))
		return 0;
	if (hash[0] > 1 || (hash[0] && hash[4 + (uint64_t)hash[2] * 2]))
		return hash[1];
	return (const void *)d->strings > (const void *)d->symbols && room < UINT32_MAX
		       ? (uint32_t)(room / sizeof(*d->symbols))
		       : 0;
}

int dynamic_may_name(const struct object *o, const char *const *names, uint32_t nr)
{
	const char *version;
	struct dynamic d;
	uint32_t i, k, end;

	if (!read_dynamic(&d, o))
		return 0;
	end = end_of_wanted(&d);
	if (!end)
		return 1;
	for (i = 1; i < end && inside(&d, d.symbols + i, sizeof(*d.symbols)); i++)
		for (k = 0; k < nr; k++)
			if (string_is(&d, d.symbols[i].st_name, names[k]))
				return 1;
	for (k = 0; k < nr; k++)
		if (defined(&d, names[k], NULL, &version))
			return 1;
	return 0;
}
