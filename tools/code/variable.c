/* SPDX-License-Identifier: MIT */
/*
 * See variable.h. The registers of parameters follow from the calling convention (prototype.h).
 * DWARF's locations are not used: at the entry of a function that was not optimised they are not
 * valid yet. An expression is read from the left: its value so far is an argument of the call, or
 * memory at an offset from one; each `->` follows a pointer in memory.
 *
 * DWARF is untrusted: depths have limits, and an expression that does not fit is refused.
 * Tests: tests/engine/events/names.
 */
#include "tools/code/variable.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

#include "tools/base/fail.h"
#include "tools/code/elf_code.h"
#include "tools/code/object_identity.h"
#include "tools/code/prototype_type.h"

#define MAX_DEPTH 16
#define MAX_STEPS 65536u /* structures that are searched for one name: a file may be hostile */

struct variables {
	struct symbols *symbols;
	struct prototypes *prototypes;
	const struct prototype *prototype;
	Dwarf_Die function;
};

void variables_free(struct variables *v)
{
	if (!v)
		return;
	prototypes_free(v->prototypes);
	symbols_free(v->symbols);
	free(v);
}

static int address_of_offset(const char *path, uint64_t offset, uint64_t *addr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = -ENOENT;
	Elf *elf = NULL;
	size_t nr = 0;
	GElf_Phdr ph;

	elf_version(EV_CURRENT);
	if (fd >= 0)
		elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_getphdrnum(elf, &nr))
		nr = 0;
	for (size_t i = 0; i < nr && err; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    offset - ph.p_offset >= ph.p_filesz)
			continue;
		*addr = ph.p_vaddr + (offset - ph.p_offset);
		err = 0;
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return err;
}

#define CALLER "__do_trace_"

/*
 * Whether it is the function that calls the probes of a tracepoint, as C or C++ names it; copies of
 * it end with `.N`.
 */
static bool is_caller(const char *name, const char *tracepoint, size_t n)
{
	char *own;

	if (!strncmp(name, "_ZL", 3) && !strstr(name, ".cold")) {
		if (strtoul(name + 3, &own, 10) != strlen(CALLER) + n)
			return false;
		return !strncmp(own, CALLER, strlen(CALLER)) &&
		       !strncmp(own + strlen(CALLER), tracepoint, n);
	}
	/* a cold part of the function is not its entry */
	if (strncmp(name, CALLER, strlen(CALLER)) != 0 || strstr(name, ".cold"))
		return false;
	name += strlen(CALLER);
	return !strncmp(name, tracepoint, n) && (!name[n] || name[n] == '.');
}

static bool is_symbol(const char *name, const struct variable_place *place)
{
	if (place->is_tracepoint)
		return is_caller(name, place->symbol, place->symbol_bytes);
	return strlen(name) == place->symbol_bytes &&
	       !memcmp(name, place->symbol, place->symbol_bytes);
}

/* The function's address, and its symbol if it has one. Return: 0 or -ENOENT. */
static int find_place(const char *path, const struct elf_code *code,
		      const struct variable_place *place, uint64_t *addr,
		      const struct elf_symbol **found)
{
	*found = NULL;
	*addr = place->at;
	if (!place->symbol && place->is_offset && address_of_offset(path, place->at, addr))
		return -ENOENT;
	for (size_t i = 0; i < code->nr_symbols && !*found; i++) {
		const struct elf_symbol *s = &code->symbols[i];
		bool is_it = place->symbol ? is_symbol(s->name, place) : s->addr == *addr;

		if (s->rank > 2 || !is_it)
			continue;
		*addr = s->addr;
		*found = s;
	}
	return *found || !place->symbol ? 0 : -ENOENT;
}

static uint64_t range_of(const struct area_object *row, const struct elf_code *code,
			 const char *path)
{
	struct area_object now = {.dev = code->dev, .ino = code->ino, .mtime_ns = code->mtime_ns};

	if (row)
		return object_identity_base(row, path);
	if (code->build_id_bytes <= AREA_BUILD_ID_MAX) {
		now.build_id_bytes = (uint8_t)code->build_id_bytes;
		memcpy(now.build_id, code->build_id, code->build_id_bytes);
	}
	return object_identity_base(&now, path);
}

