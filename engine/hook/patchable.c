/* SPDX-License-Identifier: MIT */
/*
 * Finds the sites of a program, whichever flag of the compiler made them.
 *
 * A site is a run of five or more bytes of NOPs at the start of a function, behind endbr64 if there
 * is one (-fpatchable-function-entry), or the call of __fentry__ in its place (-pg -mfentry), or
 * the call of mcount behind the prologue (-pg). A function that calls __cyg_profile_func_enter has
 * no site and can be traced as well (cyg.c). The compiler's tables of sites are not complete (gcc
 * 12 ties the table to each file's first function, so it is lost if that function is discarded). So
 * the tables' sites are taken, and all starts of functions by symbol or FDE that have a site, too.
 * Each source sets bits in a map of the object's text, which gives them sorted, each once.
 *
 * The length of a site: a run of one-byte NOPs may continue into the function's own code, and a
 * jump may lead into that. But the flag is the same for a whole file and mostly for the whole
 * object, so each site is at least as long as the shortest run of the object. No jump can lead into
 * a first NOP that is longer by itself. Constructor context; nothing for fork; costs a few ns for
 * each function (bench: "start-up"). Tests: tests/engine/hooks, tests/engine/targets.
 */
#include <errno.h>

#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/core/function.h"
#include "engine/core/hook.h"
#include "engine/process/eh_table.h"
#include "engine/process/libc.h"
#include "engine/hook/callee.h"
#include "engine/hook/graph/graph.h"
#include "engine/hook/graph/graph_wrap.h"
#include "engine/hook/redirect.h"
#include "engine/hook/sites.h"
#include "engine/hook/sites_impl.h"
#include "engine/hook/text/probe_points.h"

/*
 * An executable segment while it is scanned; marks: enum area_function_flag, one byte for each
 * address.
 */
struct segment {
	const uint8_t *text;
	uint64_t bytes;
	uint64_t vaddr;
	uint8_t *marks; /* zero memory that is backed only where it is touched */
};

struct scan {
	struct object *o;
	struct segment segments[4];
	uint32_t nr_segments;
	uint32_t nr_starts;
	uint32_t nr_hits;
	int counting; /* first pass: only count */
	/* bounds of the engine's own code, if it is linked into the object */
	uint64_t own_lo, own_hi;
	struct callees callees;
};

/*
 * The length of the NOPs of a function that starts at @p; *@marker: bytes of endbr64 before them.
 */
static uint32_t pad_at(const uint8_t *p, uint64_t n, uint32_t *marker)
{
	*marker = arch_is_marker(p, n) ? ARCH_MARKER_BYTES : 0;
	return arch_nop_bytes(p + *marker, n - *marker);
}

static void note_start(struct scan *s, uint64_t vaddr, uint8_t flag)
{
	uint32_t i, marker;

	/*
	 * the engine's own code may have padding that looks like a site; a hook must not be traced
	 */
	if (vaddr - s->own_lo < s->own_hi - s->own_lo)
		return;
	for (i = 0; i < s->nr_segments; i++) {
		struct segment *seg = &s->segments[i];
		uint64_t at = vaddr - seg->vaddr;

		if (at >= seg->bytes)
			continue;
		if (!s->counting) {
			seg->marks[at] |= flag;
			return;
		}
		s->nr_starts++;
		/* for speed: nearly all functions without sites differ in the first byte */
		if (arch_may_be_site(seg->text[at]))
			s->nr_hits += pad_at(seg->text + at, seg->bytes - at, &marker) >= 2;
		return;
	}
}

static int note_symbol(void *arg, uint64_t value, const char *name)
{
	(void)name;
	note_start(arg, value, AREA_FUNCTION_SYMBOL);
	return 0;
}

static void note_fdes(struct scan *s)
{
	const struct area_object *row = object_row(s->o);
	uint64_t bytes;
	const uint8_t *head = object_eh_header(s->o, &bytes);
	struct eh_table t;
	uint32_t i;

	if (!head || eh_table_open(&t, head, bytes) < 0)
		return;
	for (i = 0; i < t.nr; i++)
		note_start(s, eh_table_begin(&t, i) - row->bias, AREA_FUNCTION_FDE);
}

