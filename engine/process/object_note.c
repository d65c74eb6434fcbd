/* SPDX-License-Identifier: MIT */
/* See object_note.h. No state. Tests: tests/engine/events/static, tests/engine/events/printk. */
#include "engine/process/object_note.h"

#include <elf.h>
#include <link.h>

#include "engine/base/mem.h"

#define NOTE_PRINTK 4u

/* Read two words, each the distance from the word itself to an address. */
static void report(const uint8_t *desc, uint32_t type,
		   void (*each)(void *arg, uint32_t type, const void *lo, const void *hi),
		   void *arg)
{
	int64_t d[2];

	memcpy(d, desc, sizeof(d));
	each(arg, type, desc + d[0], desc + 8 + d[1]);
}

void object_each_note(const struct object *o,
		      void (*each)(void *arg, uint32_t type, const void *lo, const void *hi),
		      void *arg)
{
	uint32_t i;

	for (i = 0; i < o->nr_phdr; i++) {
		const ElfW(Phdr) *ph = &o->phdr[i];
		const uint8_t *p = (const uint8_t *)(object_row(o)->bias + ph->p_vaddr);
		const uint8_t *end = p + ph->p_memsz;

		if (ph->p_type != PT_NOTE || !object_is_mapped(o, ph))
			continue;
		while (end - p >= (long)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *n = (const void *)p;
			uint64_t name = ((uint64_t)n->n_namesz + 3) & ~(uint64_t)3;
			uint64_t desc = ((uint64_t)n->n_descsz + 3) & ~(uint64_t)3;

			p += sizeof(*n);
			if (name + desc > (uint64_t)(end - p))
				break;
			if (n->n_namesz == 8 && !memcmp(p, "vestige", 8) && n->n_descsz == 16)
				report(p + name, n->n_type, each, arg);
			p += name + desc;
		}
	}
}

int object_note_fits(const struct object *o, const void *lo, const void *hi)
{
	const struct area_object *row = object_row(o);

	return (uint64_t)lo >= row->lo && (uint64_t)hi <= row->hi && lo <= hi &&
	       !((uint64_t)lo & 7) && !(((uint64_t)hi - (uint64_t)lo) & 7);
}

struct formats {
	const struct object *o;
	void (*each)(void *arg, const char *format);
	void *arg;
};

static void take_formats(void *arg, uint32_t type, const void *lo, const void *hi)
{
	const struct formats *f = arg;
	const char *before = NULL;
	const int64_t *at;

	if (type != NOTE_PRINTK || !object_note_fits(f->o, lo, hi))
		return;
	for (at = lo; at < (const int64_t *)hi; at++) {
		const char *format = (const char *)at + *at;

		/* a function that is inlined at several places has several notes of one format */
		if (object_note_fits(f->o, (const void *)((uint64_t)format & ~UINT64_C(7)),
				     (const void *)(((uint64_t)format & ~UINT64_C(7)) + 8)) &&
		    format != before)
			f->each(f->arg, format);
		before = format;
	}
}

void printk_formats_each(void (*each)(void *arg, const char *format), void *arg)
{
	struct formats f = {.each = each, .arg = arg};
	uint32_t i;

	for (i = 0; i < object_count(); i++) {
		f.o = object_at(i);
		if (f.o->loaded)
			object_each_note(f.o, take_formats, &f);
	}
}
