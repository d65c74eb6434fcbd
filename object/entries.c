/* SPDX-License-Identifier: MIT */
/* See entries.h: where functions are. entry_ways.c finds the ways. */
#include "object/entries_impl.h"

#include <errno.h>
#include <string.h>

#include "object/eh_read.h"

#define DW_CFA_ADVANCE	 1u /* the two upper bits */
#define DW_CFA_OFFSET	 2u
#define DW_CFA_SET_LOC	 0x01u
#define DW_CFA_ADVANCE4	 0x04u
#define DW_CFA_UNDEFINED 0x07u
#define DW_CFA_ARGS_SIZE 0x2eu
#define RETURN_COLUMN	 16u

static const char *const ways[ENTRY_NR_WAYS] = {
	[ENTRY_LONG] = "by one store, its first instruction is long enough",
	[ENTRY_MOVE] = "by moving several instructions, all threads stopped",
	[ENTRY_PADDING] = "by one store, through padding",
	[ENTRY_REFUSED] = "not at all",
};

static const char *const whys[ENTRY_NR_WHYS] = {
	[ENTRY_WHY_NONE] = "",
	[ENTRY_WHY_START] = "where the program begins",
	[ENTRY_WHY_OUTERMOST] = "outermost function of a thread",
	[ENTRY_WHY_TWICE] = "returns twice",
	[ENTRY_WHY_TLS] = "gives the address of a thread's variable",
	[ENTRY_WHY_DECODE] = "an instruction is not known",
	[ENTRY_WHY_MOVE] = "an instruction cannot run elsewhere",
	[ENTRY_WHY_CALL] = "a call among its first instructions",
	[ENTRY_WHY_END] = "too short",
	[ENTRY_WHY_NEXT] = "another function begins too near",
	[ENTRY_WHY_BRANCH] = "a branch leads among its first instructions",
	[ENTRY_WHY_ADDRESS] = "a jump table may lead among its first instructions",
	[ENTRY_WHY_LOOP] = "a branch leads back to its start",
	[ENTRY_WHY_LIMIT] = "its object has too many tables",
	[ENTRY_WHY_RSEQ] = "its object has restartable sequences",
	[ENTRY_WHY_GO] = "its object is of Go",
};

const char *entry_way_text(enum entry_way way)
{
	return way < ENTRY_NR_WAYS ? ways[way] : "";
}

const char *entry_why_text(enum entry_why why)
{
	return why < ENTRY_NR_WHYS ? whys[why] : "";
}

/* Functions that are never redirected, by name; `*` at the end: and all names that begin so. */
static const struct {
	const char *name;
	uint8_t why;
} never[] = {
	{"_start", ENTRY_WHY_START},	    {"setjmp", ENTRY_WHY_TWICE},
	{"_setjmp", ENTRY_WHY_TWICE},	    {"__setjmp", ENTRY_WHY_TWICE},
	{"sigsetjmp", ENTRY_WHY_TWICE},	    {"__sigsetjmp*", ENTRY_WHY_TWICE},
	{"getcontext", ENTRY_WHY_TWICE},    {"__getcontext", ENTRY_WHY_TWICE},
	{"savectx", ENTRY_WHY_TWICE},	    {"vfork", ENTRY_WHY_TWICE},
	{"__vfork", ENTRY_WHY_TWICE},	    {"__libc_vfork", ENTRY_WHY_TWICE},
	{"__tls_get_addr*", ENTRY_WHY_TLS},
};

static uint8_t never_by_name(const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < sizeof(never) / sizeof(*never); i++) {
		size_t k = strlen(never[i].name);
		int begins = never[i].name[k - 1] == '*';

		if (begins ? n >= k - 1 && !memcmp(name, never[i].name, k - 1)
			   : n == k && !memcmp(name, never[i].name, k))
			return never[i].why;
	}
	return ENTRY_WHY_NONE;
}

/*
 * A function that each runtime exports which finds its frames by return addresses: OCaml's and
 * Haskell's collectors, V8, HotSpot.
 */
const struct entry_runtime entry_walkers[] = {
	{"caml_main", "OCaml"},
	{"hs_init", "Haskell"},
	{"_ZN2v87Isolate10GetCurrentEv", "V8"},
	{"JNI_CreateJavaVM", "HotSpot"},
	{NULL, NULL},
};