static void note_table_entry(struct scan *s, uint64_t vaddr)
{
	uint32_t i;

	/* a function begins at its endbr64 */
	for (i = 0; i < s->nr_segments; i++) {
		const struct segment *seg = &s->segments[i];
		uint64_t at = vaddr - seg->vaddr;

		if (at < seg->bytes && at >= ARCH_MARKER_BYTES &&
		    arch_is_marker(seg->text + at - ARCH_MARKER_BYTES, ARCH_MARKER_BYTES))
			vaddr -= ARCH_MARKER_BYTES;
	}
	note_start(s, vaddr, AREA_FUNCTION_TABLE);
}

/* Before relocation, as when dlopen() reports an object, the table is in .rela.dyn. */
static void note_relocations(struct scan *s, const struct elf_file *f, uint64_t lo, uint64_t hi)
{
	const ElfW(Shdr) *rela = elf_file_section(f, ".rela.dyn");
	const ElfW(Rela) * r;
	uint64_t n;

	if (!rela || rela->sh_type != SHT_RELA || rela->sh_offset > f->bytes ||
	    rela->sh_size > f->bytes - rela->sh_offset)
		return;
	r = (const void *)(f->map + rela->sh_offset);
	for (n = rela->sh_size / sizeof(*r); n--; r++)
		if (r->r_offset >= lo && r->r_offset < hi)
			note_table_entry(s, (uint64_t)r->r_addend);
}

/* Read a compiler's table: addresses of sites, relocated in memory by the loader. */
static void note_table(struct scan *s, const struct elf_file *f, const char *section)
{
	const struct area_object *row = object_row(s->o);
	const ElfW(Shdr) * table;
	const uint8_t *entry;
	uint64_t n, at;

	table = elf_file_section(f, section);
	if (!table || !(table->sh_flags & SHF_ALLOC) || row->bias + table->sh_addr < row->lo ||
	    table->sh_size > row->hi - (row->bias + table->sh_addr))
		return;
	entry = (const uint8_t *)(row->bias + table->sh_addr);
	for (n = table->sh_size / 8; n--; entry += 8) {
		memcpy(&at, entry, 8); /* __mcount_loc is not aligned */
		if (row->bias && !at) {
			note_relocations(s, f, table->sh_addr, table->sh_addr + table->sh_size);
			return;
		}
		note_table_entry(s, at - row->bias);
	}
}

static void note_all(struct scan *s, const struct elf_file *f)
{
	note_fdes(s);
	if (f->map) {
		note_table(s, f, "__patchable_function_entries");
		note_table(s, f, "__mcount_loc");
		elf_file_symbols(f, note_symbol, s);
	}
}

/*
 * Whether another function starts within the bytes. The NOPs at a table's entry may be before a
 * function (-fpatchable-function-entry=N,M), and an FDE may begin with the padding before one
 * (libc's return from signal handlers). @better: sources that prove a function's start.
 */
static int another_starts_within(const struct segment *seg, uint64_t at, uint32_t bytes,
				 uint8_t better)
{
	uint32_t i;

	for (i = 1; i <= bytes && at + i < seg->bytes; i++)
		if (seg->marks[at + i] & better)
			return 1;
	return 0;
}

/* Whether a function begins there, or a part of one that is placed elsewhere. */
static int is_start(const struct segment *seg, uint64_t at)
{
	return seg->marks[at] & (AREA_FUNCTION_SYMBOL | AREA_FUNCTION_FDE);
}

/*
 * Find the first call of __fentry__ and its kind in the function that starts at @at. Return: as
 * callees_at().
 */
static uint32_t find_call(struct scan *s, const struct segment *seg, uint64_t at, uint64_t *site,
			  enum callee_id *id)
{
	uint64_t i = at;
	uint32_t len;

	do {
		len = callees_at(&s->callees, seg->text + i, seg->bytes - i, id);
		if (len) {
			*site = i - at;
			return len;
		}
	} while (++i < seg->bytes && !is_start(seg, i));
	return 0;
}

