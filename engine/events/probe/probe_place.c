/* SPDX-License-Identifier: MIT */
/*
 * Where dynamic probes are: turns names, addresses and offsets of files into functions of the
 * registry, or instructions. Symbols are looked up in the objects' files, in the loader's order:
 * the first object that has the name is meant, as for the program's own calls. Control context; no
 * state. Tests: tests/engine/events/kprobe.
 */
#include <errno.h>

#include "arch_patch.h"
#include "arch_reloc.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/core/function.h"
#include "engine/process/elf_dynamic.h"
#include "engine/events/probe/probe_event.h"
#include "object/entries.h"

struct lookup {
	const char *name;
	size_t n;
	uint64_t value;
	int data;  /* variables count too */
	int found; /* different addresses of the name */
};

static int match(void *arg, uint64_t value, const char *name)
{
	struct lookup *l = arg;

	if (strlen(name) != l->n || memcmp(name, l->name, l->n))
		return 0;
	if (!l->found || value != l->value)
		l->found++;
	l->value = value;
	return 0;
}

/*
 * Find a symbol. Return: how many there are in the first object that has any; -ENXIO: the named
 * object is not loaded.
 */
static int find_symbol(const char *module, size_t module_bytes, struct lookup *l,
		       const struct object **in)
{
	int err = module ? -ENXIO : 0;
	uint32_t i;

	for (i = 0; i < object_count(); i++) {
		const struct object *o = object_at(i);
		struct elf_file f;

		if (!o->loaded || (module && (strlen(o->name) != module_bytes ||
					      memcmp(o->name, module, module_bytes))))
			continue;
		err = 0;
		if (elf_file_open(&f, o))
			continue;
		(l->data ? elf_file_all_symbols : elf_file_symbols)(&f, match, l);
		elf_file_close(&f);
		if (l->found) {
			*in = o;
			return l->found;
		}
	}
	return err;
}

/* longest _init and _fini, for which a stripped object has neither symbols nor unwind rules */
#define INIT_BYTES 256u

/*
 * If @address is in a function that the loader calls at the object's start or end: its first byte;
 * else 0.
 */
static uint64_t start_by_loader(const struct object *o, uint64_t address)
{
	uint64_t bias = object_row(o)->bias, start = 0;
	uint32_t i;

	for (i = 0; i < o->nr_phdr; i++) {
		const ElfW(Dyn) *d = (const ElfW(Dyn) *)(bias + o->phdr[i].p_vaddr);

		for (; o->phdr[i].p_type == PT_DYNAMIC && d->d_tag != DT_NULL; d++)
			if ((d->d_tag == DT_INIT || d->d_tag == DT_FINI) &&
			    address - (bias + d->d_un.d_ptr) < INIT_BYTES)
				start = bias + d->d_un.d_ptr;
	}
	return start;
}

static int is_code(const struct object *o, uint64_t address)
{
	uint64_t vaddr = address - object_row(o)->bias;
	uint32_t i;

	for (i = 0; i < o->nr_phdr; i++) {
		const ElfW(Phdr) *ph = &o->phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X &&
		    vaddr - ph->p_vaddr < ph->p_filesz)
			return 1;
	}
	return 0;
}

#define STUB_BYTES 16u

struct slot_search {
	uint64_t slot;
	int found, may_wrap;
};

static void match_slot(void *arg, uint64_t slot, uint32_t type, const struct dynamic_name *name)
{
	struct slot_search *s = arg;

	if (slot != s->slot || !arch_reloc_is_address(type))
		return;
	s->found = 1;
	s->may_wrap = text_may_wrap(name);
}

/*
 * Whether the instruction is a stub's jump through a word that the loader fills. Not every linker
 * writes unwind rules for stubs.
 */
static int is_stub(const struct object *o, uint64_t address, uint8_t *may_wrap)
{
	struct slot_search s = {0};
	uint8_t code[STUB_BYTES];

	/* read the original bytes: a probe may be there */
	text_read(address, object_row(o)->hi, code, sizeof(code));
	if (object_row(o)->hi - address < STUB_BYTES || !arch_may_be_jump(code[0]))
		return 0;
	s.slot = arch_jump_through(code, STUB_BYTES);
	if (s.slot)
		s.slot += address - (uint64_t)code;
	if (s.slot)
		dynamic_names(o, match_slot, &s);
	*may_wrap = (uint8_t)s.may_wrap;
	return s.found;
}

/* Any instruction; @start: of its function. */
static int at_instruction(const struct object *o, uint64_t start, struct probe_target *t)
{
	uint64_t row_start, end;

	/* a symbol's address is good enough: functions in assembler have no unwind rules */
	if (text_function_start(o, t->address, &row_start, &end) || row_start < start)
		row_start = start;
	if (!start && is_code(o, t->address) && is_stub(o, t->address, &t->is_stub))
		row_start = t->address;
	if (!row_start)
		row_start = start_by_loader(o, t->address);
	if (!row_start) {
		t->why = "no probe: it is not known where its function begins";
		return -EINVAL;
	}
	t->function = PROBE_NO_FUNCTION;
	return text_probe_check(o, row_start, t->address, &t->why);
}