const struct entry_runtime entry_copiers[] = {
	{"PyInit__greenlet", "greenlet"},
	{"initgreenlet", "greenlet"},
	{"Init_continuation", "callcc of Ruby"},
	{"scm_boot_guile", "Guile"},
	{NULL, NULL},
};

static const char *runtime(const struct entry_runtime *r, const char *name, size_t n)
{
	for (; r->symbol; r++)
		if (n == strlen(r->symbol) && !memcmp(name, r->symbol, n))
			return r->what;
	return NULL;
}

/* Whether it is a part that the compiler moved away: NAME.cold, NAME.cold.N, NAME.part.N.cold */
static int is_part(const char *name, size_t n)
{
	size_t i;

	for (i = 1; i + 5 <= n; i++)
		if (!memcmp(name + i, ".cold", 5) && (i + 5 == n || name[i + 5] == '.'))
			return 1;
	return 0;
}

static int grow(struct entries *e)
{
	uint32_t room = e->room ? e->room * 2 : e->expected;
	struct entry *more;

	if (e->nr < e->room)
		return 0;
	more = room > e->room ? e->get((size_t)room * sizeof(*more)) : NULL;
	if (!more)
		return -ENOMEM;
	if (e->room) {
		memcpy(more, e->functions, e->nr * sizeof(*more));
		e->put(e->functions, e->room * sizeof(*more));
	}
	e->functions = more;
	e->room = room;
	return 0;
}

static int add(struct entries *e, const struct entry *f)
{
	int err;

	if (f->at < e->text_lo || f->at >= e->text_hi)
		return 0;
	err = grow(e);
	if (!err)
		e->functions[e->nr++] = *f;
	return err;
}

static int add_named(struct entries *e, uint64_t at, uint64_t bytes, const char *name, size_t n)
{
	struct entry f = {.at = at, .source = ENTRY_BY_SYMBOL};

	f.end = bytes && at + bytes > at ? at + bytes : 0;
	f.is_part = (uint8_t)is_part(name, n);
	f.never = never_by_name(name, n);
	e->walks = e->walks ? e->walks : runtime(entry_walkers, name, n);
	e->copies = e->copies ? e->copies : runtime(entry_copiers, name, n);
	return add(e, &f);
}

int entries_add(struct entries *e, uint64_t at, uint64_t bytes, const char *name)
{
	return add_named(e, at, bytes, name ? name : "", name ? strlen(name) : 0);
}

/* The name of a symbol, up to its version. */
static size_t name_bytes(const uint8_t *p, uint64_t n)
{
	size_t i;

	for (i = 0; i < n && i < 4096 && p[i] && p[i] != '@'; i++)
		;
	return i;
}

static int read_symbols(struct entries *e, const Elf64_Shdr *s)
{
	const uint8_t *p = e->image.file + s->sh_offset, *names = NULL;
	uint64_t n = s->sh_size / sizeof(Elf64_Sym), i;
	Elf64_Shdr strings;
	int err = 0;

	if (!elf_image_section(&e->image, s->sh_link, &strings))
		names = e->image.file + strings.sh_offset;
	for (i = 0; i < n && !err; i++) {
		const char *name = "";
		size_t bytes = 0;
		Elf64_Sym sym;

		memcpy(&sym, p + i * sizeof(sym), sizeof(sym));
		if ((ELF64_ST_TYPE(sym.st_info) != STT_FUNC &&
		     ELF64_ST_TYPE(sym.st_info) != STT_GNU_IFUNC) ||
		    sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS)
			continue;
		if (names && sym.st_name < strings.sh_size) {
			name = (const char *)names + sym.st_name;
			bytes = name_bytes(names + sym.st_name, strings.sh_size - sym.st_name);
		}
		err = add_named(e, sym.st_value, sym.st_size, name, bytes);
	}
	return err;
}

/* Data of a function from .eh_frame, besides its bounds. */
struct fde_facts {
	int outermost;	   /* it returns to no caller */
	int begins_within; /* it begins amid a frame: a part of another function */
};

