/* SPDX-License-Identifier: MIT */
/*
 * Functions that were built without a site get one on an island (redirect.h): before their object's
 * code runs, or while threads run in it (redirect_live.h). All functions of an object that become
 * wanted in one change are settled together, so threads stop once.
 *
 * Probes at instructions that a redirect moves are moved, too (text/probe_moved.c).
 *
 * A site that was made stays: while it is off it costs a jump there and back, until a detach
 * removes the jump (sites_redirect_rest()). Constructor and agent context, under the tree lock.
 * fork: the child has the same. Tests: tests/cli/test_unmodified.py, test_attach_functions.py.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/base/sort.h"
#include "engine/core/function.h"
#include "engine/core/text_patch.h"
#include "engine/hook/redirect_live.h"
#include "engine/hook/sites_impl.h"
#include "engine/hook/text/probe_points.h"

static uint64_t entry_of(const struct object *o, uint32_t i)
{
	const struct area_object *row = object_row(o);
	const struct area_function *f = area_function(row->first_function + i);

	return row->bias + f->offset + f->site;
}

static int is_redirected(const struct area_function *f)
{
	return f->flags & AREA_FUNCTION_REDIRECTED;
}

static struct text_window window_of(const struct object *o, uint32_t i)
{
	const struct sites *s = o->hook_data;
	const struct redirect *r = &s->redirects[i];

	return (struct text_window){
		.from = entry_of(o, i),
		.text = r->text,
		.bytes = r->bytes,
		.jump_bytes = redirect_jump_bytes(r),
		.is_moved = is_redirected(area_function(object_row(o)->first_function + i)),
		.o = o,
		.i = i,
	};
}

/* The index of the first function that begins behind @address. */
static uint32_t behind(const struct object *o, uint64_t address)
{
	const struct area_object *row = object_row(o);

	return LOWER_BOUND(i, 0, row->nr_functions,
			   row->bias + area_function(row->first_function + i)->offset <= address);
}

static int window_at(const struct object *o, uint64_t address, struct text_window *w)
{
	const struct sites *s = o->hook_data;
	uint32_t i = s && s->redirects ? behind(o, address) : 0;

	if (!i)
		return 0;
	*w = window_of(o, i - 1);
	return address - w->from < w->bytes;
}

static uint64_t copy_in(const struct text_window *w, uint64_t address)
{
	const struct sites *s = w->o->hook_data;

	return redirect_copy_of(&s->moved, w->i, address);
}

#define PAGE UINT64_C(4096)
#define PADDING_REACH                                                                              \
	160u /* reach of a short jump, and what is between it and the function's beginning */

static int claims(const struct object *o, uint64_t lo, uint64_t hi)
{
	const struct sites *s = o->hook_data;
	uint32_t i, end;

	if (!s || !s->redirects)
		return 0;
	end = behind(o, hi + PADDING_REACH);
	i = behind(o, lo - PADDING_REACH);
	for (i = i ? i - 1 : 0; i < end; i++) {
		const struct text_window w = window_of(o, i);
		uint64_t where = w.from + (uint64_t)(int64_t)s->redirects[i].padding;

		uint64_t bytes = w.bytes > w.jump_bytes ? w.bytes : w.jump_bytes;

		if (w.is_moved && ((w.from < hi && w.from + bytes > lo) ||
				   (where < hi && where + REDIRECT_MAX_WRITTEN > lo)))
			return 1;
	}
	return 0;
}

const struct text_windows sites_windows = {.at = window_at, .copy = copy_in, .claim = claims};

/* Pages that will be written, from the lowest address up. */
struct pages {
	uint64_t lo, hi;
};

static void back(struct pages *p)
{
	if (p->hi)
		text_back(p->lo, p->hi);
	p->hi = 0;
}

static void will_write(struct pages *p, uint64_t at, uint64_t bytes)
{
	uint64_t lo = at & ~(PAGE - 1), hi = (at + bytes + PAGE - 1) & ~(PAGE - 1);

	if (p->hi && lo >= p->lo && lo <= p->hi) {
		p->hi = hi > p->hi ? hi : p->hi;
		return;
	}
	back(p);
	*p = (struct pages){lo, hi};
}

