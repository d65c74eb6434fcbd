/* SPDX-License-Identifier: MIT */
/*
 * See redirect.h. The file is analysed when its object is scanned, unless a tool has kept the
 * results (ways_cache.h). A way is used only where memory has the same bytes as the file, and only
 * while no thread is among the instructions that are replaced: at the start, while dlopen() loads
 * the object, or later while all threads are stopped (redirect_live.h). So several instructions may
 * be replaced at once.
 *
 * Constructor and notification contexts. fork: the child has the same text and islands. dlclose():
 * sites.c frees. Costs: the analysis of the file; 272 bytes of addresses for each function, and
 * memory for the traced ones. Tests: tests/cli/test_unmodified.py.
 */
#include "engine/hook/redirect.h"

#include <errno.h>

#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/glob.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/base/text.h"
#include "engine/core/function.h"
#include "engine/core/text_patch.h"
#include "engine/core/unwind.h"
#include "engine/hook/text/island_cfi.h"
#include "engine/hook/text/near_map.h"
#include "engine/hook/ways_cache.h"
#include "engine/process/libc.h"
#include "object/entries.h"

#define PAGE 4096u

static const char *chosen;

/*
 * With `pid:N,` at the beginning: the names for process N alone; NULL in processes that it
 * executes.
 */
static const char *of_this_process(const char *names)
{
	uint64_t pid;

	if (!str_starts(names, "pid:"))
		return names;
	names += 4;
	names += text_decimal(names, SIZE_MAX, &pid);
	return *names == ',' && pid == (uint64_t)sys_getpid() ? names + 1 : NULL;
}

void redirect_choose(const char *names)
{
	names = names ? of_this_process(names) : NULL;
	chosen = names && *names && !str_equal(names, "0") ? names : NULL;
}

int redirect_all(void)
{
	const char *at = chosen;

	while (at && *at) {
		if (str_starts(at, "all") && (!at[3] || at[3] == ','))
			return 1;
		while (*at && *at++ != ',')
			;
	}
	return 0;
}

static int is_named(const char *name)
{
	const char *at = chosen;

	while (*at) {
		size_t n = 0;

		while (at[n] && at[n] != ',')
			n++;
		if (n && glob_match(at, n, name))
			return 1;
		at += n + (at[n] == ',');
	}
	return 0;
}

static int is_of_system(const char *path)
{
	static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/",
					      "/usr/libexec/"};
	uint32_t i;

	for (i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (str_starts(path, folders[i]))
			return 1;
	return 0;
}

/* In a static program the engine's own functions are among the program's. */
int redirect_is_wanted(const struct object *o)
{
	if (!chosen || libc_is_static)
		return 0;
	return !o->index || !is_of_system(o->path) || o->named || is_named(o->name);
}

/* All of it will be written, so back it at once: page by page it costs twenty times as much. */
static void *get(size_t bytes)
{
	void *p = sys_map_table(bytes);

	if (p)
		sys_back(p, bytes);
	return p;
}

static void put(void *p, size_t bytes)
{
	sys_munmap(p, bytes);
}

/* Whether the loader will still write to the text (text relocations). */
static int is_relocated(const struct entries *e)
{
	return (elf_image_dynamic(&e->image, DT_FLAGS) & DF_TEXTREL) != 0;
}

/* Whether memory has the @n bytes that the file has. */
static int is_as_in_file(const struct entries *e, uint64_t bias, uint64_t at, uint64_t n)
{
	uint64_t left;
	const uint8_t *p = elf_image_at(&e->image, at, &left);

	return p && left >= n && !memcmp((const void *)(bias + at), p, n);
}

