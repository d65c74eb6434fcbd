/* SPDX-License-Identifier: MIT */
/*
 * See prototype.h. A unit's functions are listed, by address, when the first of them is looked up.
 * A function's parameters are read from its definition there; the registers follow from the types.
 * Where the compiler has changed how a function of its own is called (a clone: name.constprop.0,
 * name.isra.0; DW_CC_nocall), the locations at its entry give a parameter's place, or its constant.
 *
 * Results are cached. Costs the time to read the unit's DWARF once, and then about 10 us a
 * function.
 * Tests: tests/engine/args.
 */
#include "tools/code/prototype.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"
#include "tools/base/array.h"
#include "tools/base/hash_index.h"
#include "tools/code/debuginfo.h"
#include "tools/code/prototype_text.h"
#include "tools/code/prototype_type.h"

#define MAX_PARAMS	 64u
#define MAX_DEPTH	 24
#define NR_REGISTERS	 ((int)RECORD_NR_ARGS)
#define NR_SSE_REGISTERS 8
#define MAX_SITE	 16u /* endbr64 and NOPs */

/* A unit whose functions are listed. */
struct unit {
	void *id; /* Dwarf_CU */
	size_t nr, room;
	struct {
		Dwarf_Addr addr;
		Dwarf_Off die;
	} * at;
};

struct answer {
	uint64_t addr;
	struct prototype *prototype;
};

struct prototypes {
	struct symbols *symbols;
	struct debuginfo *debug;
	struct unit *units;
	size_t nr_units;
	struct answer *answers;
	size_t nr_answers, room_answers;
	struct hash_index by_addr; /* of answers */
	bool as_written;
};

struct prototypes *prototypes_new(struct symbols *symbols)
{
	struct prototypes *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->symbols = symbols;
	p->debug = debuginfo_new(symbols);
	if (!p->debug) {
		free(p);
		return NULL;
	}
	return p;
}

static void prototype_empty(struct prototype *t)
{
	for (uint32_t i = 0; i < t->nr; i++) {
		free(t->params[i].name);
		type_free(&t->params[i].type);
	}
	free(t->params);
	type_free(&t->result);
}

static void prototype_free(struct prototype *t)
{
	if (!t)
		return;
	prototype_empty(t);
	free(t);
}

void prototypes_free(struct prototypes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nr_answers; i++)
		prototype_free(p->answers[i].prototype);
	free(p->answers);
	hash_index_clear(&p->by_addr);
	for (size_t i = 0; i < p->nr_units; i++)
		free(p->units[i].at);
	free(p->units);
	debuginfo_free(p->debug);
	free(p);
}

/* The entry of a function; if it has several pieces, the start of the first one. */
static bool entry_of(Dwarf_Die *die, Dwarf_Addr *addr)
{
	Dwarf_Addr base, end;

	return !dwarf_entrypc(die, addr) || dwarf_ranges(die, 0, &base, addr, &end) > 0;
}

static int list_function(struct unit *u, Dwarf_Die *die)
{
	Dwarf_Addr addr;

	if (!entry_of(die, &addr))
		return 0; /* a declaration, or inlined everywhere */
	if (ARRAY_ROOM(u->at, u->nr, u->room, 64))
		return -ENOMEM;
	u->at[u->nr].addr = addr;
	u->at[u->nr++].die = dwarf_dieoffset(die);
	return 0;
}

/* All functions beneath @parent: in classes, in namespaces, in functions. */
static int list_functions(struct unit *u, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth > MAX_DEPTH || dwarf_child(parent, &die))
		return 0;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			if (list_function(u, &die))
				return -ENOMEM;
			/* fall through */
		case DW_TAG_namespace:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
		case DW_TAG_lexical_block:
			if (list_functions(u, &die, depth + 1))
				return -ENOMEM;
			break;
		default:
			break;
		}
	} while (!dwarf_siblingof(&die, &die));
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const Dwarf_Addr *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static struct unit *unit_of(struct prototypes *p, Dwarf_Die *cu)
{
	struct unit *more, *u;

	for (size_t i = p->nr_units; i-- > 0;)
		if (p->units[i].id == cu->cu)
			return &p->units[i];
	more = realloc(p->units, (p->nr_units + 1) * sizeof(*more));
	if (!more)
		return NULL;
	p->units = more;
	u = &p->units[p->nr_units++];
	*u = (struct unit){.id = cu->cu};
	if (list_functions(u, cu, 0))
		u->nr = 0;
	if (u->nr)
		qsort(u->at, u->nr, sizeof(*u->at), by_addr);
	return u;
}

