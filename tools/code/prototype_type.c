/* SPDX-License-Identifier: MIT */
/*
 * See prototype_type.h. The classes are from the System V ABI for x86-64, "Parameter Passing": a
 * type larger than two eightbytes, or with unaligned fields, is passed in memory; otherwise each
 * eightbyte has a class of its own. A C++ class that is not trivial to copy is passed by reference.
 * DWARF is untrusted: depths and counts have limits. Tests: tests/engine/args.
 */
#include "tools/code/prototype_type.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH  16
#define MAX_STEPS  65536u /* types that are looked at for one value: a file may be hostile */
#define MAX_NAMES  4096u
#define MAX_FIELDS 64 /* of 16 bytes; an array is looked at element by element */

Dwarf_Die *type_of(Dwarf_Die *die, Dwarf_Die *mem)
{
	Dwarf_Attribute attr;

	if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attr), mem))
		return NULL;
	for (int i = 0; i < MAX_DEPTH; i++) {
		switch (dwarf_tag(mem)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_subrange_type:
			if (!dwarf_formref_die(dwarf_attr_integrate(mem, DW_AT_type, &attr), mem))
				return NULL;
			break;
		default:
			return mem;
		}
	}
	return NULL;
}

static bool number(Dwarf_Die *die, unsigned int name, uint64_t *v)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;

	if (dwarf_formudata(dwarf_attr_integrate(die, name, &attr), &word))
		return false;
	*v = word;
	return true;
}

static bool bytes_of(Dwarf_Die *type, uint64_t *bytes)
{
	Dwarf_Word n;

	if (dwarf_aggregate_size(type, &n))
		return false;
	*bytes = n;
	return true;
}

static bool is_method_pointer(Dwarf_Die *type)
{
	Dwarf_Die to;

	return type_of(type, &to) && dwarf_tag(&to) == DW_TAG_subroutine_type;
}

static void join(struct classified *c, uint64_t offset, uint64_t bytes, enum value_class class)
{
	uint64_t word = offset / 8;

	if (!bytes)
		return;
	if (word >= VALUE_MAX_WORDS || offset + bytes > 8u * VALUE_MAX_WORDS) {
		c->class[0] = CLASS_MEMORY;
		return;
	}
	for (; word <= (offset + bytes - 1) / 8; word++) {
		uint64_t end = offset + bytes - 8 * word < 8 ? offset + bytes - 8 * word : 8;

		if (c->class[word] < class)
			c->class[word] = (uint8_t)(class);
		if (c->bytes[word] < end)
			c->bytes[word] = (uint8_t)end;
	}
}

static enum value_class class_of_base(Dwarf_Die *type, uint64_t bytes)
{
	const char *name = dwarf_diename(type);
	uint64_t encoding = 0;

	number(type, DW_AT_encoding, &encoding);
	switch (encoding) {
	case DW_ATE_float:
	case DW_ATE_imaginary_float:
		return bytes == 16 && name && strstr(name, "long double") ? CLASS_X87 : CLASS_SSE;
	case DW_ATE_complex_float:
		return bytes > 16 ? CLASS_X87 : CLASS_SSE;
	case DW_ATE_decimal_float:
		return CLASS_SSE;
	default:
		return CLASS_INTEGER;
	}
}

static int classify(Dwarf_Die *type, uint64_t offset, int depth, struct classified *c);

static int classify_array(Dwarf_Die *type, uint64_t offset, int depth, struct classified *c)
{
	uint64_t bytes, element;
	Dwarf_Die of;

	if (dwarf_hasattr_integrate(type, DW_AT_GNU_vector)) {
		/* up to 64 bytes in one register */
		if (!bytes_of(type, &bytes))
			return -ENOENT;
		join(c, offset, bytes < 16 ? bytes : 16, CLASS_SSE);
		return 0;
	}
	if (!type_of(type, &of) || !bytes_of(type, &bytes) || !bytes_of(&of, &element) || !element)
		return -ENOENT;
	for (uint64_t at = 0; at + element <= bytes && at < 16; at += element)
		if (classify(&of, offset + at, depth + 1, c))
			return -ENOENT;
	return 0;
}

bool type_member_offset(Dwarf_Die *member, uint64_t *offset)
{
	uint64_t bits;

	*offset = 0;
	if (dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration))
		return false;
	if (number(member, DW_AT_data_bit_offset, &bits)) {
		*offset = bits / 8;
		return true;
	}
	number(member, DW_AT_data_member_location, offset); /* a union's has none */
	return true;
}