static int add(struct object *o, const struct entries *e, const struct entry *f, struct redirect *r)
{
	const uint64_t bias = object_row(o)->bias, at = f->at + f->skip;
	struct area_function row = {
		.offset = (uint32_t)f->at,
		.flags = (uint8_t)((f->source & ENTRY_BY_SYMBOL ? AREA_FUNCTION_SYMBOL : 0) |
				   (f->source & ENTRY_BY_FDE ? AREA_FUNCTION_FDE : 0) |
				   (f->skip ? AREA_FUNCTION_ENDBR : 0) |
				   (f->entry_only ? AREA_FUNCTION_ENTRY_ONLY : 0)),
		.nop_bytes = f->bytes,
		.site = f->skip,
		.how = AREA_BY_REDIRECT,
	};
	uint64_t jump = f->way == ENTRY_PADDING ? at + (uint64_t)(int64_t)f->padding : at;

	if (f->bytes > REDIRECT_MAX_MOVED || !is_as_in_file(e, bias, at, f->bytes) ||
	    !is_as_in_file(e, bias, jump, REDIRECT_MAX_WRITTEN)) {
		function_refuse(o, (uint32_t)f->at, AREA_REFUSED_CHANGED, 0);
		return 0;
	}
	*r = (struct redirect){.bytes = f->bytes, .padding = f->padding};
	memcpy(r->text, (const void *)(bias + at), f->bytes);
	return function_add(o, &row);
}

static int add_all(struct object *o, const struct entries *e, struct redirect *rows)
{
	const struct area_object *row = object_row(o);
	uint32_t i;
	int err = 0;

	for (i = 0; i < e->nr && !err; i++) {
		const struct entry *f = &e->functions[i];

		if (f->is_part || f->at > UINT32_MAX)
			continue;
		if (f->way == ENTRY_REFUSED)
			function_refuse(o, (uint32_t)f->at, AREA_REFUSED_ENTRY, f->why);
		else
			err = add(o, e, f, &rows[row->nr_functions]);
	}
	return err;
}

static size_t rows_bytes(uint32_t nr)
{
	return (size_t)nr * sizeof(struct redirect);
}

/* The table has room for all functions that were found, and fewer may have been added. */
static struct redirect *shrink(struct redirect *all, uint32_t room, uint32_t nr)
{
	size_t kept = (rows_bytes(nr) + PAGE - 1) & ~(size_t)(PAGE - 1);

	if (kept < rows_bytes(room))
		sys_munmap((uint8_t *)all + kept, rows_bytes(room) - kept);
	return nr ? all : NULL;
}

/* `record` finds this line and refuses function_graph for the program (record_text.c). */
static void report_walker(const struct object *o, const char *what)
{
	char text[384];
	struct seq_buf s;

	seq_init(&s, text, sizeof(text) - 1);
	seq_puts(&s, what);
	seq_puts(&s, " finds its callers by return addresses");
	if (o->index) {
		seq_puts(&s, " in ");
		seq_puts(&s, o->path);
	}
	text[s.len] = 0;
	area_status("no call is wrapped", text, 0);
}

/* Return: 0, to be undone by entries_close(); -ENOMEM, -ENOEXEC. */
static int find_ways(const struct object *o, const struct elf_file *file, struct entries *e)
{
	int err;

	if (ways_cache_load(o, file, e, get, put)) {
		object_row(o)->analysis = AREA_ANALYSIS_CACHED;
		return 0;
	}
	err = entries_open(e, file->map, file->bytes, get, put);
	if (err)
		return err;
	err = entries_find_ways(e);
	if (err)
		entries_close(e);
	else
		object_row(o)->analysis = AREA_ANALYSIS_MADE;
	return err;
}

struct redirect *redirect_scan(struct object *o, const struct elf_file *file, int *err)
{
	struct redirect *all, *rows = NULL;
	struct entries e;

	*err = 0;
	if (!file->map)
		return NULL;
	*err = find_ways(o, file, &e);
	if (*err) {
		*err = *err == -ENOMEM ? -ENOMEM : 0;
		return NULL;
	}
	all = e.nr ? sys_map_table(rows_bytes(e.nr)) : NULL;
	if (e.nr && !all)
		*err = -ENOMEM;
	if (all)
		sys_back(all, rows_bytes(e.nr));
	if (is_relocated(&e))
		area_status("its code is relocated when it is loaded: not redirected", o->path, 0);
	else if (all)
		*err = add_all(o, &e, all);
	if (all && e.walks)
		report_walker(o, e.walks);
	if (all)
		rows = shrink(all, e.nr, object_row(o)->nr_functions);
	if (object_row(o)->nr_functions && !rows)
		*err = -ENOMEM;
	entries_close(&e);
	return rows;
}

void redirect_free(struct redirect *r, uint32_t nr)
{
	sys_munmap(r, rows_bytes(nr));
}

static size_t head_at(uint32_t nr)
{
	return (size_t)nr * REDIRECT_ISLAND_BYTES;
}