/* Open a function by its address. Return: 0; *@out is NULL if DWARF does not have it; -ENOMEM. */
static int open_at(const char *path, uint64_t base, uint64_t addr, const struct elf_symbol *symbol,
		   bool as_written, struct variables **out)
{
	struct variables *v = calloc(1, sizeof(*v));
	uint64_t at = object_space_addr(base, addr);

	if (v)
		v->symbols = symbols_new();
	if (v && v->symbols && !symbols_add_object(v->symbols, base, path) &&
	    (!symbol || !symbols_add(v->symbols, at, symbol->type, symbol->name, NULL)))
		v->prototypes = prototypes_new(v->symbols);
	if (!v || !v->prototypes) {
		variables_free(v);
		return -ENOMEM;
	}
	if (as_written)
		prototypes_as_written(v->prototypes);
	v->prototype = prototypes_find(v->prototypes, at);
	if (v->prototype && prototypes_function(v->prototypes, at, &v->function)) {
		*out = v;
		return 0;
	}
	variables_free(v);
	return 0;
}

int variables_open(const char *path, const struct area_object *row,
		   const struct variable_place *place, struct variables **out)
{
	struct elf_code code = {0};
	const struct elf_symbol *symbol;
	uint64_t addr;
	int err;

	*out = NULL;
	err = elf_code_load(path, &code);
	if (err)
		return err;
	err = find_place(path, &code, place, &addr, &symbol);
	if (!err)
		err = open_at(path, range_of(row, &code, path), addr, symbol, place->is_tracepoint,
			      out);
	elf_code_free(&code);
	return err;
}

const char *variables_name(const struct variables *v, unsigned int n)
{
	return n < v->prototype->nr ? v->prototype->params[n].name : NULL;
}

unsigned int variables_count(const struct variables *v)
{
	return v->prototype->nr;
}

bool variables_variadic(const struct variables *v)
{
	return v->prototype->variadic;
}

/* The value of an expression so far. */
struct walk {
	Dwarf_Die type;	 /* without typedefs and qualifiers */
	char value[128]; /* the value; or an address, and */
	bool in_memory;	 /* the value is at that address + `offset` */
	uint64_t offset;
	Dwarf_Die member; /* the last one, where there was any */
	bool is_member;
};

static bool is_structure(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool is_pointer(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

/* Replace a structure that this unit only declares by its definition in another unit. */
static void complete(Dwarf_Die *type)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(type->cu);
	const char *name = dwarf_diename(type);
	Dwarf_Off at = 0, next;
	size_t head;

	if (!dwarf_hasattr(type, DW_AT_declaration) || !name)
		return;
	for (; !dwarf_nextcu(dwarf, at, &next, &head, NULL, NULL, NULL); at = next) {
		Dwarf_Die unit, die;

		if (!dwarf_offdie(dwarf, at + head, &unit) || dwarf_child(&unit, &die))
			continue;
		do {
			if (dwarf_tag(&die) == dwarf_tag(type) && dwarf_diename(&die) &&
			    !strcmp(dwarf_diename(&die), name) &&
			    !dwarf_hasattr(&die, DW_AT_declaration)) {
				*type = die;
				return;
			}
		} while (!dwarf_siblingof(&die, &die));
	}
}

/* A member by its name, in parts without a name and in bases too. */
static bool find_member(Dwarf_Die *structure, const char *name, size_t n, int depth,
			unsigned int *steps, Dwarf_Die *found, uint64_t *offset)
{
	Dwarf_Die die, of;
	uint64_t at;

	if (depth > MAX_DEPTH || ++*steps > MAX_STEPS || dwarf_child(structure, &die))
		return false;
	do {
		const char *its = dwarf_diename(&die);

		if ((dwarf_tag(&die) != DW_TAG_member && dwarf_tag(&die) != DW_TAG_inheritance) ||
		    !type_member_offset(&die, &at))
			continue;
		if (its && strlen(its) == n && !memcmp(its, name, n)) {
			*found = die;
			*offset += at;
			return true;
		}
		if ((its && dwarf_tag(&die) == DW_TAG_member) || !type_of(&die, &of) ||
		    !is_structure(&of))
			continue;
		*offset += at;
		if (find_member(&of, name, n, depth + 1, steps, found, offset))
			return true;
		*offset -= at;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

static int enter_member(struct walk *w, bool arrow, const char *name, size_t n)
{
	uint64_t at = 0;
	unsigned int steps = 0;
	char inner[sizeof(w->value)];

	if (arrow != is_pointer(&w->type) || (arrow && !type_of(&w->type, &w->type)))
		return PROBE_WRONG_NO_POINTER;
	if (!is_structure(&w->type))
		return PROBE_WRONG_NO_POINTER;
	complete(&w->type);
	if (!find_member(&w->type, name, n, 0, &steps, &w->member, &at) ||
	    !type_of(&w->member, &w->type))
		return PROBE_WRONG_MEMBER;
	w->is_member = true;
	if (!arrow && !w->in_memory)
		return PROBE_WRONG_STRUCTURE;
	if (arrow && w->in_memory) {
		memcpy(inner, w->value, sizeof(inner));
		if (snprintf(w->value, sizeof(w->value), "+%" PRIu64 "(%s)", w->offset, inner) >=
		    (int)sizeof(w->value))
			return PROBE_WRONG_LENGTH;
	}
	w->offset = arrow ? at : w->offset + at;
	w->in_memory = true;
	return 0;
}

static size_t name_bytes(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		char c = text[i];

		if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (i && c >= '0' && c <= '9')))
			break;
	}
	return i;
}

