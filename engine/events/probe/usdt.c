/* SPDX-License-Identifier: MIT */
/*
 * See usdt.h. The notes of an object (.note.stapsdt) are in its file and not in memory. Each has an
 * address in the text, a NOP, and says where its arguments are there. Several places with one name
 * are one event, whose fields are wide enough for all of them. The places are probes at
 * instructions like others (core/text_probe.h). Many markers compute their arguments only while a
 * counter of theirs, the semaphore, is not 0; it is incremented while a probe is armed.
 *
 * Control context. fork: the child has the same. Tests: tests/engine/events/usdt.
 */
#include "engine/events/probe/usdt.h"

#include <elf.h>
#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/process/object.h"
#include "engine/events/probe/probe_event.h"

#define NOTE_TYPE 3u
#define GROUP	  "sdt_"

/* A place of a marker. */
struct marker {
	struct marker *next;
	const struct object *object;
	struct probe *probe;
};

static struct marker *markers;
static uint32_t nr_seen; /* objects that have been read; only later ones may have new markers */

static const struct event_class usdt_class = {.enable = probe_event_enable, .may_fail = 1};

/* One note, in the mapped file. */
struct note {
	uint64_t pc, semaphore; /* semaphore: 0: it has none */
	const char *provider, *name, *args;
};

struct reading {
	const struct object *object;
	struct elf_file file;
	const uint8_t *notes, *end;
	uint64_t moved; /* distance between a note's addresses and the real ones, after prelink */
};

/* Read a string, which must end within the note. */
static const char *take_string(const uint8_t **p, const uint8_t *end)
{
	const char *s = (const char *)*p;
	size_t n = text_find(s, (size_t)(end - *p), 0);

	if (n == (size_t)(end - *p))
		return NULL;
	*p += n + 1;
	return s;
}

/* Read the next note; notes of other owners are skipped. Return: 0; -ENOENT: no more. */
static int next_note(struct reading *r, struct note *out)
{
	while (r->end - r->notes >= (long)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)r->notes;
		uint64_t name = ((uint64_t)n->n_namesz + 3) & ~(uint64_t)3;
		uint64_t desc = ((uint64_t)n->n_descsz + 3) & ~(uint64_t)3, words[3];
		const uint8_t *p = r->notes + sizeof(*n) + name, *end;

		if (name + desc > (uint64_t)(r->end - r->notes) - sizeof(*n))
			return -ENOENT;
		end = p + n->n_descsz;
		r->notes = p + desc;
		if (n->n_type != NOTE_TYPE || n->n_namesz != 8 || memcmp(p - name, "stapsdt", 8) ||
		    n->n_descsz < sizeof(words))
			continue;
		memcpy(words, p, sizeof(words));
		p += sizeof(words);
		out->provider = take_string(&p, end);
		out->name = out->provider ? take_string(&p, end) : NULL;
		out->args = out->name ? take_string(&p, end) : NULL;
		if (!out->args)
			continue;
		out->pc = words[0] - words[1];
		out->semaphore = words[2] ? words[2] - words[1] : 0;
		return 0;
	}
	return -ENOENT;
}

/* Map the file and find its notes. Return: 0; -ENOENT: it has none. */
static int open_notes(struct reading *r, const struct object *o)
{
	const ElfW(Shdr) * notes, *base;
	int err;

	*r = (struct reading){.object = o};
	err = elf_file_open(&r->file, o);
	if (err)
		return err;
	notes = elf_file_section(&r->file, ".note.stapsdt");
	base = elf_file_section(&r->file, ".stapsdt.base");
	if (notes && base && notes->sh_offset <= r->file.bytes &&
	    notes->sh_size <= r->file.bytes - notes->sh_offset) {
		r->notes = r->file.map + notes->sh_offset;
		r->end = r->notes + notes->sh_size;
		/* a note's addresses are right for the address that the linker gave this section */
		r->moved = object_row(o)->bias + base->sh_addr;
		return 0;
	}
	elf_file_close(&r->file);
	return -ENOENT;
}