static int take_call(struct scan *s, struct area_function *f, const struct segment *seg,
		     uint64_t at, uint32_t marker)
{
	enum callee_id id;
	uint64_t site;
	uint32_t len;

	/* an entry of the table alone may be inside a function that symbols or FDEs know */
	if (!s->callees.nr_found || !is_start(seg, at))
		return 0;
	len = find_call(s, seg, at, &site, &id);
	if (!len || (id != CALLEE_CYG_ENTER && site > UINT16_MAX))
		return 0;
	f->how = id == CALLEE_FENTRY   ? AREA_BY_FENTRY
		 : id == CALLEE_MCOUNT ? AREA_BY_MCOUNT
				       : AREA_BY_CYG;
	if (id == CALLEE_CYG_ENTER)
		return 1;
	f->flags |= callee_passes_on(id) ? AREA_FUNCTION_PASSED_ON : 0;
	if (id == CALLEE_FENTRY && site != marker) {
		/* as in arch_is_saved_around(): the site is all of it, so nothing is lost */
		if (site != marker + ARCH_SAVED_BYTES || f->flags & AREA_FUNCTION_PASSED_ON ||
		    at + site + len + ARCH_SAVED_BYTES > seg->bytes ||
		    !arch_is_saved_around(seg->text + at + site, len))
			return 0;
		site = marker;
		len += 2 * ARCH_SAVED_BYTES;
	}
	f->site = (uint16_t)site;
	f->nop_bytes = (uint8_t)len;
	return 1;
}

static int add_function(struct scan *s, const struct segment *seg, uint64_t at)
{
	struct area_function f = {.offset = (uint32_t)(seg->vaddr + at), .flags = seg->marks[at]};
	uint32_t marker, pad = pad_at(seg->text + at, seg->bytes - at, &marker);

	if (f.flags == AREA_FUNCTION_TABLE &&
	    another_starts_within(seg, at, marker + pad, AREA_FUNCTION_SYMBOL | AREA_FUNCTION_FDE))
		return 0;
	if (f.flags == AREA_FUNCTION_FDE && pad &&
	    another_starts_within(seg, at, pad, AREA_FUNCTION_SYMBOL))
		return 0;
	if (seg->vaddr + at > UINT32_MAX) {
		function_refuse(s->o, 0, AREA_REFUSED_RANGE, pad);
		return 0;
	}
	if (marker)
		f.flags |= AREA_FUNCTION_ENDBR;
	if (pad >= ARCH_SITE_MIN) {
		f.site = (uint16_t)marker;
		f.nop_bytes = (uint8_t)pad;
	} else if (!take_call(s, &f, seg, at, marker)) {
		if (pad || f.flags & (AREA_FUNCTION_SYMBOL | AREA_FUNCTION_FDE))
			function_refuse(s->o, f.offset,
					pad >= 2 ? AREA_REFUSED_SHORT : AREA_REFUSED_NO_NOPS, pad);
		return 0;
	}
	return function_add(s->o, &f);
}

static int add_functions(struct scan *s)
{
	uint32_t i;

	for (i = 0; i < s->nr_segments; i++) {
		const struct segment *seg = &s->segments[i];
		uint64_t at, word;

		for (at = 0; at < seg->bytes; at++) {
			if (!(at & 7) && at + 8 <= seg->bytes) {
				memcpy(&word, seg->marks + at, 8);
				if (!word) {
					at += 7;
					continue;
				}
			}
			if (seg->marks[at] && add_function(s, seg, at))
				return -ENOSPC;
		}
	}
	return 0;
}

/* See the head: cut each site to the bytes that the flag must have made. */
static void settle_lengths(struct object *o)
{
	const struct area_object *row = object_row(o);
	uint32_t i, shortest = UINT8_MAX;

	for (i = 0; i < row->nr_functions; i++) {
		const struct area_function *f = area_function(row->first_function + i);

		if (f->how == AREA_BY_NOPS && f->nop_bytes < shortest)
			shortest = f->nop_bytes;
	}
	for (i = 0; i < row->nr_functions; i++) {
		struct area_function *f = area_function(row->first_function + i);
		uint32_t first;

		if (f->how != AREA_BY_NOPS)
			continue;
		first = arch_nop_length((const uint8_t *)(row->bias + f->offset + f->site),
					f->nop_bytes);
		f->nop_bytes = (uint8_t)(first > shortest ? first : shortest);
	}
}