/* The latest possible end of the function that begins at @start. */
static uint64_t end_of(const struct object *o, uint64_t start)
{
	const struct area_object *row = object_row(o);
	uint32_t id = function_at(o, start - row->bias);
	uint64_t first, end;

	if (text_function_start(o, start, &first, &end))
		end = row->hi;
	if (id != UINT32_MAX && id + 1 < row->first_function + row->nr_functions &&
	    row->bias + area_function(id + 1)->offset < end)
		end = row->bias + area_function(id + 1)->offset;
	return end;
}

/*
 * Whether the probe goes through the function's site. A function that was built without a flag has
 * none yet while nothing has wanted its calls; a return probe makes it.
 */
static int is_by_site(const struct area_function *f, const struct probe_target *t)
{
	if (f->flags & AREA_FUNCTION_PASSED_ON)
		return 0;
	return f->how == AREA_BY_NOPS || f->how == AREA_BY_FENTRY ||
	       f->flags & AREA_FUNCTION_REDIRECTED || (f->how == AREA_BY_REDIRECT && t->is_return);
}

#define NO_RETURN "no return probe: "

/* The reasons of object/entries.h in the words of an error. */
static const char *entry_refused(uint32_t why)
{
	static char texts[ENTRY_NR_WHYS][96] BIG_ZEROS;
	struct seq_buf s;

	if (why >= ENTRY_NR_WHYS)
		why = ENTRY_WHY_NONE;
	seq_init(&s, texts[why], sizeof(texts[why]) - 1);
	seq_puts(&s, NO_RETURN "the function's entry cannot be redirected: ");
	seq_puts(&s, entry_why_text((enum entry_why)why));
	return texts[why];
}

static const char *refused_as(const struct area_refused *r)
{
	switch (r->reason) {
	case AREA_REFUSED_ENTRY:
		return entry_refused(r->nop_bytes);
	case AREA_REFUSED_CHANGED:
		return NO_RETURN "a probe, a debugger or another tool has changed the function";
	case AREA_REFUSED_RANGE:
		return NO_RETURN "no free memory that the function's jump reaches";
	case AREA_REFUSED_RUNNING:
		return NO_RETURN "the function cannot be changed while the program runs";
	default:
		return NULL;
	}
}

/* Return: NULL: no reason is stored. */
static const char *why_refused(const struct object *o, uint64_t address)
{
	const struct area_table *t = &area->tables[AREA_REFUSED];
	uint64_t offset = address - object_row(o)->bias;
	const char *why = NULL;
	uint32_t i;

	for (i = 0; i < t->count && !why; i++) {
		const struct area_refused *r = area_entry(AREA_REFUSED, i);

		if (r->object == o->index && r->offset == offset)
			why = refused_as(r);
	}
	return why;
}

static const char *why_no_return(const struct object *o, uint64_t address)
{
	uint32_t id = function_at(o, address - object_row(o)->bias);
	const struct area_function *f = id == UINT32_MAX ? NULL : area_function(id);
	const char *why = why_refused(o, address);

	if (why)
		return why;
	if (f && f->flags & AREA_FUNCTION_ENTRY_ONLY)
		return NO_RETURN "the function uses its return address";
	if (f && f->how != AREA_BY_REDIRECT && !is_by_site(f, &(struct probe_target){0}))
		return NO_RETURN "-pg without -mfentry, -finstrument-functions or gmon";
	if (object_row(o)->status == AREA_OBJECT_NO_SITES)
		return NO_RETURN
			"no function of its object is traced; a filter FUNC:mod:OBJECT may "
			"add it";
	return NO_RETURN "calls of the function cannot be wrapped";
}

/* No place at a site. For a return, the jump of a stub will do; any other instruction will not. */
static int away_from_sites(const struct object *o, uint64_t start, struct probe_target *t)
{
	uint32_t id = function_at(o, t->address - object_row(o)->bias);
	const struct area_function *f = id == UINT32_MAX ? NULL : area_function(id);
	int err = at_instruction(o, start, t);
	const char *why;

	if (!err && f && f->how == AREA_BY_REDIRECT &&
	    !text_probe_check(o, t->address, t->address + f->site, &why))
		t->skip = f->site;
	if (!t->is_return || t->is_stub || (err && err != -EINVAL))
		return err;
	t->why = why_no_return(o, t->address);
	return -EINVAL;
}

