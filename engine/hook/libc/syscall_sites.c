/* SPDX-License-Identifier: MIT */
/*
 * See syscall_sites.h. When a system call is first wanted, the text of libc and of the loader is
 * searched, function by function as in .eh_frame. Each site gets an island near the text, which
 * stays mapped. A site is switched on if a call with its number is wanted, or, if its number is not
 * known in advance, any call. A thread may be in an island as long as its call takes, so islands
 * stay, and so do the relays in the padding. While nothing is wanted, all other text is unchanged.
 *
 * Under the tree lock. fork: the child's text is patched as its parent's; its islands are a copy.
 * Objects that are loaded later are not searched. Costs: bench "syscalls". Tests:
 * tests/engine/events/syscalls.
 */
#include "engine/hook/libc/syscall_sites.h"

#include <errno.h>

#include "arch_patch.h"
#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/process/heap.h"
#include "engine/process/libc.h"
#include "engine/process/object.h"
#include "engine/core/syscalls.h"
#include "engine/core/text_patch.h"
#include "engine/hook/text/island_cfi.h"
#include "engine/hook/text/near_map.h"

struct text {
	struct syscall_site *sites;
	uint32_t nr_sites;
};

#define MAX_TEXTS 8u
static struct text texts[MAX_TEXTS];
static uint32_t nr_texts;
static int searched;

struct function {
	uint8_t *lo, *hi;
	/*
	 * the return from a signal handler: its row begins inside an instruction; it is never
	 * patched
	 */
	int is_signal_return;
};

/* The state of the search through one object. */
struct search {
	const struct object *o;
	struct function *functions;
	uint32_t nr_functions;
	uint8_t *text;
	uint64_t bytes;
	struct syscall_site *sites;
	struct syscall_pad *pads;
	uint32_t nr_sites, sites_room, nr_pads, pads_room;
	int no_memory;
	char refused[320]; /* offsets of sites that cannot be patched */
	struct seq_buf refused_text;
};

/* Whether the object is libc: itself, its loader, or a library that was once part of it. */
static int is_libc(const struct object *o)
{
	static const char *const names[] = {"libc.so", "libc-", "ld-linux", "ld-2", "libpthread"};
	uint32_t i;

	if (libc_is_static)
		return !o->index;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (str_starts(o->name, names[i]))
			return 1;
	return 0;
}

static uint8_t *in_text(const struct search *s, const uint8_t *p, uint64_t bytes)
{
	uint64_t at = (uint64_t)(p - s->text);

	return at < s->bytes && bytes <= s->bytes - at ? s->text + at : NULL;
}

/* Whether the CIE's augmentation, behind length, id and version, has an `S`. */
static int is_signal_frame(const uint8_t *cie)
{
	const uint8_t *p;

	for (p = cie + 9; *p; p++)
		if (*p == 'S')
			return 1;
	return 0;
}

/*
 * Find the functions by the sorted table of .eh_frame_hdr: 32-bit offsets of each start and its
 * FDE, whose own words are length, CIE, start (relative to itself) and range.
 */
static int find_functions(struct search *s)
{
	uint64_t own_lo = 0, own_hi = 0, bytes;
	const uint8_t *hdr = object_eh_header(s->o, &bytes);
	uint32_t i, count;

	if (!hdr || bytes < 12 || hdr[0] != 1 || hdr[1] != 0x1b || hdr[2] != 0x03 || hdr[3] != 0x3b)
		return -ENOEXEC;
	memcpy(&count, hdr + 8, 4);
	s->functions = heap_alloc(((size_t)count + 1) * sizeof(*s->functions));
	if (!s->functions)
		return -ENOMEM;
	if (libc_is_static)
		libc_own_text(&own_lo, &own_hi);
	for (i = 0; i < count; i++) {
		int32_t start, fde, relative;
		uint32_t range, cie;
		uint8_t *lo;

		memcpy(&start, hdr + 12 + (uint64_t)i * 8, 4);
		memcpy(&fde, hdr + 16 + (uint64_t)i * 8, 4);
		memcpy(&cie, hdr + fde + 4, 4);
		memcpy(&relative, hdr + fde + 8, 4);
		memcpy(&range, hdr + fde + 12, 4);
		lo = in_text(s, hdr + start, range);
		if (!lo || hdr + fde + 8 + relative != lo ||
		    (uint64_t)lo - own_lo < own_hi - own_lo)
			continue;
		s->functions[s->nr_functions++] =
			(struct function){lo, lo + range, is_signal_frame(hdr + fde + 4 - cie)};
	}
	return 0;
}