/*
 * The unit with the code at @at. Clang writes no table of addresses, so all units may be searched.
 */
static Dwarf_Die *find_unit(Dwfl_Module *module, Dwarf_Addr at, Dwarf_Addr *bias)
{
	Dwarf_Die *cu = dwfl_module_addrdie(module, at, bias);

	if (cu)
		return cu;
	while ((cu = dwfl_module_nextcu(module, cu, bias)))
		if (dwarf_haspc(cu, at - *bias) > 0)
			return cu;
	return NULL;
}

/* The definition of the function that begins at @at. */
static bool find_function(struct prototypes *p, Dwfl_Module *module, Dwarf_Addr at, Dwarf_Die *die,
			  Dwarf_Die **cu)
{
	Dwarf_Addr bias;
	struct unit *u;
	size_t lo;

	*cu = find_unit(module, at, &bias);
	u = *cu ? unit_of(p, *cu) : NULL;
	if (!u)
		return false;
	at -= bias;
	lo = LOWER_BOUND(i, 0, u->nr, u->at[i].addr < at);
	return lo < u->nr && u->at[lo].addr == at &&
	       dwarf_offdie(dwarf_cu_getdwarf((*cu)->cu), u->at[lo].die, die);
}

/* Does the platform's ABI hold for structures, too? Rust, D and others have their own. */
static bool is_c(Dwarf_Die *cu)
{
	switch (dwarf_srclang(cu)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case 0x2c: /* C17 */
	case 0x3e: /* C23 */
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* C++17 */
	case 0x2e: /* C++20 */
	case 0x3a: /* C++17, C++20, C++23 as DWARF 6 counts them */
	case 0x3b:
	case DW_LANG_ObjC:
	case DW_LANG_ObjC_plus_plus:
		return true;
	default:
		return false;
	}
}

/*
 * Whether the compiler has changed how the function is called, so that its type does not show it.
 */
static bool is_altered(Dwarf_Die *die, const char *symbol)
{
	static const char *const clones[] = {".constprop.", ".isra.", ".part."};
	Dwarf_Attribute attr;
	Dwarf_Word how;

	for (size_t i = 0; symbol && i < sizeof(clones) / sizeof(*clones); i++)
		if (strstr(symbol, clones[i]))
			return true;
	return !dwarf_formudata(dwarf_attr_integrate(die, DW_AT_calling_convention, &attr), &how) &&
	       how == DW_CC_nocall;
}

/*
 * Whether clang has changed how the function is called. It keeps the name, and before version 17
 * leaves no note in DWARF. Then a parameter that was removed, or is constant, has no location. A
 * function that other files may call is never changed.
 */
static bool lacks_places(Dwarf_Die *die, Dwarf_Die *cu, const struct symbol *symbol)
{
	Dwarf_Attribute attr;
	const char *producer = dwarf_formstring(dwarf_attr(cu, DW_AT_producer, &attr));
	Dwarf_Die child;

	if (!producer || !strstr(producer, "clang") || dwarf_child(die, &child) ||
	    (symbol && strchr("TW", symbol->type)))
		return false;
	do {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
		    !dwarf_hasattr_integrate(&child, DW_AT_location))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

/*
 * The location of @attr at the function's entry, or behind the NOPs there, where clang's lists
 * begin.
 */
static bool location_at_entry(Dwarf_Attribute *attr, Dwarf_Addr entry, Dwarf_Op **op, size_t *n)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	if (dwarf_getlocation_addr(attr, entry, op, n, 1) == 1)
		return true;
	while ((at = dwarf_getlocations(attr, at, &base, &start, &end, op, n)) > 0)
		if (start > entry && start - entry <= MAX_SITE)
			return true;
	return false;
}