/* @start: address of the function's symbol; 0: there is none. */
static int place_in(const struct object *o, uint64_t start, struct probe_target *t)
{
	const struct area_object *row = object_row(o);
	uint32_t id = function_at(o, (start ? start : t->address) - row->bias);
	const struct area_function *f = id == UINT32_MAX ? NULL : area_function(id);
	uint64_t offset = start ? t->address - start : 0;

	t->why = NULL;
	t->is_stub = 0;
	t->skip = 0;
	/* the site behind endbr64 is as good as the function's first byte */
	if (f && (!offset || offset == f->site) && is_by_site(f, t)) {
		t->function = id;
		t->address -= offset;
		if (!t->is_return || !(f->flags & AREA_FUNCTION_ENTRY_ONLY))
			return 0;
		t->why = why_no_return(o, t->address);
		return -EINVAL;
	}
	if (!start || t->address < end_of(o, start))
		return away_from_sites(o, start, t);
	/* the address is in another function, or in none */
	return is_code(o, t->address) ? place_in(o, 0, t) : -EILSEQ;
}

int probe_place_symbol(const char *text, size_t n, uint64_t offset, struct probe_target *t)
{
	struct lookup l = {.name = text, .n = n};
	const char *module = NULL;
	size_t i, module_bytes = 0;
	const struct object *o;
	int found;

	for (i = 0; i < n; i++) {
		if (text[i] == ':') {
			module = text;
			module_bytes = i;
			l.name = text + i + 1;
			l.n = n - i - 1;
			break;
		}
	}
	found = find_symbol(module, module_bytes, &l, &o);
	if (found <= 0)
		return found ? found : -ENOENT;
	if (found > 1)
		return -EADDRNOTAVAIL;
	l.value += object_row(o)->bias;
	t->address = l.value + offset;
	return place_in(o, l.value, t);
}

static const struct object *object_of(uint64_t address)
{
	uint32_t i;

	for (i = 0; i < object_count(); i++) {
		const struct object *o = object_at(i);

		if (o->loaded && address >= object_row(o)->lo && address < object_row(o)->hi)
			return o;
	}
	return NULL;
}

int probe_place_address(uint64_t address, struct probe_target *t)
{
	const struct object *o = object_of(address);

	t->address = address;
	t->why = "no probe outside of the program's code";
	return o ? place_in(o, 0, t) : -EINVAL;
}

const char *probe_place_no_return(uint64_t address)
{
	const struct object *o = object_of(address);

	return o ? why_no_return(o, address) : NO_RETURN "its object is not loaded";
}

int probe_place_again(const char *place, struct probe_target *t)
{
	size_t n = strlen(place), i;
	uint64_t value;

	if (!str_to_u64(place, n, &value))
		return probe_place_address(value, t);
	for (i = 0; i < n && place[i] != '+' && place[i] != '%'; i++)
		;
	value = 0;
	if (i < n && place[i] == '+' && str_to_u64(place + i + 1, n - i - 1, &value))
		return -EINVAL;
	return probe_place_symbol(place, i, value, t);
}

int probe_symbol_address(const char *name, size_t n, uint64_t *address)
{
	struct lookup l = {.name = name, .n = n, .data = 1};
	const struct object *o;

	if (!find_symbol(NULL, 0, &l, &o))
		return -ENOENT;
	*address = object_row(o)->bias + l.value;
	return 0;
}

int probe_function_named(const char *name, size_t n, uint64_t *lo, uint64_t *hi)
{
	struct lookup l = {.name = name, .n = n};
	const struct object *o;

	if (!find_symbol(NULL, 0, &l, &o))
		return -ENOENT;
	*lo = object_row(o)->bias + l.value;
	*hi = end_of(o, *lo);
	return *hi > *lo ? 0 : -ENOENT;
}

int probe_function_around(uint64_t address, uint64_t *lo, uint64_t *hi)
{
	const struct object *o = object_of(address);

	if (!o || !is_code(o, address) || text_function_start(o, address, lo, hi))
		return -ENOENT;
	*hi = end_of(o, *lo);
	return address < *hi ? 0 : -ENOENT;
}

/* Whether it is the same file, under whatever name. */
static int is_file(const struct object *o, const struct stat *st)
{
	struct stat theirs;
	int fd = object_open(o), err;

	if (fd < 0)
		return 0;
	err = sys_fstat(fd, &theirs);
	sys_close(fd);
	return !err && theirs.st_dev == st->st_dev && theirs.st_ino == st->st_ino;
}

int probe_file_address(const char *path, uint64_t offset, uint64_t *address)
{
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0), err;
	struct stat st;
	uint32_t i, k;

	if (fd < 0)
		return fd;
	err = sys_fstat(fd, &st);
	sys_close(fd);
	for (i = 0; i < object_count() && !err; i++) {
		const struct object *o = object_at(i);

		if (!o->loaded || !is_file(o, &st))
			continue;
		for (k = 0; k < o->nr_phdr; k++) {
			const ElfW(Phdr) *ph = &o->phdr[k];

			if (ph->p_type == PT_LOAD && offset >= ph->p_offset &&
			    offset - ph->p_offset < ph->p_filesz) {
				*address =
					object_row(o)->bias + ph->p_vaddr + (offset - ph->p_offset);
				return 0;
			}
		}
	}
	return -ENOENT;
}