/* The DIE of a parameter; of a copied function, in the function that it is a copy of. */
static bool find_parameter(Dwarf_Die *function, const char *name, Dwarf_Die *found)
{
	Dwarf_Die die, origin;
	Dwarf_Attribute attr;

	if (!dwarf_child(function, &die)) {
		do {
			const char *its =
				dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &attr));

			if (dwarf_tag(&die) == DW_TAG_formal_parameter && its &&
			    !strcmp(its, name)) {
				*found = die;
				return true;
			}
		} while (!dwarf_siblingof(&die, &die));
	}
	return dwarf_formref_die(dwarf_attr(function, DW_AT_abstract_origin, &attr), &origin) &&
	       find_parameter(&origin, name, found);
}

static bool attribute(Dwarf_Die *die, unsigned int name, uint64_t *value)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;

	if (dwarf_formudata(dwarf_attr(die, name, &attr), &word))
		return false;
	*value = word;
	return true;
}

static bool is_float(Dwarf_Die *type)
{
	uint64_t encoding = 0;

	if (dwarf_tag(type) == DW_TAG_base_type)
		attribute(type, DW_AT_encoding, &encoding);
	return encoding == DW_ATE_float || encoding == DW_ATE_complex_float ||
	       encoding == DW_ATE_imaginary_float || encoding == DW_ATE_decimal_float;
}

/* The variable that the expression begins with. */
static int begin(struct variables *v, const char *name, size_t n, struct walk *w)
{
	const struct prototype *t = v->prototype;
	Dwarf_Die die;
	uint32_t i;

	if (n && *name == '$') {
		if (!type_of(&v->function, &w->type))
			return PROBE_WRONG_VOID;
		strcpy(w->value, "$retval");
		return 0;
	}
	for (i = 0; i < t->nr; i++)
		if (t->params[i].name && strlen(t->params[i].name) == n &&
		    !memcmp(t->params[i].name, name, n))
			break;
	if (i == t->nr || !find_parameter(&v->function, t->params[i].name, &die) ||
	    !type_of(&die, &w->type))
		return PROBE_WRONG_NAME;
	if (!t->params[i].argument)
		return is_structure(&w->type) ? PROBE_WRONG_STRUCTURE
		       : is_float(&w->type)   ? PROBE_WRONG_FLOAT
					      : PROBE_WRONG_PLACE;
	snprintf(w->value, sizeof(w->value), "$arg%d", t->params[i].argument);
	/* a C++ object that is passed by its address */
	w->in_memory = is_structure(&w->type);
	return 0;
}

static bool is_text(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding, bytes;
	Dwarf_Die of;

	return type_of(type, &of) && dwarf_tag(&of) == DW_TAG_base_type &&
	       !dwarf_aggregate_size(&of, &bytes) && bytes == 1 &&
	       !dwarf_formudata(dwarf_attr(&of, DW_AT_encoding, &attr), &encoding) &&
	       (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char);
}

/*
 * The first bit of a bitfield, counted from the start of the structure. DWARF before version 5
 * counts from the upper end of the word that contains it. @bytes: of its type.
 */