/* The text of a function that changes: its entry, and the padding with its long jump. */
static void will_write_jump(struct pages *p, uint64_t from, int padding)
{
	uint32_t between = (uint32_t)(padding < 0 ? -padding : padding);

	will_write(p, padding < 0 ? from - between : from, between + REDIRECT_MAX_WRITTEN);
}

/* Back the islands of all functions that are due, with their rows and slots. */
static void back_islands(const struct object *o, const uint8_t *how)
{
	const struct sites *s = o->hook_data;
	struct pages islands = {0}, rows = {0}, slots = {0};
	uint32_t i;

	for (i = 0; i < object_row(o)->nr_functions; i++) {
		if (!sites_is_due(o, i, how))
			continue;
		will_write(&islands, (uint64_t)redirect_island(&s->moved, i),
			   REDIRECT_ISLAND_BYTES);
		will_write(&rows, redirect_row(&s->moved, i), REDIRECT_ROW_BYTES);
		will_write(&slots, (uint64_t)&s->slots[i], sizeof(*s->slots));
	}
	back(&islands);
	back(&rows);
	back(&slots);
}

void sites_redirect_back(const struct object *o, const uint8_t *how)
{
	const struct sites *s = o->hook_data;
	struct pages text = {0};
	uint32_t i;

	back_islands(o, how);
	for (i = 0; i < object_row(o)->nr_functions; i++)
		if (sites_is_due(o, i, how))
			will_write_jump(&text, entry_of(o, i), s->redirects[i].padding);
	back(&text);
}

static void back_windows(const struct redirect_window *windows, uint32_t nr)
{
	struct pages text = {0};
	uint32_t i;

	for (i = 0; i < nr; i++)
		will_write_jump(&text, windows[i].from, windows[i].padding);
	back(&text);
}

/* Whether the function's first instructions are as in the file, except for probes. */
static int is_as_found(const struct object *o, uint32_t i)
{
	const struct text_window w = window_of(o, i);
	uint8_t now[REDIRECT_MAX_MOVED];

	if (!memcmp((const void *)w.from, w.text, w.bytes))
		return 1;
	probe_points_read(w.from, w.from + w.bytes, now, w.bytes);
	return !memcmp(now, w.text, w.bytes);
}

/* Make the island with its site, which is off. Return: whether it was possible. */
static int make_island(struct object *o, uint32_t i)
{
	const struct area_function *f = area_function(object_row(o)->first_function + i);
	struct sites *s = o->hook_data;
	struct site site = sites_site_of(o, i);
	struct forms forms;
	int err = is_as_found(o, i) ? redirect_make(&s->moved, i, &s->redirects[i], entry_of(o, i))
				    : -EBUSY;

	if (err)
		return sites_refuse(o, i,
				    err == -ERANGE ? AREA_REFUSED_RANGE : AREA_REFUSED_CHANGED);
	sites_fill(o, i, &site);
	sites_make_forms(s, i, &site, f, &forms);
	memcpy(text_at(site.at), forms.off, site.bytes);
	return 1;
}

static void note_redirected(const struct object *o, uint32_t i)
{
	area_function(object_row(o)->first_function + i)->flags |= AREA_FUNCTION_REDIRECTED;
}

int sites_redirect_quiet(struct object *o, uint32_t i)
{
	const struct sites *s = o->hook_data;

	if (!make_island(o, i))
		return 0;
	redirect_write(&s->moved, i, &s->redirects[i], entry_of(o, i));
	note_redirected(o, i);
	return 1;
}

/* Whether the jump of a probe before it relies on bytes that the redirect changes. */
static int is_relied_on(const struct object *o, uint32_t i)
{
	const struct sites *s = o->hook_data;
	uint64_t from = entry_of(o, i), where = from + (uint64_t)(int64_t)s->redirects[i].padding;

	return probe_moved_relied(from, from + s->redirects[i].bytes) ||
	       probe_moved_any(from + s->redirects[i].bytes, from + REDIRECT_MAX_WRITTEN) ||
	       (where != from && (probe_moved_any(where, where + REDIRECT_MAX_WRITTEN) ||
				  probe_moved_relied(where, where + REDIRECT_MAX_WRITTEN)));
}

/*
 * Prepare a function. A site that exists already is kept as it is: a thread may be on it. Return:
 * whether the island is ready.
 */