/* Make the names of an event: letters of a note that a name may not have become `_`. */
static int make_name(char *out, const char *prefix, const char *name)
{
	size_t n = str_copy(out, DYN_MAX_NAME, prefix), i;

	if (!*name || n + strlen(name) >= DYN_MAX_NAME)
		return -E2BIG;
	str_copy(out + n, DYN_MAX_NAME - n, name);
	for (i = n; out[i]; i++)
		if (!fetch_good_name(out + i, 1) && !is_digit(out[i]))
			out[i] = '_';
	return fetch_good_name(out, strlen(out)) ? 0 : -EINVAL;
}

struct lookup {
	const char *name;
	size_t n;
	uint64_t value;
};

static int match(void *arg, uint64_t value, const char *name)
{
	struct lookup *l = arg;

	if (strlen(name) != l->n || memcmp(name, l->name, l->n))
		return 0;
	l->value = value;
	return 1;
}

/* Find a variable in this object, or else in any. */
static int find_variable(void *from, const char *name, size_t n, uint64_t *address)
{
	const struct reading *r = from;
	struct lookup l = {name, n, 0};

	if (!elf_file_all_symbols(&r->file, match, &l))
		return probe_symbol_address(name, n, address);
	*address = object_row(r->object)->bias + l.value;
	return 0;
}

/* Parse a note's arguments, which may be separated by several blanks. Return: how many. */
static uint32_t read_args(struct reading *r, const struct note *note, struct fetch_arg *args)
{
	const char *text = note->args;
	size_t n = strlen(text), i = 0, start;
	uint32_t nr = 0;

	for (;;) {
		while (i < n && text[i] == ' ')
			i++;
		for (start = i; i < n && text[i] != ' '; i++)
			;
		if (i == start || nr == USDT_MAX_ARGS)
			return nr;
		if (usdt_arg_parse(&args[nr], text + start, i - start, find_variable, r))
			area_status("an argument of a marker is not understood, and 0", note->name,
				    0);
		nr++;
	}
}

/* A type that can hold both. */
static const struct fetch_type *wider(const struct fetch_type *a, const struct fetch_type *b)
{
	if (a == b)
		return a;
	return fetch_integer(a->is_signed == b->is_signed ? (a->size > b->size ? a->size : b->size)
							  : 8,
			     a->is_signed || b->is_signed);
}

static int same_marker(const struct note *a, const struct note *b)
{
	return str_equal(a->provider, b->provider) && str_equal(a->name, b->name);
}

/* Find fields that fit all places of the marker in this object, from the first one on. */
static uint32_t read_fields(struct reading *r, const struct note *first, struct fetch_arg *fields)
{
	struct fetch_arg args[USDT_MAX_ARGS];
	struct reading rest = *r;
	uint32_t nr = read_args(r, first, fields), n, i;
	struct note note;

	while (!next_note(&rest, &note)) {
		if (!same_marker(&note, first))
			continue;
		n = read_args(r, &note, args);
		for (i = 0; i < n; i++)
			fields[i].type =
				i < nr ? wider(fields[i].type, args[i].type) : args[i].type;
		nr = n > nr ? n : nr;
	}
	return nr;
}

static struct probe_event *make_event(struct reading *r, const struct note *note, const char *group,
				      const char *name)
{
	struct fetch_arg *fields = heap_alloc(USDT_MAX_ARGS * sizeof(*fields));
	struct probe_event *pe;
	uint32_t nr, i, at = 16;
	struct seq_buf s;
	int err;

	if (!fields)
		return NULL;
	nr = read_fields(r, note, fields);
	for (i = 0; i < nr; i++) {
		seq_init(&s, fields[i].name, sizeof(fields[i].name) - 1);
		seq_puts(&s, "arg");
		seq_putu(&s, i + 1);
		fields[i].name[s.len] = 0;
		fields[i].offset = at;
		at += fields[i].type->size;
	}
	pe = probe_event_new(&(struct probe_event_spec){.group = group,
							.name = name,
							.class = &usdt_class,
							.args = fields,
							.nr_args = nr,
							.bytes = at},
			     &err);
	heap_free(fields);
	if (pe)
		pe->is_marker = 1;
	else
		area_status("a marker's name is another event's", name, err);
	return pe;
}