static int is_padding(const uint8_t *p, const uint8_t *end)
{
	while (p < end) {
		uint32_t n = *p == 0xcc ? 1 : arch_nop_length(p, (uint64_t)(end - p));

		if (!n)
			return 0;
		p += n;
	}
	return 1;
}

static void add_site(void *arg, const struct syscall_site *site)
{
	struct search *s = arg;
	struct syscall_site *sites =
		heap_grow(s->sites, s->nr_sites, &s->sites_room, sizeof(*sites));

	if (!sites) {
		s->no_memory = 1;
		return;
	}
	s->sites = sites;
	sites[s->nr_sites++] = *site;
}

static void add_pad(void *arg, uint8_t *lo, uint8_t *hi)
{
	struct search *s = arg;
	struct syscall_pad *pads = heap_grow(s->pads, s->nr_pads, &s->pads_room, sizeof(*pads));

	if (!pads) {
		s->no_memory = 1;
		return;
	}
	s->pads = pads;
	pads[s->nr_pads++] = (struct syscall_pad){lo, hi};
}

static void scan(struct search *s, uint8_t *lo, uint8_t *hi)
{
	static const struct syscall_found found = {add_site, add_pad};
	uint8_t *is_target;

	if (!syscall_may_be_in(lo, hi))
		return;
	is_target = heap_alloc((size_t)(hi - lo));
	if (!is_target)
		s->no_memory = 1;
	else
		syscall_scan(lo, hi, is_target, &found, s);
	heap_free(is_target);
}

/*
 * Search between two functions: padding that no code runs into, or code without rows, as clone()
 * from its system call on.
 */
static void scan_gap(struct search *s, uint8_t *lo, uint8_t *hi)
{
	if (hi - lo >= 4096)
		return;
	if (!is_padding(lo, hi))
		scan(s, lo, hi);
	else if (lo + ARCH_JUMP_BYTES <= hi)
		add_pad(s, lo, hi);
}

static int find_sites(struct search *s)
{
	uint32_t i, first = 0;

	for (i = 0; i < s->nr_functions; i++) {
		uint8_t *end = s->functions[i].hi;

		if (!s->functions[i].is_signal_return)
			scan(s, s->functions[i].lo, end);
		if (i + 1 < s->nr_functions)
			scan_gap(s, end, s->functions[i + 1].lo);
	}
	for (i = 0; i < s->nr_sites; i++) {
		/* beyond the reach of all later sites */
		while (first < s->nr_pads && s->pads[first].hi + 256 < s->sites[i].call)
			first++;
		s->sites[i].relay =
			syscall_take_pad(s->pads + first, s->nr_pads - first, &s->sites[i]);
	}
	return s->no_memory ? -ENOMEM : 0;
}

static void refuse(struct search *s, const uint8_t *call)
{
	seq_putc(&s->refused_text, ' ');
	seq_putx(&s->refused_text, (uint64_t)call - object_row(s->o)->bias);
}

/*
 * Make the islands. The two pointers come first, in the room of one island; the unwind rules are
 * behind the last one.
 */
static int make_islands(struct search *s, uint64_t lo, uint64_t hi)
{
	size_t bytes = (size_t)syscall_island_bytes * (s->nr_sites + 1);
	uint8_t *islands = near_map(lo, hi, bytes + ISLAND_ROWS_BYTES);
	uint64_t *hooks = (uint64_t *)islands;
	uint32_t i, nr = 0;

	if (!islands)
		return -ENOMEM;
	hooks[0] = (uint64_t)hook_syscall;
	hooks[1] = (uint64_t)hook_syscall_tail;
	for (i = 0; i < s->nr_sites; i++) {
		struct syscall_site site = s->sites[i];

		if (!syscall_lead(&site, islands + (size_t)syscall_island_bytes * (nr + 1), hooks))
			s->sites[nr++] = site;
		else
			refuse(s, site.call);
	}
	s->nr_sites = nr;
	island_cfi_make(islands, bytes, syscall_island_rules, syscall_island_rules_bytes);
	return text_seal(islands, bytes + ISLAND_ROWS_BYTES);
}

