/* SPDX-License-Identifier: MIT */
/*
 * See hist_file.h. All data comes from the areas. A live process is asked only whether it has an
 * event that is not in its area. Tests: tests/engine/events/hist, tests/tracefs/test_sessions.py.
 */
#include "tools/target/hist_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/analysis/histogram_sum.h"
#include "tools/area/area.h"
#include "tools/area/object_space.h"
#include "tools/base/fail.h"
#include "tools/text/histogram_text.h"

struct member {
	bool alive;
	struct meta *meta;
	struct histograms hists;
	int *numbers; /* of its objects in the address space of a trace.dat */
};

struct gathering {
	struct member *members;
	unsigned int nr;
	struct object_space *space;
	struct symbols *symbols;
};

/* Get SYSTEM and NAME from the path. Return: whether it is the path of a hist file. */
static bool split(const char *file, char system[256], char name[256])
{
	char end[8];
	int n = 0;

	return sscanf(file, "events/%255[^/]/%255[^/]/%7s%n", system, name, end, &n) == 3 &&
	       !strcmp(end, "hist") && !file[n];
}

bool hist_file_is(const char *file)
{
	char system[256], name[256];

	return split(file, system, name);
}

static int load(const struct image *t, const char *system, const char *name, struct member *mb)
{
	uint64_t bytes;
	int fd = area_open(t->dir.fd, t->name, O_RDONLY, &bytes), err;

	if (fd < 0)
		return fd;
	err = meta_load(fd, 0, bytes, t->path, &mb->meta);
	if (!err)
		err = histograms_load(fd, mb->meta, bytes, system, name, t->path, &mb->hists);
	close(fd);
	return err;
}

bool hist_file_has_since(const struct image *t, const char *trigger, uint64_t since_ns)
{
	char system[256], name[256], end[9];
	struct member mb = {0};
	bool found = false;

	if (sscanf(trigger, "events/%255[^/]/%255[^/]/%8s", system, name, end) != 3 ||
	    strcmp(end, "trigger") != 0)
		return false;
	if (!load(t, system, name, &mb))
		for (uint32_t i = 0; i < mb.hists.nr; i++)
			found |= mb.hists.at[i].since_ns >= since_ns;
	histograms_free(&mb.hists);
	meta_free(mb.meta);
	return found;
}

/* Ask the process whether it has the event: an event that was not used yet is not in the area. */
static int ask(struct image *t, const char *file)
{
	char *text;
	int err;

	if (!t->alive || image_stopped(t->pid))
		return fail_errno(ENOENT, "%s", file);
	err = image_read(t, file, &text, NULL);
	if (!err)
		free(text);
	return err == -EOPNOTSUPP ? 0 : err;
}

static int make_space(struct gathering *g)
{
	int err = 0;

	g->space = object_space_new();
	g->symbols = symbols_new();
	if (!g->space || !g->symbols)
		return fail(ENOMEM, "out of memory for symbols");
	for (unsigned int i = 0; i < g->nr; i++) {
		struct member *mb = &g->members[i];

		mb->numbers = calloc(mb->meta->nr_objects + 1u, sizeof(*mb->numbers));
		if (!mb->numbers)
			return fail(ENOMEM, "out of memory for symbols");
		for (uint32_t n = 0; n < mb->meta->nr_objects; n++) {
			mb->numbers[n] = object_space_add(g->space, mb->meta, n);
			if (mb->numbers[n] < 0)
				return mb->numbers[n];
		}
	}
	err = object_space_assign(g->space);
	return err ? err : object_space_load(g->space, g->symbols, NULL);
}

/* The shared address for a run-time address of a process; 0: it is in none of its objects. */
static uint64_t place_of(const struct gathering *g, const struct member *mb, uint64_t addr)
{
	const struct meta *m = mb->meta;

	for (uint32_t i = m->nr_objects; i--;)
		if (addr >= m->objects[i].lo && addr < m->objects[i].hi)
			return object_space_addr(object_space_base(g->space, mb->numbers[i]),
						 addr - m->objects[i].bias);
	return 0;
}

static void translate_word(const struct gathering *g, const struct member *mb, uint8_t *at)
{
	uint64_t addr, place;

	memcpy(&addr, at, sizeof(addr));
	place = addr ? place_of(g, mb, addr) : 0;
	if (place)
		memcpy(at, &place, sizeof(place));
}

/* Addresses that are shown by name become those that all processes share. */
static void translate(const struct gathering *g, const struct member *mb, struct histogram *h)
{
	for (uint32_t i = 0; i < h->nr_fields; i++) {
		const struct area_hist_field *f = &h->fields[i];
		uint32_t words = f->type == AREA_HIST_STACK ? f->bytes / 8 : 1;

		if (f->type != AREA_HIST_STACK && f->modifier != AREA_HIST_SYM &&
		    f->modifier != AREA_HIST_SYM_OFFSET)
			continue;
		for (uint32_t r = 0; r < h->nr_rows && f->type != AREA_HIST_STRING; r++)
			for (uint32_t w = 0; w < words; w++)
				translate_word(g, mb,
					       h->rows + (size_t)r * h->row_bytes + f->at + w * 8);
	}
}