/*
 * Which argument register holds a parameter at the function's entry; -1: none, or it is not known.
 */
static int8_t register_at_entry(Dwarf_Die *param, Dwarf_Addr entry)
{
	static const int8_t numbers[] = {-1, 2, 3, -1, 1, 0, -1, -1, 4, 5}; /* by DWARF's */
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	if (!dwarf_attr_integrate(param, DW_AT_location, &attr) ||
	    !location_at_entry(&attr, entry, &op, &n) || n != 1)
		return -1;
	if (op[0].atom < DW_OP_reg0 || op[0].atom > DW_OP_reg0 + 9)
		return -1;
	return numbers[op[0].atom - DW_OP_reg0];
}

/* The next registers for a parameter, or none. @used: how many are taken. */
static void place(struct value_type *t, const struct classified *c, int *used)
{
	int want = 0;

	for (int w = 0; w < c->nr_words; w++) {
		if (c->class[w] == CLASS_MEMORY || c->class[w] == CLASS_X87)
			want = NR_REGISTERS + 1;
		want += c->class[w] == CLASS_INTEGER;
	}
	/* an argument that is passed by reference has the register of its address */
	if (t->kind == VALUE_POINTER)
		want = 1;
	t->nr_words = c->nr_words;
	if (!c->nr_words && t->kind == VALUE_WORDS)
		return; /* empty */
	if (!want || *used + want > NR_REGISTERS) {
		t->kind = VALUE_UNKNOWN;
		return;
	}
	for (int w = 0; w < c->nr_words; w++) {
		bool in = t->kind == VALUE_POINTER || c->class[w] == CLASS_INTEGER;

		t->reg[w] = in ? (int8_t)(*used)++ : -1;
	}
}

/*
 * Set the part of the result that is in rax. Return: whether the result's address is passed in the
 * first register.
 */
static bool place_result(struct value_type *t, const struct classified *c)
{
	t->nr_words = c->nr_words;
	if (t->kind == VALUE_VOID)
		return false;
	if (c->nr_words && c->class[0] == CLASS_MEMORY) {
		*t = (struct value_type){.kind = VALUE_POINTER, .bytes = 8, .nr_words = 1};
		return true;
	}
	t->reg[0] = c->class[0] == CLASS_INTEGER ? 0 : -1;
	t->reg[1] = c->class[0] != CLASS_INTEGER && c->class[1] == CLASS_INTEGER ? 0 : -1;
	if (t->kind != VALUE_WORDS ? t->reg[0] < 0
				   : c->nr_words && t->reg[0] < 0 && t->reg[1] < 0) {
		type_free(t);
		t->kind = VALUE_UNKNOWN;
	}
	return false;
}

struct reading {
	struct prototype *t;
	Dwarf_Die *die;
	bool origin; /* read the parameters from the DIE of which this one is a copy */
	Dwarf_Die copy;
	Dwarf_Addr entry;
	bool c, altered;
	bool lost;	 /* from here on registers are not known */
	bool stack_lost; /* nor where on the stack */
	int used, used_sse, used_stack;
};

/*
 * The number of a parameter among the call's arguments, after place(); an aggregate has none. After
 * an argument on the stack that is not a word in size or alignment, arguments have no number.
 */
static int16_t argument_of(struct reading *r, const struct value_type *t,
			   const struct classified *c)
{
	bool in_register = t->kind != VALUE_UNKNOWN && t->reg[0] >= 0;
	bool by_reference = t->kind == VALUE_POINTER;
	int nr_sse = 0;

	for (int w = 0; w < c->nr_words && !by_reference; w++) {
		if (c->class[w] == CLASS_MEMORY || c->class[w] == CLASS_X87)
			r->stack_lost = true;
		nr_sse += c->class[w] == CLASS_SSE;
	}
	r->used_sse += nr_sse;
	if (r->used_sse > NR_SSE_REGISTERS)
		r->stack_lost = true;
	if (in_register)
		return c->nr_words == 1 && t->kind != VALUE_WORDS ? (int16_t)(t->reg[0] + 1) : 0;
	if (!c->nr_words || nr_sse == c->nr_words)
		return 0;
	if (nr_sse || c->nr_words > 1 || c->aggregate)
		r->stack_lost = true;
	return r->stack_lost ? 0 : (int16_t)(NR_REGISTERS + ++r->used_stack);
}