static int search_object(struct search *s)
{
	uint64_t lo = (uint64_t)s->text & ~UINT64_C(4095);
	uint64_t hi = ((uint64_t)s->text + s->bytes + 4095) & ~UINT64_C(4095);
	int err = find_functions(s);

	if (!err)
		err = find_sites(s);
	if (!err && s->nr_sites) {
		err = text_open(lo, hi);
		if (!err) {
			err = make_islands(s, lo, hi);
			text_close(lo, hi);
		}
	}
	heap_free(s->functions);
	heap_free(s->pads);
	if (err || !s->nr_sites) {
		heap_free(s->sites);
		return err;
	}
	texts[nr_texts++] = (struct text){s->sites, s->nr_sites};
	return 0;
}

static void report_refused(struct search *s)
{
	char text[sizeof(s->refused) + 64];
	struct seq_buf line;

	s->refused[s->refused_text.len] = 0;
	seq_init(&line, text, sizeof(text) - 1);
	seq_puts(&line, s->o->name);
	seq_puts(&line, " at");
	seq_puts(&line, s->refused);
	text[line.len] = 0;
	area_status("system calls that are not seen", text, 0);
}

static void search_all(void)
{
	uint32_t i, k;

	searched = 1;
	for (i = 0; i < object_count(); i++) {
		const struct object *o = object_at(i);

		if (!o->loaded || !is_libc(o))
			continue;
		for (k = 0; k < o->nr_phdr && nr_texts < MAX_TEXTS; k++) {
			const ElfW(Phdr) *ph = &o->phdr[k];
			struct search s = {.o = o};
			int err;

			if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
				continue;
			seq_init(&s.refused_text, s.refused, sizeof(s.refused) - 1);
			s.text = (uint8_t *)(object_row(o)->bias + ph->p_vaddr);
			s.bytes = ph->p_memsz;
			err = search_object(&s);
			if (err)
				area_status("no system calls are seen of", o->name, err);
			else if (s.refused_text.len)
				report_refused(&s);
		}
	}
}

static int is_wanted(const struct syscall_site *site, const uint64_t *wanted)
{
	uint32_t i;

	if (site->nr >= 0)
		return site->nr < (int)SYSCALLS_MAX && bitmap_has(wanted, site->nr);
	for (i = 0; i < SYSCALLS_MAX / 64; i++)
		if (wanted[i])
			return 1;
	return 0;
}

/* Switch a site. If other bytes are there, such as a debugger's breakpoint, they are left alone. */
static void switch_site(struct syscall_site *site, int on)
{
	if (memcmp(site->at, on ? site->code_off : site->code_on, site->bytes))
		return;
	text_store(site->at, on ? site->code_on : site->code_off, site->bytes);
	site->on = (uint8_t)on;
}

static int update_text(struct text *t, const uint64_t *wanted)
{
	uint64_t lo = UINT64_MAX, hi = 0;
	uint32_t i;
	int err;

	for (i = 0; i < t->nr_sites; i++) {
		const struct syscall_site *site = &t->sites[i];
		uint64_t at = (uint64_t)site->at, end = at + site->bytes;

		if (site->on == is_wanted(site, wanted))
			continue;
		lo = at < lo ? at : lo;
		hi = end > hi ? end : hi;
	}
	if (!hi)
		return 0;
	/*
	 * only the pages that change: each event comes here, and text may have to be copied
	 * (text_view.h)
	 */
	lo &= ~UINT64_C(4095);
	hi = (hi + 4095) & ~UINT64_C(4095);
	err = text_open(lo, hi);
	if (err)
		return err;
	for (i = 0; i < t->nr_sites; i++)
		if (t->sites[i].on != is_wanted(&t->sites[i], wanted))
			switch_site(&t->sites[i], !t->sites[i].on);
	text_close(lo, hi);
	return text_sync();
}

static int update(const uint64_t *wanted)
{
	uint32_t i;
	int err = 0, one;

	if (!searched)
		search_all();
	if (!nr_texts)
		return -ENODEV;
	for (i = 0; i < nr_texts; i++) {
		one = update_text(&texts[i], wanted);
		if (one)
			err = one;
	}
	return err;
}

static const struct syscalls_hook hook = {.update = update};

/* System calls are searched when they are first wanted. */
static void start(const struct lifecycle_start *how)
{
	(void)how;
	syscalls_register_hook(&hook);
}

LIFECYCLE(LIFECYCLE_HOOK, start, NULL, NULL);