/* The bytes at a virtual address, up to the end of its segment; bad if there are none. */
static struct eh_bytes bytes_at(const struct entries *e, uint64_t address)
{
	uint64_t n;
	const uint8_t *p = elf_image_at(&e->image, address, &n);

	return p ? (struct eh_bytes){p, p + n, address, 0} : (struct eh_bytes){.bad = 1};
}

/* Run the rules of a CIE or FDE that hold before the first instruction. */
static void first_row(struct eh_bytes b, struct fde_facts *facts)
{
	while (b.at < b.end && !b.bad) {
		uint8_t op = (uint8_t)eh_get(&b, 1);

		if (op >> 6 == DW_CFA_ADVANCE || (op >= DW_CFA_SET_LOC && op <= DW_CFA_ADVANCE4))
			return;
		if (op == DW_CFA_UNDEFINED) {
			if (eh_get_leb(&b, 0) == RETURN_COLUMN)
				facts->outermost = 1;
		} else if (op == DW_CFA_ARGS_SIZE) {
			eh_get_leb(&b, 0);
		} else if (op) {
			facts->begins_within = 1;
			return;
		}
	}
}

typedef void pad_fn(struct entries *e, uint64_t pad);

/* The landing pads of one function's table. */
static void read_pads(struct entries *e, uint64_t table, uint64_t start, pad_fn *fn)
{
	struct eh_bytes b = bytes_at(e, table);
	uint64_t base = start, n;
	uint8_t encoding;

	encoding = (uint8_t)eh_get(&b, 1);
	if (encoding != EH_OMIT)
		base = eh_get_pointer(&b, encoding);
	if (eh_get(&b, 1) != EH_OMIT)
		eh_get_leb(&b, 0);
	encoding = (uint8_t)eh_get(&b, 1);
	n = eh_get_leb(&b, 0);
	if (!b.bad && n < (uint64_t)(b.end - b.at))
		b.end = b.at + n;
	while (b.at < b.end && !b.bad) {
		uint64_t pad;

		eh_get_pointer(&b, encoding);
		eh_get_pointer(&b, encoding);
		pad = eh_get_pointer(&b, encoding);
		eh_get_leb(&b, 0);
		if (pad && !b.bad && e->work) {
			e->work--;
			fn(e, base + pad);
		}
	}
}

static int read_fde(struct entries *e, struct eh_bytes b, const struct eh_cie *c, pad_fn *fn)
{
	struct entry f = {.source = ENTRY_BY_FDE};
	struct fde_facts facts = {0};
	uint64_t table = 0, n;

	f.at = eh_get_pointer(&b, c->pointers);
	n = eh_get_pointer(&b, c->pointers & 0x0f);
	if (c->has_data) {
		struct eh_bytes data = eh_get_block(&b);

		if (data.at < data.end && c->landing != EH_OMIT)
			table = eh_get_pointer(&data, c->landing);
	}
	if (b.bad || !n || f.at + n <= f.at)
		return 0;
	if (fn) {
		if (table)
			read_pads(e, table, f.at, fn);
		return 0;
	}
	f.end = f.at + n;
	first_row(b, &facts);
	f.is_part = (uint8_t)facts.begins_within;
	if (facts.outermost)
		f.never = ENTRY_WHY_OUTERMOST;
	return add(e, &f);
}

/* All of .eh_frame: functions, or with @fn the landing pads of each. */
static int read_eh_frame(struct entries *e, pad_fn *fn)
{
	struct eh_bytes b = bytes_at(e, e->image.eh_frame_hdr);
	struct eh_cie c = {0};
	uint64_t last = UINT64_MAX;
	uint8_t encoding;
	int err = 0;

	if (!e->image.eh_frame_hdr || eh_get(&b, 1) != 1)
		return 0;
	encoding = (uint8_t)eh_get(&b, 1);
	eh_skip(&b, 2);
	b.address = eh_get_pointer(&b, encoding);
	b = b.bad ? b : bytes_at(e, b.address);
	while (!b.bad && !err) {
		struct eh_bytes one = eh_get_entry(&b), cies;
		uint64_t from = one.address, id = eh_get(&one, 4);

		if (one.bad)
			break;
		if (!id)
			continue;
		if (from - id != last) {
			last = from - id;
			cies = bytes_at(e, last);
			if (cies.bad || eh_read_cie(&c, eh_get_entry(&cies))) {
				last = UINT64_MAX;
				continue;
			}
		}
		err = read_fde(e, one, &c, fn);
	}
	return err;
}