static size_t rows_at(uint32_t nr)
{
	size_t end = head_at(nr) + REDIRECT_HEAD_BYTES + (size_t)nr * REDIRECT_TABLE_BYTES;

	return (end + 15) & ~(size_t)15;
}

/* The original address of the instruction at which a thread on an island is. Any context. */
static uint64_t original(uint64_t ip)
{
	uint64_t lo, hi, address;
	const uint8_t *rows = island_cfi_find(ip, &lo, &hi);
	uint32_t nr = rows ? (uint32_t)((hi - lo) / REDIRECT_ISLAND_BYTES) : 0;

	/* islands of other kinds have no such rows */
	if (!rows || (uint64_t)rows != hi + REDIRECT_HEADER_AT)
		return ip;
	rows = (const uint8_t *)lo + rows_at(nr) +
	       (ip - lo) / REDIRECT_ISLAND_BYTES * REDIRECT_ROW_BYTES;
	address = redirect_original(rows, (uint32_t)((ip - lo) % REDIRECT_ISLAND_BYTES));
	return address ? address : ip;
}

int redirect_map(struct redirect_map *m, uint64_t text_lo, uint64_t text_hi, uint32_t nr,
		 size_t slot_bytes)
{
	size_t end = rows_at(nr) + (size_t)nr * REDIRECT_ROW_BYTES;
	uint8_t *p;

	m->nr = nr;
	m->code_bytes = (end + PAGE - 1) & ~(size_t)(PAGE - 1);
	p = near_map(text_lo, text_hi, m->code_bytes + nr * slot_bytes);
	if (!p)
		return -ENOMEM;
	m->islands = p;
	m->slots = p + m->code_bytes;
	sys_back(p + head_at(nr), rows_at(nr) - head_at(nr));
	redirect_head_make(p + head_at(nr), (uint64_t)p, (uint64_t)(p + rows_at(nr)), nr);
	unwind_originals(original);
	island_cfi_add((uint64_t)p, (uint64_t)p + head_at(nr),
		       p + head_at(nr) + REDIRECT_HEADER_AT);
	return text_seal(p, m->code_bytes);
}

void redirect_unmap(struct redirect_map *m, size_t slot_bytes)
{
	if (!m->islands)
		return;
	island_cfi_forget(m->islands);
	sys_munmap(m->islands, m->code_bytes + m->nr * slot_bytes);
	m->islands = NULL;
}

uint64_t redirect_row(const struct redirect_map *m, uint32_t i)
{
	return (uint64_t)m->islands + rows_at(m->nr) + (size_t)i * REDIRECT_ROW_BYTES;
}

int redirect_make(const struct redirect_map *m, uint32_t i, const struct redirect *r, uint64_t from)
{
	uint8_t *island = redirect_island(m, i);
	uint8_t *row = (uint8_t *)redirect_row(m, i);

	return redirect_island_make(r->text, r->bytes, from, (uint64_t)island, text_at(island),
				    text_at(row), (uint64_t)row,
				    (uint64_t)(m->islands + head_at(m->nr)));
}

uint64_t redirect_copy_of(const struct redirect_map *m, uint32_t i, uint64_t address)
{
	const uint8_t *row = (const uint8_t *)redirect_row(m, i);
	uint32_t at;

	for (at = ARCH_SITE_FULL; at < REDIRECT_ISLAND_BYTES; at++)
		if (redirect_original(row, at) == address)
			return (uint64_t)redirect_island(m, i) + at;
	return 0;
}

uint32_t redirect_jump_bytes(const struct redirect *r)
{
	uint8_t jump[REDIRECT_MAX_WRITTEN];

	return r->padding ? redirect_short_jump_make(0, 0, jump) : redirect_jump_make(0, 0, jump);
}

void redirect_write(const struct redirect_map *m, uint32_t i, const struct redirect *r,
		    uint64_t from)
{
	uint64_t where = from + (uint64_t)(int64_t)r->padding;
	uint8_t jump[REDIRECT_MAX_WRITTEN];
	uint32_t n = redirect_jump_make(where, (uint64_t)redirect_island(m, i), jump);

	memcpy(text_at((void *)where), jump, n);
	if (where == from)
		return;
	n = redirect_short_jump_make(from, where, jump);
	memcpy(text_at((void *)from), jump, n);
}