/* Set this place's arguments for the event's fields: 0 where it has fewer. */
static void fill_args(struct reading *r, const struct note *note, const struct probe_event *pe,
		      struct probe *p)
{
	struct fetch_arg args[USDT_MAX_ARGS];
	uint32_t nr = read_args(r, note, args), i;

	for (i = 0; i < pe->nr_args; i++) {
		p->args[i] = i < nr ? args[i] : (struct fetch_arg){.base = FETCH_IMM};
		/* a narrow argument is fetched as it is, and widened for its field */
		p->args[i].narrow =
			i < nr && args[i].type != pe->args[i].type ? args[i].type : NULL;
		p->args[i].type = pe->args[i].type;
		p->args[i].offset = pe->args[i].offset;
		memcpy(p->args[i].name, pe->args[i].name, sizeof(p->args[i].name));
	}
}

/* The address of a semaphore, which must be in writable memory of the object. */
static uint16_t *semaphore_of(const struct reading *r, const struct note *note)
{
	uint64_t at = r->moved + note->semaphore, bias = object_row(r->object)->bias;
	uint32_t i;

	for (i = 0; note->semaphore && i < r->object->nr_phdr; i++) {
		const ElfW(Phdr) *ph = &r->object->phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_W && at - bias >= ph->p_vaddr &&
		    at + 2 - bias <= ph->p_vaddr + ph->p_memsz)
			return (uint16_t *)at;
	}
	return NULL;
}

static int add_place(struct reading *r, const struct note *note, struct probe_event *pe)
{
	struct probe *p = heap_alloc(sizeof(*p) + pe->nr_args * sizeof(p->args[0]));
	struct marker *m = heap_alloc(sizeof(*m));
	int err = -ENOMEM;

	if (p && m) {
		p->place = heap_copy(note->name, strlen(note->name));
		p->is_fixed = 1;
		p->at = (struct probe_target){PROBE_NO_FUNCTION, r->moved + note->pc, NULL};
		p->semaphore = semaphore_of(r, note);
		fill_args(r, note, pe, p);
		*m = (struct marker){markers, r->object, p};
		err = probe_join(pe, p);
	}
	if (!err) {
		markers = m;
		return 0;
	}
	heap_free(m);
	if (p)
		probe_free(p);
	return err;
}

static void see_note(struct reading *r, const struct note *note)
{
	char group[DYN_MAX_NAME], name[DYN_MAX_NAME];
	struct probe_event *pe = NULL;
	struct event *e;

	if (make_name(group, GROUP, note->provider) || make_name(name, "", note->name)) {
		area_status("a marker's name is too long, or none", note->name, 0);
		return;
	}
	e = event_find(group, strlen(group), name, strlen(name));
	if (e && e->class == &usdt_class)
		pe = e->data;
	else
		pe = make_event(r, note, group, name);
	if (pe && add_place(r, note, pe) && !pe->nr_probes) {
		event_gone(pe->event);
		heap_free(pe);
	}
}

static void see_object(const struct object *o)
{
	struct reading r;
	struct note note;

	if (open_notes(&r, o))
		return;
	while (!next_note(&r, &note))
		see_note(&r, &note);
	elf_file_close(&r.file);
}

/*
 * Markers are looked for when events are listed or named, not before, so objects_load() and
 * dlopen() cost nothing.
 */
static void usdt_settle(void)
{
	while (nr_seen < object_count()) {
		const struct object *o = object_at(nr_seen++);

		if (o->loaded)
			see_object(o);
	}
}

/* Objects have come or gone, and their markers with them. */
static void usdt_follow(void)
{
	struct marker **at = &markers, *m;
	int any_on = 0;

	while ((m = *at)) {
		if (m->object->loaded) {
			any_on |= m->probe->event->nr_on > 0;
			at = &m->next;
			continue;
		}
		*at = m->next;
		probe_free(m->probe);
		heap_free(m);
	}
	/* a new place of a marker that is on must be on before its object runs */
	if (any_on)
		usdt_settle();
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	events_on_demand(usdt_settle);
}

LIFECYCLE(LIFECYCLE_PROGRAM, start, NULL, NULL);
OBJECT_FOLLOWER(OBJECT_FOLLOW_MARKERS, usdt_follow);