static int classify_members(Dwarf_Die *type, uint64_t offset, int depth, struct classified *c)
{
	Dwarf_Die member, of;
	uint64_t at, bytes;
	int n = 0;

	if (dwarf_child(type, &member))
		return 0;
	do {
		int tag = dwarf_tag(&member);

		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		if (!type_member_offset(&member, &at))
			continue;
		if (++n > MAX_FIELDS || !type_of(&member, &of))
			return -ENOENT;
		if (dwarf_hasattr(&member, DW_AT_bit_size)) {
			join(c, offset + at, 1, CLASS_INTEGER);
			continue;
		}
		/* packed: a scalar type's alignment is equal to its size */
		if (dwarf_tag(&of) != DW_TAG_structure_type &&
		    dwarf_tag(&of) != DW_TAG_class_type && dwarf_tag(&of) != DW_TAG_union_type &&
		    dwarf_tag(&of) != DW_TAG_array_type &&
		    dwarf_tag(&of) != DW_TAG_ptr_to_member_type && bytes_of(&of, &bytes) && bytes &&
		    bytes <= 16 && (offset + at) % (bytes > 8 ? 8 : bytes))
			c->class[0] = CLASS_MEMORY;
		if (classify(&of, offset + at, depth + 1, c))
			return -ENOENT;
	} while (!dwarf_siblingof(&member, &member));
	return 0;
}

static int classify(Dwarf_Die *type, uint64_t offset, int depth, struct classified *c)
{
	uint64_t bytes = 0;

	if (depth > MAX_DEPTH || ++c->steps > MAX_STEPS)
		return -ENOENT;
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		if (!bytes_of(type, &bytes))
			return -ENOENT;
		join(c, offset, bytes > 16 ? 16 : bytes, class_of_base(type, bytes));
		return 0;
	case DW_TAG_enumeration_type:
		if (!bytes_of(type, &bytes))
			return -ENOENT;
		join(c, offset, bytes, CLASS_INTEGER);
		return 0;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_unspecified_type: /* nullptr's */
		join(c, offset, 8, CLASS_INTEGER);
		return 0;
	case DW_TAG_ptr_to_member_type:
		join(c, offset, is_method_pointer(type) ? 16 : 8, CLASS_INTEGER);
		return 0;
	case DW_TAG_array_type:
		return classify_array(type, offset, depth, c);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return classify_members(type, offset, depth, c);
	default:
		return -ENOENT;
	}
}

static int read_names(Dwarf_Die *die, struct value_type *type)
{
	Dwarf_Attribute attr;
	Dwarf_Die e, of;
	uint64_t encoding;

	if (type_of(die, &of) && number(&of, DW_AT_encoding, &encoding))
		type->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	if (dwarf_child(die, &e))
		return 0;
	do {
		struct value_name *more;
		Dwarf_Sword value;

		if (dwarf_tag(&e) != DW_TAG_enumerator || !dwarf_diename(&e) ||
		    dwarf_formsdata(dwarf_attr(&e, DW_AT_const_value, &attr), &value))
			continue;
		if (type->nr_names == MAX_NAMES)
			return 0;
		if (!(type->nr_names & (type->nr_names + 1)) || !type->names) {
			more = realloc(type->names, (2u * type->nr_names + 2) * sizeof(*more));
			if (!more)
				return -ENOMEM;
			type->names = more;
		}
		type->names[type->nr_names].name = strdup(dwarf_diename(&e));
		if (!type->names[type->nr_names].name)
			return -ENOMEM;
		type->is_signed |= value < 0;
		type->names[type->nr_names++].value = value;
	} while (!dwarf_siblingof(&e, &e));
	return 0;
}

void type_free(struct value_type *type)
{
	for (uint32_t i = 0; i < type->nr_names; i++)
		free(type->names[i].name);
	free(type->names);
	type->names = NULL;
	type->nr_names = 0;
}

static enum value_kind kind_of_base(Dwarf_Die *die, struct value_type *type)
{
	uint64_t encoding = 0;

	number(die, DW_AT_encoding, &encoding);
	switch (encoding) {
	case DW_ATE_boolean:
		return VALUE_BOOL;
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char: {
		const char *name = dwarf_diename(die);

		/* uint8_t is `unsigned char`, too: only plain char is shown as a character */
		type->is_signed = encoding == DW_ATE_signed_char;
		if (name && strcmp(name, "char") == 0)
			return VALUE_CHAR;
		return type->is_signed ? VALUE_SIGNED : VALUE_UNSIGNED;
	}
	case DW_ATE_signed:
		return VALUE_SIGNED;
	default:
		return VALUE_UNSIGNED;
	}
}

/* Whether it is a special member function that the class defines itself. */
static bool is_own(Dwarf_Die *method)
{
	uint64_t defaulted;

	return !dwarf_hasattr(method, DW_AT_artificial) && !dwarf_hasattr(method, DW_AT_deleted) &&
	       !(number(method, DW_AT_defaulted, &defaulted) && defaulted == DW_DEFAULTED_in_class);
}