static bool first_bit(Dwarf_Die *member, uint64_t bytes, uint64_t bits, uint64_t *first)
{
	uint64_t from_above, at;

	if (attribute(member, DW_AT_data_bit_offset, first))
		return true;
	attribute(member, DW_AT_byte_size, &bytes);
	if (!attribute(member, DW_AT_bit_offset, &from_above) || !type_member_offset(member, &at) ||
	    from_above > 8 * bytes - bits)
		return false;
	*first = 8 * (at + bytes) - from_above - bits;
	return true;
}

/* The type for a bitfield: it is read with the word of its type that contains it. */
static void type_bitfield(struct walk *w, uint64_t bytes, struct variable *out)
{
	uint64_t bits, first, at, unit = 8 * bytes;

	if (!attribute(&w->member, DW_AT_bit_size, &bits) || !bits || bits > unit ||
	    !first_bit(&w->member, bytes, bits, &first) || !type_member_offset(&w->member, &at) ||
	    first % unit + bits > unit)
		return;
	w->offset += first / unit * bytes - at;
	snprintf(out->type, sizeof(out->type), "b%u@%u/%u", (unsigned int)bits & 255,
		 (unsigned int)(first % unit) & 255, (unsigned int)unit & 255);
}

/* The type with which a number is fetched. */
static void type_number(struct walk *w, struct variable *out)
{
	Dwarf_Die *at = &w->type, of;
	Dwarf_Word bytes = 0;
	uint64_t encoding = 0;

	out->wrong = is_float(at) ? PROBE_WRONG_FLOAT : PROBE_WRONG_STRUCTURE;
	if (is_float(at))
		return;
	if (is_pointer(at)) {
		strcpy(out->type, "x64");
		return;
	}
	if (dwarf_aggregate_size(at, &bytes) ||
	    (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return;
	if (dwarf_tag(at) == DW_TAG_enumeration_type) {
		if (type_of(at, &of))
			attribute(&of, DW_AT_encoding, &encoding);
	} else if (dwarf_tag(at) == DW_TAG_base_type) {
		attribute(at, DW_AT_encoding, &encoding);
	} else {
		return;
	}
	if (w->is_member && dwarf_hasattr(&w->member, DW_AT_bit_size)) {
		type_bitfield(w, bytes, out);
		return;
	}
	snprintf(out->type, sizeof(out->type), "%c%u",
		 encoding == DW_ATE_signed || encoding == DW_ATE_signed_char ? 's' : 'u',
		 (unsigned int)(8 * bytes) & 255);
}

static int finish(struct walk *w, struct variable *out)
{
	int n, texts = 0;

	type_number(w, out);
	if (w->in_memory)
		n = snprintf(out->fetch, sizeof(out->fetch), "+%" PRIu64 "(%s)", w->offset,
			     w->value);
	else
		n = snprintf(out->fetch, sizeof(out->fetch), "%s", w->value);
	if (is_pointer(&w->type) && is_text(&w->type))
		texts = snprintf(out->string, sizeof(out->string), "+0(%s)", out->fetch);
	else if (w->in_memory && dwarf_tag(&w->type) == DW_TAG_array_type && is_text(&w->type))
		texts = snprintf(out->string, sizeof(out->string), "%s", out->fetch);
	return n >= (int)sizeof(out->fetch) || texts >= (int)sizeof(out->string)
		       ? PROBE_WRONG_LENGTH
		       : 0;
}

int variables_find(struct variables *v, const char *text, size_t n, struct variable *out,
		   size_t *position)
{
	size_t i = n && *text == '$' ? 1 : 0, part;
	struct walk w = {0};
	int wrong;

	*out = (struct variable){0};
	*position = 0;
	i += name_bytes(text + i, n - i);
	wrong = begin(v, text, i, &w);
	while (!wrong && i < n) {
		bool arrow = text[i] == '-';

		*position = i;
		if (arrow && (i + 1 == n || text[i + 1] != '>'))
			return PROBE_WRONG_HYPHEN;
		if (!arrow && text[i] != '.')
			return PROBE_WRONG_NAME;
		i += arrow ? 2 : 1;
		part = name_bytes(text + i, n - i);
		*position = i;
		wrong = part ? enter_member(&w, arrow, text + i, part) : PROBE_WRONG_MEMBER;
		i += part;
	}
	if (wrong)
		return wrong;
	*position = 0;
	return finish(&w, out);
}
