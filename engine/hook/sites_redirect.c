/* SPDX-License-Identifier: MIT */
/*
 * Functions that were built without a site get one on an island (redirect.h): before their object's
 * code runs, or while threads run in it (redirect_live.h). All functions of an object that are
 * wanted in one change are settled together, so threads stop once.
 *
 * A site that has been made stays: off, it costs a jump there and back, until the engine is put to
 * sleep and the jump goes (sites_redirect_rest()). Constructor and agent context, under the tree's
 * lock. fork: the child has the same. Tests: tests/cli/test_unmodified.py, test_attach_functions.py.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/core/function.h"
#include "engine/core/text_patch.h"
#include "engine/hook/redirect_live.h"
#include "engine/hook/sites_impl.h"
#include "engine/hook/text/text_island.h"

static uint64_t entry_of(const struct object *o, uint32_t i)
{
	const struct area_object *row = object_row(o);
	const struct area_function *f = area_function(row->first_function + i);

	return row->bias + f->offset + f->site;
}

/* The island with its site, which is off. Return: whether it could be made. */
static int make_island(struct object *o, uint32_t i)
{
	const struct area_function *f = area_function(object_row(o)->first_function + i);
	struct sites *s = o->hook_data;
	struct site site = sites_site_of(o, i);
	struct forms forms;
	int err = redirect_make(&s->moved, i, &s->redirects[i], entry_of(o, i));

	if (err)
		return sites_refuse(o, i,
				    err == -ERANGE ? AREA_REFUSED_RANGE : AREA_REFUSED_CHANGED);
	sites_fill(o, i, &site);
	sites_make_forms(s, i, &site, f, &forms);
	memcpy(site.at, forms.off, site.bytes);
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

static uint32_t make_windows(struct object *o, uint8_t *how, struct redirect_window *windows)
{
	const struct area_object *row = object_row(o);
	const struct sites *s = o->hook_data;
	uint32_t i, nr = 0;

	for (i = 0; i < row->nr_functions; i++) {
		uint64_t from = entry_of(o, i);

		if (!sites_is_due(o, i, how))
			continue;
		/*
		 * A thread on the island of a probe there goes back among them. A site that was there
		 * before is as it was: a thread may be on it.
		 */
		if (probe_points_any(from, from + s->redirects[i].bytes)
			    ? !sites_refuse(o, i, AREA_REFUSED_CHANGED)
			    : !is_settled(s, i) && !make_island(o, i)) {
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
		};
	}
	return nr;
}

static int is_redirected(const struct area_function *f)
{
	return f->flags & AREA_FUNCTION_REDIRECTED;
}

/* Jumps whose sites are off. What somebody else has written there stays. */
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

		if (!is_redirected(f) || f->enabled)
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
			.back = r->text,
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
		redirect_write_live(windows, nr, &tid);
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

/* The reason why threads could not be stopped. */
static void tell(const struct object *o, int err, int tid)
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
	int err, tid, late = 0;

	if (!windows)
		return -ENOMEM;
	err = text_open(s->lo, s->hi);
	if (!err)
		err = text_open(s->text_lo, s->text_hi);
	if (!err) {
		nr = make_windows(o, how, windows);
		late = nr ? redirect_write_live(windows, nr, &tid) : 0;
		if (late)
			tell(o, late, tid);
		for (i = 0; i < nr; i++) {
			if (windows[i].written) {
				bitmap_set(s->settled, windows[i].i);
				note_redirected(o, windows[i].i);
				continue;
			}
			sites_refuse(o, windows[i].i, AREA_REFUSED_RUNNING);
			if (how)
				how[windows[i].i] = 0;
		}
	}
	text_close(s->text_lo, s->text_hi);
	text_close(s->lo, s->hi);
	sys_munmap(windows, bytes);
	return err ? err : text_sync();
}