/* The function's own DIE of a parameter of the source; NULL: it has none. */
static Dwarf_Die *copy_of(struct reading *r, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (!r->origin)
		return die;
	if (dwarf_child(r->die, &r->copy))
		return NULL;
	do {
		if (dwarf_formref_die(dwarf_attr(&r->copy, DW_AT_abstract_origin, &attr),
				      &origin) &&
		    origin.addr == die->addr)
			return &r->copy;
	} while (!dwarf_siblingof(&r->copy, &r->copy));
	return NULL;
}

/* Set the place of a parameter of a changed function. @copy: its own DIE; NULL: it has none. */
static void place_altered(struct reading *r, Dwarf_Die *copy, struct value_type *t,
			  const struct classified *c)
{
	int8_t reg = copy ? register_at_entry(copy, r->entry) : -1;
	Dwarf_Attribute attr;
	Dwarf_Sword value;

	if (!c->nr_words && t->kind == VALUE_WORDS)
		return; /* empty */
	t->nr_words = 1;
	t->reg[0] = reg;
	if (reg >= 0 && c->nr_words == 1 && c->class[0] != CLASS_SSE)
		return;
	if (copy && c->nr_words == 1 && c->class[0] == CLASS_INTEGER &&
	    !dwarf_formsdata(dwarf_attr(copy, DW_AT_const_value, &attr), &value)) {
		t->is_constant = true;
		t->constant = (uint64_t)value;
		return;
	}
	t->kind = VALUE_UNKNOWN;
}

static int read_param(struct reading *r, Dwarf_Die *die)
{
	struct prototype_param *param, *more;
	Dwarf_Attribute attr;
	const char *name;
	struct classified c;

	name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
	if (name && strcmp(name, "__in_chrg") == 0)
		return 0; /* gcc's own, never passed */
	if (r->t->nr == MAX_PARAMS)
		return 0;
	more = realloc(r->t->params, (r->t->nr + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	r->t->params = more;
	param = &more[r->t->nr++];
	*param = (struct prototype_param){.name = name ? strdup(name) : NULL};
	if (name && !param->name)
		return -ENOMEM;
	switch (type_read(die, &param->type, &c)) {
	case 0:
		break;
	case -ENOMEM:
		return -ENOMEM;
	default:
		r->lost = true;
		break;
	}
	if (!r->c && c.aggregate)
		r->lost = true;
	if (r->altered) {
		place_altered(r, copy_of(r, die), &param->type, &c);
		if (param->type.kind != VALUE_UNKNOWN && c.nr_words == 1 && !c.aggregate)
			param->argument = (int16_t)(param->type.reg[0] + 1);
	} else if (r->lost) {
		param->type.kind = VALUE_UNKNOWN;
	} else {
		place(&param->type, &c, &r->used);
		param->argument = argument_of(r, &param->type, &c);
	}
	return 0;
}

static int read_prototype(struct reading *r, Dwarf_Die *die)
{
	struct classified c;
	Dwarf_Die child, origin;
	Dwarf_Attribute attr;
	int ret;

	ret = type_read(die, &r->t->result, &c);
	if (ret == -ENOMEM)
		return ret;
	if (ret || (!r->c && c.aggregate)) {
		r->lost = true; /* it may use a register, or not */
		r->t->result.kind = VALUE_UNKNOWN;
	} else {
		r->used += place_result(&r->t->result, &c);
	}
	r->die = die;
	/* a clone has its parameters in another order, and not all of them */
	if ((r->altered || r->origin) &&
	    dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attr), &origin)) {
		r->origin = true;
		die = &origin;
	} else {
		r->origin = false;
	}
	if (dwarf_child(die, &child))
		return 0;
	do {
		if (dwarf_tag(&child) == DW_TAG_unspecified_parameters)
			r->t->variadic = true;
		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		ret = read_param(r, &child);
		if (ret)
			return ret;
	} while (!dwarf_siblingof(&child, &child));
	return 0;
}