static int prepare_one(struct object *o, uint32_t i)
{
	const struct sites *s = o->hook_data;

	if (is_relied_on(o, i))
		return sites_refuse(o, i, AREA_REFUSED_CHANGED);
	if (is_settled(s, i))
		return is_as_found(o, i) || sites_refuse(o, i, AREA_REFUSED_CHANGED);
	return make_island(o, i);
}

/*
 * Make the windows while the memory of islands is writable, which it must not be when probes change
 * it.
 */
static uint32_t make_windows(struct object *o, uint8_t *how, struct redirect_window *windows)
{
	const struct area_object *row = object_row(o);
	const struct sites *s = o->hook_data;
	uint32_t i, nr = 0;

	for (i = 0; i < row->nr_functions; i++) {
		uint64_t from = entry_of(o, i);

		if (!sites_is_due(o, i, how))
			continue;
		if (!prepare_one(o, i)) {
			if (how)
				how[i] = 0;
			continue;
		}
		windows[nr++] = (struct redirect_window){
			.from = from,
			.island = (uint64_t)redirect_island(&s->moved, i),
			.i = i,
			.padding = s->redirects[i].padding,
			.bytes = s->redirects[i].bytes,
			.text = s->redirects[i].text,
		};
	}
	return nr;
}

/* The jumps of probes' islands that change with the windows. */
struct leads {
	struct redirect_lead *rows;
	uint32_t nr, room, window;
};

static void add_lead(uint64_t jump, uint64_t to, void *arg)
{
	struct leads *l = arg;

	if (l->nr < l->room)
		l->rows[l->nr] = (struct redirect_lead){jump, to, l->window};
	l->nr++;
}

static void count_leads(const struct object *o, const struct redirect_window *windows, uint32_t nr,
			struct leads *l)
{
	l->nr = 0;
	for (l->window = 0; l->window < nr; l->window++) {
		const struct text_window w = window_of(o, windows[l->window].i);

		probe_moved_leads(&w, add_lead, l);
	}
}

static void open_leads(const struct leads *l, int on)
{
	uint32_t i;

	for (i = 0; i < l->nr; i++) {
		uint64_t lo = l->rows[i].jump & ~UINT64_C(4095);
		uint64_t hi = (l->rows[i].jump + REDIRECT_MAX_WRITTEN + 4095) & ~UINT64_C(4095);

		if (on)
			text_open(lo, hi);
		else
			text_close(lo, hi);
	}
}

/* Return: 0, to be undone by free_leads(); -ENOMEM. */
static int make_leads(const struct object *o, const struct redirect_window *windows, uint32_t nr,
		      struct leads *l)
{
	count_leads(o, windows, nr, l);
	if (!l->nr)
		return 0;
	l->room = l->nr;
	l->rows = sys_map_table(l->room * sizeof(*l->rows));
	if (!l->rows)
		return -ENOMEM;
	count_leads(o, windows, nr, l);
	open_leads(l, 1);
	return 0;
}

static void free_leads(struct leads *l)
{
	if (!l->rows)
		return;
	open_leads(l, 0);
	sys_munmap(l->rows, l->room * sizeof(*l->rows));
}

static void ignore_lead(uint64_t jump, uint64_t to, void *arg)
{
	(void)jump;
	(void)to;
	(void)arg;
}

/* Move the probes at the windows' instructions. Return: the number of windows that are left. */
static uint32_t take_probes(struct object *o, uint8_t *how, struct redirect_window *windows,
			    uint32_t nr)
{
	uint32_t i, left = 0;

	for (i = 0; i < nr; i++) {
		const struct text_window w = window_of(o, windows[i].i);

		if (probe_moved_leads(&w, ignore_lead, NULL) || probe_moved_ready(&w)) {
			sites_refuse(o, w.i, AREA_REFUSED_CHANGED);
			if (how)
				how[w.i] = 0;
			continue;
		}
		windows[left++] = windows[i];
	}
	return left;
}

/*
 * Make windows to restore the text where sites are off. Bytes that another tool has written there
 * stay.
 */