void entries_landing_pads(struct entries *e, void (*fn)(struct entries *e, uint64_t pad))
{
	read_eh_frame(e, fn);
}

/* Room for one function per table row; a table that grows page by page would be slower. */
static uint32_t count_rows(const struct entries *e)
{
	uint64_t nr = e->image.eh_frame_hdr_bytes / 8;
	Elf64_Shdr s;
	uint32_t i;

	for (i = 0; i < e->image.head.e_shnum; i++)
		if (!elf_image_section(&e->image, i, &s) &&
		    (s.sh_type == SHT_DYNSYM || s.sh_type == SHT_SYMTAB))
			nr += s.sh_size / sizeof(Elf64_Sym);
	/* the file is untrusted, and a row has some bytes */
	nr = nr < e->image.bytes / 16 ? nr : e->image.bytes / 16;
	return 1024 + (nr < UINT32_MAX / 4 ? (uint32_t)nr : 0);
}

uint32_t entries_symbol_tables(const struct elf_image *image, Elf64_Shdr tables[2])
{
	int has_symtab = 0, has_dynsym = 0;
	uint32_t i, nr = 0;

	for (i = 0; i < image->head.e_shnum && nr < 2; i++)
		/* a good file has one of each */
		if (!elf_image_section(image, i, &tables[nr]) &&
		    (tables[nr].sh_type == SHT_SYMTAB
			     ? !has_symtab++
			     : tables[nr].sh_type == SHT_DYNSYM && !has_dynsym++))
			nr++;
	return nr;
}

int entries_open_image(struct entries *e, const uint8_t *file, uint64_t bytes,
		       void *(*get_bytes)(size_t), void (*put)(void *p, size_t bytes))
{
	uint32_t i;
	int err;

	memset(e, 0, sizeof(*e));
	e->get = get_bytes;
	e->put = put;
	err = elf_image_open(&e->image, file, bytes);
	if (err)
		return err;
	e->text_lo = UINT64_MAX;
	for (i = 0; i < e->image.nr_segments; i++) {
		uint64_t at = e->image.segments[i].at;

		if (!(e->image.segments[i].flags & PF_X))
			continue;
		e->text_lo = at < e->text_lo ? at : e->text_lo;
		at += e->image.segments[i].bytes;
		e->text_hi = at > e->text_hi ? at : e->text_hi;
	}
	/* the map has a byte for each, so it may not be larger than a file of such text would be */
	if (e->text_lo >= e->text_hi || e->text_hi - e->text_lo > 2 * bytes)
		return -ENOEXEC;
	return 0;
}

int entries_open(struct entries *e, const uint8_t *file, uint64_t bytes, void *(*get_bytes)(size_t),
		 void (*put)(void *p, size_t bytes))
{
	struct entry start = {.never = ENTRY_WHY_START, .source = ENTRY_BY_SYMBOL};
	Elf64_Shdr tables[2];
	uint32_t i, nr;
	int err = entries_open_image(e, file, bytes, get_bytes, put);

	if (err)
		return err;
	e->work = 16 * bytes;
	e->expected = count_rows(e);
	nr = entries_symbol_tables(&e->image, tables);
	for (i = 0; i < nr && !err; i++)
		err = read_symbols(e, &tables[i]);
	start.at = e->image.head.e_entry;
	if (!err && start.at)
		err = add(e, &start);
	if (!err)
		err = read_eh_frame(e, NULL);
	if (err)
		entries_close(e);
	return err;
}

void entries_close(struct entries *e)
{
	if (e->marks)
		e->put(e->marks, e->nr_marks);
	if (e->blocks)
		e->put(e->blocks, entries_blocks_bytes(e));
	if (e->room)
		e->put(e->functions, e->room * sizeof(*e->functions));
	e->marks = NULL;
	e->blocks = NULL;
	e->room = 0;
}