/* X(const X &) or X(X &&), whose @method has the right name already. */
static bool copies(Dwarf_Die *method, Dwarf_Die *class)
{
	Dwarf_Die param, ref, to;
	bool second = false;
	int n = 0;

	if (dwarf_child(method, &param))
		return false;
	do {
		if (dwarf_tag(&param) != DW_TAG_formal_parameter || ++n != 2)
			continue;
		second = type_of(&param, &ref) &&
			 (dwarf_tag(&ref) == DW_TAG_reference_type ||
			  dwarf_tag(&ref) == DW_TAG_rvalue_reference_type) &&
			 type_of(&ref, &to) && to.addr == class->addr;
	} while (!dwarf_siblingof(&param, &param));
	return second && n == 2;
}

/*
 * Is the class not trivial to copy or to destroy, and so passed by its address? It has its own copy
 * constructor or destructor, or a virtual function or base, or a part that is so.
 */
static bool is_special(Dwarf_Die *class, int depth, struct classified *c)
{
	const char *name = dwarf_diename(class), *of;
	size_t bytes = name ? strcspn(name, "<") : 0;
	uint64_t how;
	Dwarf_Die child, type;

	if (number(class, DW_AT_calling_convention, &how)) /* clang says it */
		return how == DW_CC_pass_by_reference;
	if (depth > MAX_DEPTH || ++c->steps > MAX_STEPS || dwarf_child(class, &child))
		return false;
	do {
		of = dwarf_diename(&child);
		switch (dwarf_tag(&child)) {
		case DW_TAG_inheritance:
			if (number(&child, DW_AT_virtuality, &how) && how)
				return true;
			if (type_of(&child, &type) && is_special(&type, depth + 1, c))
				return true;
			break;
		case DW_TAG_member:
			if (dwarf_hasattr(&child, DW_AT_external) ||
			    dwarf_hasattr(&child, DW_AT_declaration))
				break;
			if (of && strncmp(of, "_vptr", 5) == 0)
				return true;
			if (type_of(&child, &type) && dwarf_tag(&type) == DW_TAG_array_type &&
			    !type_of(&type, &type))
				break;
			if ((dwarf_tag(&type) == DW_TAG_structure_type ||
			     dwarf_tag(&type) == DW_TAG_class_type ||
			     dwarf_tag(&type) == DW_TAG_union_type) &&
			    is_special(&type, depth + 1, c))
				return true;
			break;
		case DW_TAG_subprogram:
			if (!of || !name || !is_own(&child))
				break;
			if (of[0] == '~' ||
			    (strncmp(of, name, bytes) == 0 && !of[bytes] && copies(&child, class)))
				return true;
			break;
		default:
			break;
		}
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

int type_read(Dwarf_Die *die, struct value_type *type, struct classified *c)
{
	Dwarf_Die mem, *t = type_of(die, &mem);
	uint64_t bytes = 8;

	*c = (struct classified){0};
	if (!t) {
		type->kind = VALUE_VOID;
		return dwarf_hasattr_integrate(die, DW_AT_type) ? -ENOENT : 0;
	}
	switch (dwarf_tag(t)) {
	case DW_TAG_base_type:
		type->kind = kind_of_base(t, type);
		break;
	case DW_TAG_enumeration_type:
		type->kind = VALUE_ENUM;
		if (read_names(t, type))
			return -ENOMEM;
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		type->kind = VALUE_WORDS;
		c->aggregate = true;
		if (is_special(t, 0, c)) {
			c->nr_words = 1;
			c->class[0] = CLASS_MEMORY;
			type->kind = VALUE_POINTER;
			type->bytes = 8;
			return 0;
		}
		break;
	case DW_TAG_array_type: /* a vector: C has no other arrays here */
		type->kind = VALUE_WORDS;
		break;
	default:
		type->kind = VALUE_POINTER;
		break;
	}
	if (type->kind != VALUE_POINTER && !bytes_of(t, &bytes))
		return -ENOENT;
	if (dwarf_tag(t) == DW_TAG_ptr_to_member_type && is_method_pointer(t))
		bytes = 16;
	if (c->aggregate && bytes > 16) {
		c->nr_words = 1;
		c->class[0] = CLASS_MEMORY;
		type->kind = VALUE_WORDS;
		return 0;
	}
	if (classify(t, 0, 0, c))
		return -ENOENT;
	if (bytes > 16)
		bytes = 16;
	if (bytes > 8)
		type->kind = VALUE_WORDS;
	type->bytes = (uint8_t)bytes;
	memcpy(type->word_bytes, c->bytes, sizeof(type->word_bytes));
	c->nr_words = (uint8_t)((bytes + 7) / 8);
	if (c->aggregate && c->class[0] == CLASS_NONE && c->class[1] == CLASS_NONE)
		c->nr_words = 0;
	return 0;
}