static int name_symbol(void *arg, uint64_t addr, bool offset, char *buf, size_t bytes)
{
	const struct gathering *g = arg;
	const struct symbol *s, *last;
	uint64_t place = g->nr == 1 ? place_of(g, &g->members[0], addr) : addr;
	char where[48] = "";

	s = place ? symbols_find(g->symbols, place) : NULL;
	if (!s)
		return 0;
	last = symbols_at(g->symbols, symbols_count(g->symbols) - 1);
	if (offset)
		snprintf(where, sizeof(where), "+0x%" PRIx64 "/0x%" PRIx64, place - s->addr,
			 s < last ? s[1].addr - s->addr : UINT64_C(4096));
	if (s->module)
		return snprintf(buf, bytes, "%s%s [%s]", s->name, where, s->module);
	return snprintf(buf, bytes, "%s%s", s->name, where);
}

/*
 * Whether a dead process's histogram still counts for its family: no living member has cleared or
 * removed the histogram since that process began to count.
 */
static bool still_counts(const struct gathering *g, const struct histogram *h)
{
	bool any = false, older = false;

	for (unsigned int i = 0; i < g->nr; i++) {
		const struct histograms *hs = &g->members[i].hists;

		any |= g->members[i].alive;
		for (uint32_t n = 0; n < hs->nr && g->members[i].alive; n++)
			older |= histogram_same(&hs->at[n], h) && hs->at[n].since_ns <= h->since_ns;
	}
	return older || !any;
}

static void drop_what_is_over(struct gathering *g)
{
	for (unsigned int i = 0; i < g->nr; i++) {
		struct histograms *hs = &g->members[i].hists;

		for (uint32_t n = 0; n < hs->nr && !g->members[i].alive;)
			if (still_counts(g, &hs->at[n]))
				n++;
			else
				histograms_drop(hs, n);
	}
}

static int add_member(struct member *mb, struct histograms *sum)
{
	struct histograms *hs = &mb->hists;

	for (uint32_t n = 0; n < hs->nr; n++) {
		uint32_t at = 0;
		int err;

		while (at < sum->nr && !histogram_same(&sum->at[at], &hs->at[n]))
			at++;
		if (at < sum->nr) {
			err = histogram_add(&sum->at[at], &hs->at[n]);
			if (err)
				return err;
		} else {
			sum->at[sum->nr++] = hs->at[n];
			hs->at[n] = (struct histogram){0};
		}
	}
	return 0;
}

/*
 * Add all other processes' counts to the first one that has the histogram; live processes first, as
 * their histograms are current.
 */
static int add_up(struct gathering *g, struct histograms *sum)
{
	int err = 0;

	for (int dead = 0; dead < 2; dead++)
		for (unsigned int i = 0; i < g->nr && !err; i++)
			if (g->members[i].alive == !dead)
				err = add_member(&g->members[i], sum);
	return err;
}

static int print(struct gathering *g, struct out *o)
{
	const struct histogram_names names = {name_symbol, g};
	struct histograms sum = {0};
	bool addresses = false;
	uint32_t nr = 0;
	int err = 0;

	drop_what_is_over(g);
	for (unsigned int i = 0; i < g->nr; i++) {
		nr += g->members[i].hists.nr;
		for (uint32_t n = 0; n < g->members[i].hists.nr; n++)
			addresses |= histogram_has_addresses(&g->members[i].hists.at[n]);
	}
	if (addresses)
		err = make_space(g);
	for (unsigned int i = 0; i < g->nr && addresses && g->nr > 1 && !err; i++)
		for (uint32_t n = 0; n < g->members[i].hists.nr; n++)
			translate(g, &g->members[i], &g->members[i].hists.at[n]);
	sum.at = calloc(nr + 1u, sizeof(*sum.at));
	if (!err)
		err = sum.at ? add_up(g, &sum) : fail(ENOMEM, "out of memory for histograms");
	for (uint32_t i = 0; i < sum.nr && !err; i++) {
		if (i)
			out_text(o, "\n\n");
		histogram_sort(&sum.at[i]);
		histogram_print(&sum.at[i], addresses ? &names : NULL, o);
	}
	if (sum.at)
		histograms_free(&sum);
	return err;
}

int hist_file_print(struct image *const *targets, unsigned int nr, const char *file, struct out *o)
{
	struct gathering g = {.members = calloc(nr + 1u, sizeof(*g.members))};
	char system[256], name[256];
	bool known = false;
	int err = 0, unknown = -ENOENT;

	if (!g.members)
		return fail(ENOMEM, "out of memory for histograms");
	if (!split(file, system, name))
		err = fail_errno(ENOENT, "%s", file);
	for (unsigned int i = 0; i < nr && !err; i++) {
		struct member mb = {.alive = targets[i]->alive};

		image_drain(targets[i]);
		err = load(targets[i], system, name, &mb);
		if (!err) {
			g.members[g.nr++] = mb;
			known = true;
			continue;
		}
		histograms_free(&mb.hists);
		meta_free(mb.meta);
		if (err == -ENOENT) {
			unknown = known ? 0 : ask(targets[i], file);
			known |= !unknown;
			err = 0;
		}
	}
	if (!err)
		err = known ? print(&g, o) : unknown;
	for (unsigned int i = 0; i < g.nr; i++) {
		histograms_free(&g.members[i].hists);
		meta_free(g.members[i].meta);
		free(g.members[i].numbers);
	}
	if (g.space)
		object_space_free(g.space);
	if (g.symbols)
		symbols_free(g.symbols);
	free(g.members);
	return err;
}