bool prototypes_function(struct prototypes *p, uint64_t addr, Dwarf_Die *die)
{
	Dwarf_Addr at;
	Dwfl_Module *module = debuginfo_module(p->debug, addr, &at);
	Dwarf_Die *cu;

	return module && find_function(p, module, at, die, &cu);
}

static struct prototype *make(struct prototypes *p, uint64_t addr)
{
	const struct symbol *symbol = symbols_find(p->symbols, addr);
	struct reading r = {0};
	Dwfl_Module *module;
	Dwarf_Die die, *cu;
	Dwarf_Addr at;

	module = debuginfo_module(p->debug, addr, &at);
	if (!module || !find_function(p, module, at, &die, &cu))
		return NULL;
	r.c = is_c(cu);
	if (symbol && symbol->addr != addr)
		symbol = NULL;
	r.origin = p->as_written;
	r.altered = !p->as_written && (is_altered(&die, symbol ? symbol->raw : NULL) ||
				       lacks_places(&die, cu, symbol));
	if (!entry_of(&die, &r.entry))
		return NULL;
	r.t = calloc(1, sizeof(*r.t));
	if (r.t && read_prototype(&r, &die)) {
		prototype_free(r.t);
		return NULL;
	}
	return r.t;
}

/* The cached result for an address; a new one has no prototype. NULL: no memory. */
static struct answer *answer_of(struct prototypes *p, uint64_t addr, bool *is_new)
{
	int64_t found = HASH_INDEX_FIND(&p->by_addr, addr, i, p->answers[i].addr == addr);

	*is_new = found < 0;
	if (!*is_new)
		return &p->answers[found];
	if (ARRAY_ROOM(p->answers, p->nr_answers, p->room_answers, 128) ||
	    hash_index_add(&p->by_addr, addr, (uint32_t)p->nr_answers))
		return NULL;
	p->answers[p->nr_answers] = (struct answer){.addr = addr};
	return &p->answers[p->nr_answers++];
}

void prototypes_as_written(struct prototypes *p)
{
	p->as_written = true;
}

const struct prototype *prototypes_find(struct prototypes *p, uint64_t addr)
{
	bool is_new;
	struct answer *a = addr ? answer_of(p, addr, &is_new) : NULL;

	if (!a)
		return NULL;
	if (is_new)
		a->prototype = make(p, addr);
	return a->prototype;
}

static int by_answer(const void *a, const void *b)
{
	const struct answer *const *x = a, *const *y = b;

	return (*x)->addr < (*y)->addr ? -1 : (*x)->addr > (*y)->addr;
}

void prototypes_put(struct prototypes *p, FILE *f)
{
	const struct answer **list = calloc(p->nr_answers + 1, sizeof(*list));
	size_t nr = 0;

	for (size_t i = 0; list && i < p->nr_answers; i++)
		if (p->answers[i].prototype)
			list[nr++] = &p->answers[i];
	if (nr)
		qsort(list, nr, sizeof(*list), by_answer);
	for (size_t i = 0; i < nr; i++)
		prototype_put(f, list[i]->addr, list[i]->prototype);
	free(list);
}

int prototypes_add_text(struct prototypes *p, char *text)
{
	struct prototype t, *kept;
	struct answer *a;
	uint64_t addr;
	bool is_new;
	char *line;
	int ret;

	while ((line = strsep(&text, "\n"))) {
		if (!*line)
			continue;
		t = (struct prototype){0};
		ret = prototype_parse(line, &addr, &t);
		kept = ret ? NULL : malloc(sizeof(*kept));
		a = kept ? answer_of(p, addr, &is_new) : NULL;
		if (!a) {
			prototype_empty(&t);
			free(kept);
			if (ret == -EINVAL)
				continue;
			return -ENOMEM;
		}
		prototype_free(a->prototype);
		*kept = t;
		a->prototype = kept;
	}
	return 0;
}