static uint32_t make_windows_back(struct object *o, struct redirect_window *windows)
{
	const struct area_object *row = object_row(o);
	const struct sites *s = o->hook_data;
	uint32_t i, nr = 0;

	for (i = 0; i < row->nr_functions; i++) {
		const struct area_function *f = area_function(row->first_function + i);
		const struct redirect *r = &s->redirects[i];
		uint64_t from = entry_of(o, i), where = from + (uint64_t)(int64_t)r->padding;
		uint64_t island = (uint64_t)redirect_island(&s->moved, i);
		uint8_t jump[REDIRECT_MAX_WRITTEN];
		uint32_t n;

		if (!is_redirected(f) || f->enabled || probe_moved_on(from, from + r->bytes))
			continue;
		n = r->padding ? redirect_short_jump_make(from, where, jump)
			       : redirect_jump_make(from, island, jump);
		if (memcmp((const void *)from, jump, n))
			continue;
		windows[nr++] = (struct redirect_window){
			.from = from,
			.island = island,
			.i = i,
			.padding = r->padding,
			.bytes = r->bytes,
			.to_go_back = 1,
			.text = r->text,
		};
	}
	return nr;
}

int sites_redirect_rest(struct object *o)
{
	const struct area_object *row = object_row(o);
	size_t bytes = (size_t)row->nr_functions * sizeof(struct redirect_window);
	const struct sites *s = o->hook_data;
	struct redirect_window *windows;
	uint32_t i, nr;
	int err, tid, left = 0;

	if (!s || !s->redirects)
		return 0;
	windows = sys_map_table(bytes);
	if (!windows)
		return -ENOMEM;
	nr = make_windows_back(o, windows);
	err = nr ? text_open(s->text_lo, s->text_hi) : 0;
	if (nr && !err) {
		redirect_write_live(windows, nr, NULL, 0, &tid);
		for (i = 0; i < nr; i++) {
			if (windows[i].written)
				area_function(row->first_function + windows[i].i)->flags &=
					(uint8_t)~AREA_FUNCTION_REDIRECTED;
			else
				left++;
		}
		text_close(s->text_lo, s->text_hi);
		err = text_sync();
	}
	sys_munmap(windows, bytes);
	return err ? err : left;
}

/* Report why threads could not be stopped. */
static void report(const struct object *o, int err, int tid)
{
	char text[96];
	struct seq_buf s;

	if (err == -EPERM) {
		area_status("functions that need all threads to stop are left out: ptrace() of the "
			    "process by itself is refused (a debugger, Yama)",
			    o->path, 0);
		return;
	}
	if (err == -EACCES) {
		area_status("functions that need all threads to stop are left out: the process has "
			    "a seccomp filter",
			    o->path, 0);
		return;
	}
	seq_init(&s, text, sizeof(text) - 1);
	seq_puts(&s, "functions that need all threads to stop are left out: thread ");
	seq_putu(&s, (uint64_t)tid);
	seq_puts(&s, " did not");
	text[s.len] = 0;
	area_status(tid ? text : "functions that need all threads to stop are left out", o->path,
		    tid ? 0 : err);
}

int sites_redirect_live(struct object *o, uint8_t *how)
{
	const struct area_object *row = object_row(o);
	size_t bytes = (size_t)row->nr_functions * sizeof(struct redirect_window);
	struct redirect_window *windows = sys_map_table(bytes);
	struct sites *s = o->hook_data;
	uint32_t i, nr;
	struct leads leads = {0};
	int err, tid, late = 0;

	if (!windows)
		return -ENOMEM;
	err = text_open(s->lo, s->hi);
	if (!err)
		back_islands(o, how);
	nr = err ? 0 : make_windows(o, how, windows);
	text_close(s->lo, s->hi);
	nr = take_probes(o, how, windows, nr);
	if (!err)
		err = text_open(s->text_lo, s->text_hi);
	if (!err && nr)
		err = make_leads(o, windows, nr, &leads);
	if (!err)
		back_windows(windows, nr);
	if (!err && nr)
		late = redirect_write_live(windows, nr, leads.rows, leads.nr, &tid);
	free_leads(&leads);
	for (i = 0; i < nr; i++) {
		const struct text_window w = window_of(o, windows[i].i);

		probe_moved_done(&w, windows[i].written);
		if (windows[i].written) {
			bitmap_set(s->settled, w.i);
			note_redirected(o, w.i);
			continue;
		}
		sites_refuse(o, w.i, AREA_REFUSED_RUNNING);
		if (how)
			how[w.i] = 0;
	}
	if (late)
		report(o, late, tid);
	text_close(s->text_lo, s->text_hi);
	sys_munmap(windows, bytes);
	return err ? err : text_sync();
}