static void find_segments(struct scan *s)
{
	uint32_t i;

	for (i = 0; i < s->o->nr_phdr && s->nr_segments < ARRAY_SIZE(s->segments); i++) {
		const ElfW(Phdr) *ph = &s->o->phdr[i];

		if (ph->p_type != PT_LOAD || (ph->p_flags & (PF_X | PF_R)) != (PF_X | PF_R))
			continue;
		s->segments[s->nr_segments++] = (struct segment){
			.text = (const uint8_t *)(object_row(s->o)->bias + ph->p_vaddr),
			.bytes = ph->p_filesz,
			.vaddr = ph->p_vaddr,
		};
	}
}

static int map_marks(struct scan *s)
{
	uint32_t i;

	for (i = 0; i < s->nr_segments; i++) {
		s->segments[i].marks = sys_map_table(s->segments[i].bytes);
		if (!s->segments[i].marks)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Whether to scan at once. Calls that the compiler made cost time until they are replaced; the NOPs
 * of an object at low addresses may not be replaceable later (sites_late.c); and redirects cannot
 * be made later.
 */
static int patchable_urgent(struct object *o)
{
	struct callees c;

	return object_row(o)->lo <= INT32_MAX || (redirect_all() && redirect_is_wanted(o)) ||
	       (callees_maybe(o) && callees_find(&c, o));
}

/*
 * Whether it is libc without sites, as in Debian, which is in each process: it has no table of the
 * flag. Its table would be complete, as it is linked without --gc-sections. To look at each of its
 * functions would read most of its text, at each exec.
 */
static int is_plain_libc(const struct object *o)
{
	static const char *const names[] = {".text", "__patchable_function_entries",
					    "__mcount_loc"};

	return !libc_is_static && libc_owns((const void *)object_row(o)->lo) &&
	       elf_file_names(o, names, ARRAY_SIZE(names)) == 1;
}

static int patchable_scan(struct object *o)
{
	const uint32_t nr_refused = area->tables[AREA_REFUSED].count;
	struct scan s = {.o = o, .counting = 1};
	struct redirect *redirects = NULL;
	struct elf_file f;
	int err, calls, plain;
	uint32_t i;

	find_segments(&s);
	if (libc_is_static) {
		libc_own_text(&s.own_lo, &s.own_hi);
		s.own_lo -= object_row(o)->bias;
		s.own_hi -= object_row(o)->bias;
	}
	calls = callees_maybe(o) && callees_find(&s.callees, o);
	plain = !calls && is_plain_libc(o);
	if (plain && !redirect_is_wanted(o))
		return 0;
	err = elf_file_open(&f, o);
	if (err == -ENOMEM)
		return err;
	if (err)
		area_status("symbols not read", o->path, err);
	err = 0;
	if (!plain)
		note_all(&s, &f);
	object_row(o)->nr_starts = s.nr_starts;
	if (calls || s.nr_hits) {
		s.counting = 0;
		err = map_marks(&s);
		if (!err) {
			note_all(&s, &f);
			err = add_functions(&s);
			settle_lengths(o);
		}
	}
	for (i = 0; i < s.nr_segments; i++)
		if (s.segments[i].marks)
			sys_munmap(s.segments[i].marks, s.segments[i].bytes);
	if (!err && !object_row(o)->nr_functions && redirect_is_wanted(o)) {
		/* the reasons why its functions have no site are not needed then */
		area->tables[AREA_REFUSED].count = nr_refused;
		object_row(o)->nr_refused = 0;
		redirects = redirect_scan(o, &f, &err);
	}
	elf_file_close(&f);
	if (object_row(o)->nr_functions && sites_prepare(o, redirects) < 0)
		err = 0; /* the object's status says why */
	return err;
}

static void forget_text(struct object *o)
{
	probe_points_forget(o);
	sites_forget(o);
}

static const struct hook patchable_hook = {
	.name = "sites",
	.urgent = patchable_urgent,
	.scan = patchable_scan,
	.arm = sites_arm,
	.prepare = graph_prepare,
	.finish = graph_finish,
	.settle = graph_settle,
	.rest = sites_redirect_rest,
	.forget = forget_text,
};

static void start(const struct lifecycle_start *how)
{
	(void)how;
	callees_start();
	probe_points_register(&sites_windows);
	text_wrap_register(&graph_wrap_hook);
	hook_register(&patchable_hook);
}

LIFECYCLE(LIFECYCLE_HOOK, start, NULL, NULL);
